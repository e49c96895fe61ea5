package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent-server/protocol"
)

// subject is a kind of value that both a schema and a decoder judge.
type subject struct {
	name string
	// valid is the schema's verdict, decode the decoder's.
	valid  judge
	decode func(raw []byte) error
	// seeds are valid values to be changed.
	seeds []string
}

// faulty is the verdict of a decoder of params.
func faulty[T any](decode func([]byte) (T, []protocol.Fault)) func([]byte) error {
	return func(raw []byte) error {
		if _, faults := decode(raw); faults != nil {
			return fmt.Errorf("%v", faults)
		}
		return nil
	}
}

// subjects are the envelope and the params of every method that has any. The seeds of
// params are the published examples.
func subjects(t testing.TB) []subject {
	t.Helper()
	all := []subject{{
		name: "Envelope", valid: judgeOf(t, Events(), "Envelope"), seeds: envelopes(t),
		decode: func(raw []byte) error { return decodes("envelope", raw) },
	}}
	for method, decode := range map[string]func([]byte) error{
		protocol.MethodInitialize:        faulty(protocol.DecodeInitialize),
		protocol.MethodTurnCancel:        faulty(protocol.DecodeTurnCancel),
		protocol.MethodPermissionRespond: faulty(protocol.DecodePermissionRespond),
		protocol.MethodEventsReplay:      faulty(protocol.DecodeEventsReplay),
		protocol.MethodSessionClose:      faulty(protocol.DecodeSessionClose),
		protocol.MethodTurnStart: faulty(func(raw []byte) (protocol.TurnStartParams, []protocol.Fault) {
			return protocol.DecodeTurnStart(raw, nil)
		}),
	} {
		def := titles[method] + "Params"
		all = append(all, subject{name: def, valid: judgeOf(t, Methods(), def), decode: decode, seeds: paramsOf(t, method)})
	}
	slices.SortFunc(all, func(a, b subject) int { return strings.Compare(a.name, b.name) })
	return all
}

// titles are the names of the methods' definitions.
var titles = map[string]string{
	protocol.MethodInitialize: "Initialize", protocol.MethodTurnStart: "TurnStart", protocol.MethodTurnCancel: "TurnCancel",
	protocol.MethodPermissionRespond: "PermissionRespond", protocol.MethodEventsReplay: "EventsReplay",
	protocol.MethodSessionClose: "SessionClose", protocol.MethodShutdown: "Shutdown",
}

// envelopes are the golden ones of package protocol: every type and every state.
func envelopes(t testing.TB) []string {
	t.Helper()
	var found []string
	eachMessage(t, root+"/protocol/testdata/envelopes.jsonl", func(_ string, raw []byte) { found = append(found, string(raw)) })
	if len(found) < 25 {
		t.Fatalf("only %d golden envelopes", len(found))
	}
	return found
}

// moreParams are what no example shows.
var moreParams = map[string][]string{
	protocol.MethodTurnStart: {`{"input":[{"type":"image","url":"u","mimeType":"m","id":"1"},{"type":"file","data":"d","mimeType":"m","id":"2"}],` +
		`"config":{"harness":"acp","cwd":"/"}}`},
	protocol.MethodTurnCancel: {`{"sessionId":"s","turnId":"t"}`},
}

// paramsOf are the params of a method's examples, and more.
func paramsOf(t testing.TB, method string) []string {
	t.Helper()
	found := slices.Clone(moreParams[method])
	for _, pair := range document(t).method(method).Examples {
		found = append(found, string(encode(t, byName(pair.Params))))
	}
	return found
}

// values are what a member is replaced by: every kind, words of the closed
// vocabularies, blanks, and numbers at the bounds.
var values = []string{
	`null`, `true`, `false`, `""`, `" "`, `"\u0085\u2028"`, `"\ufeff"`, `"x"`, `"_x"`, `"done"`, `"streaming"`, `"user"`, `"text"`,
	`"reasoning"`, `"tool"`, `"image"`, `"file"`, `"plan"`, `"pending"`, `"in_progress"`, `"completed"`, `"failed"`, `"cancelled"`,
	`"selected"`, `"diff"`, `"terminal"`, `"tool_input"`, `"turn.started"`, `"raw"`, `"error"`, `"turn.queued"`, `"stdio"`, `"sse"`, `"plan"`,
	`"high"`, `0`, `1`, `-1`, `0.5`, `2.0`, `1e3`, `9007199254740991`, `9007199254740992`, `-9007199254740992`, `1e300`,
	`[]`, `[1]`, `["x"]`, `[{}]`, `[0,0]`, `[1,2,3]`, `{}`, `{"start":1}`, `{"start":1,"end":2}`, `{"a":null}`, `{"a":"b"}`,
	`{"type":"text","text":"x"}`, `{"outcome":"cancelled"}`, `{"category":"auth","message":""}`,
}

// place is a member of an object or an item of an array.
type place struct {
	path string
	// in and name are the object and the member's name; in is nil for an item.
	in   map[string]any
	name string
	// list and i are the array and the item's index.
	list []any
	i    int
}

// get is what stands there.
func (p place) get() any {
	if p.in != nil {
		return p.in[p.name]
	}
	return p.list[p.i]
}

// set puts something else there.
func (p place) set(v any) {
	if p.in != nil {
		p.in[p.name] = v
	} else {
		p.list[p.i] = v
	}
}

// drop takes a member away, under which name ever; an item stays.
func (p place) drop() { delete(p.in, p.name) }

// places lists every member and item below v, in an order that does not change.
func places(v any, path string) []place {
	var all []place
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p := place{path: path + "." + name, in: v, name: name}
			all = append(append(all, p), places(v[name], p.path)...)
		}
	case []any:
		for i := range v {
			p := place{path: path + "." + strconv.Itoa(i), list: v, i: i}
			all = append(append(all, p), places(v[i], p.path)...)
		}
	}
	return all
}

// agree compares the two verdicts on a changed value, and gives them.
func (s subject) agree(t rapid.TB, what string, tree any) bool {
	t.Helper()
	if outOfOrder(tree) {
		return false // the one thing in these values that a schema cannot express
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	schema, decoder := s.valid(raw), s.decode(raw)
	if (schema == nil) != (decoder == nil) {
		t.Errorf("%s, %s:\nschema:  %v\ndecoder: %v\n%s", s.name, what, schema, decoder, raw)
	}
	return decoder == nil
}

// outOfOrder says whether there is a byteRange whose start is beyond its end.
func outOfOrder(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if r, ok := v["byteRange"].([]any); ok && len(r) == 2 {
			from, isFrom := float(r[0])
			to, isTo := float(r[1])
			return isFrom && isTo && from > to
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), outOfOrder)
	case []any:
		return slices.ContainsFunc(v, outOfOrder)
	}
	return false
}

func float(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// TestSeedsAreValid: what is changed was right before.
func TestSeedsAreValid(t *testing.T) {
	t.Parallel()
	for _, s := range subjects(t) {
		if len(s.seeds) == 0 {
			t.Errorf("%s has no seeds", s.name)
		}
		for _, seed := range s.seeds {
			if err := s.valid([]byte(seed)); err != nil {
				t.Errorf("%s: %v in %s", s.name, err, seed)
			}
			s.agree(t, "unchanged", parse(t, []byte(seed)))
		}
	}
}

// TestAgreesOnEveryMember changes every member of every golden value in every way,
// one at a time: schema and decoder must say the same.
func TestAgreesOnEveryMember(t *testing.T) {
	t.Parallel()
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			done := map[string]bool{}
			for _, seed := range s.seeds {
				tree, kind := parse(t, []byte(seed)), kindOf(seed)
				for _, p := range places(tree, "") {
					if at := kind + p.path; !done[at] {
						done[at] = true
						s.agreeAt(t, tree, p)
					}
				}
				if got := string(encode(t, tree)); got != string(encode(t, parse(t, []byte(seed)))) {
					t.Fatalf("the value was not put right again: %s", got)
				}
			}
		})
	}
}

// words are the members that tell the shapes of values apart.
var words = regexp.MustCompile(`"(?:type|status|outcome)":"[^"]*"`)

// kindOf is the same for two seeds whose members mean the same: one of them is enough.
func kindOf(seed string) string { return strings.Join(words.FindAllString(seed, -1), " ") }

// agreeAt changes one place of a tree in every way, and puts it right again.
func (s subject) agreeAt(t *testing.T, tree any, p place) {
	t.Helper()
	was := p.get()
	for _, value := range values {
		p.set(parse(t, []byte(value)))
		s.agree(t, p.path+" = "+value, tree)
	}
	p.set(was)
	if p.in == nil {
		return
	}
	p.drop()
	s.agree(t, "without "+p.path, tree)
	p.in["nobody"] = was
	s.agree(t, p.path+" under another name", tree)
	delete(p.in, "nobody")
	p.set(was)
}

// TestAgreesAtRandom changes several members at once, puts members where they do not
// belong and takes them from other values.
func TestAgreesAtRandom(t *testing.T) {
	t.Parallel()
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			names := s.names(t)
			took := map[bool]int{}
			rapid.Check(t, func(t *rapid.T) {
				for range 10 {
					took[s.agreeAtRandom(t, names)]++
				}
			})
			if took[true] == 0 || took[false] == 0 {
				t.Errorf("%v of the changed values were valid: the two never had to differ", took)
			}
		})
	}
}

// names are the names of all members of the seeds.
func (s subject) names(t *testing.T) []string {
	var names []string
	for _, seed := range s.seeds {
		for _, p := range places(parse(t, []byte(seed)), "") {
			if p.in != nil {
				names = append(names, p.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// agreeAtRandom changes one seed and says whether what came of it is valid.
func (s subject) agreeAtRandom(t *rapid.T, names []string) bool {
	tree := parse(t, []byte(rapid.SampledFrom(s.seeds).Draw(t, "seed")))
	var did []string
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		all := places(tree, "")
		if len(all) == 0 {
			break
		}
		p := rapid.SampledFrom(all).Draw(t, "place")
		did = append(did, s.change(t, p, names)+" "+p.path)
	}
	return s.agree(t, strings.Join(did, ", "), tree)
}

// change does something to one place and says what.
func (s subject) change(t *rapid.T, p place, names []string) string {
	switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
	case kind == 0 && p.in != nil:
		p.drop()
		return "drop"
	case kind == 1 && p.in != nil:
		was := p.get()
		p.drop()
		p.in[rapid.SampledFrom(names).Draw(t, "name")] = was
		return "rename"
	case kind == 2 && p.in != nil:
		p.in[rapid.SampledFrom(names).Draw(t, "name")] = parse(t, []byte(rapid.SampledFrom(values).Draw(t, "value")))
		return "add beside"
	case kind == 3:
		other := parse(t, []byte(rapid.SampledFrom(s.seeds).Draw(t, "other")))
		p.set(rapid.SampledFrom(places(other, "")).Draw(t, "from").get())
		return "take over"
	}
	p.set(parse(t, []byte(rapid.SampledFrom(values).Draw(t, "value"))))
	return "set"
}
