package protocol

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocumentsAreGood(t *testing.T) {
	t.Parallel()
	for _, d := range allDocuments() {
		if faults := d.decode([]byte(d.body)); faults != nil {
			t.Errorf("%s: %v", d.name, faults)
		}
	}
}

// Law 54: a known type whose body does not fit is refused, with the path of what
// is wrong.
func TestLaw54_malformedIsLoud(t *testing.T) {
	t.Parallel()
	for _, d := range allDocuments() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			paths := d.paths(t)
			if len(paths) < 1 {
				t.Fatalf("a document of members %v", paths)
			}
			for _, path := range paths {
				d.spoil(t, path)
			}
		})
	}
}

// TestUnknownMembersAreIgnored puts one into every object that is not free, and
// finds nothing of it in what is encoded again.
func TestUnknownMembersAreIgnored(t *testing.T) {
	t.Parallel()
	for _, d := range allDocuments() {
		for _, path := range append([]string{""}, d.paths(t)...) {
			root := parse(t, d.body)
			o, ok := at0(root, path).(map[string]any)
			if !ok || slices.Contains(strings.Fields(d.free), path) || isMap(path) {
				continue
			}
			o["nobody"] = nil
			d.check(t, path+" with an unknown member", root, false, "")
			raw, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			if ev, err := DecodeEvent(raw); err == nil && slices.Contains(eventNames(), d.name) && strings.Contains(string(AppendEvent(nil, ev)), "nobody") {
				t.Errorf("%s: %s: the unknown member was kept", d.name, path)
			}
		}
	}
}

// isMap says whether a member of params is a map: its names are not ours.
func isMap(path string) bool {
	_, name := split(path)
	return name == "env" || name == "headers" || name == "mcpServers"
}

func eventNames() []string {
	var names []string
	for _, d := range eventDocuments {
		names = append(names, d.name)
	}
	return names
}

// TestOptionalPathsExist keeps the lists of the documents honest.
func TestOptionalPathsExist(t *testing.T) {
	t.Parallel()
	for _, d := range allDocuments() {
		paths := d.paths(t)
		for _, p := range strings.Fields(d.optional + " " + d.free + " " + d.any) {
			if !slices.Contains(paths, p) {
				t.Errorf("%s has no member %s", d.name, p)
			}
		}
	}
}

// paths lists the members of a document, those inside free objects left out.
func (d document) paths(t *testing.T) []string {
	var paths []string
	d.walk(parse(t, d.body), "", &paths)
	return paths
}

func (d document) walk(v any, path string, into *[]string) {
	if path != "" {
		*into = append(*into, path)
	}
	if path != "" && slices.Contains(strings.Fields(d.free), path) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			d.walk(v[name], join(path, name), into)
		}
	case []any:
		for i, item := range v {
			d.walk(item, join(path, strconv.Itoa(i)), into)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func parse(t *testing.T, body string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

// spoil tries everything that can be wrong with one member.
func (d document) spoil(t *testing.T, path string) {
	t.Helper()
	if !isIndex(path) {
		d.spoilName(t, path)
	}
	if slices.Contains(strings.Fields(d.any), path) {
		d.expect(t, path, "null", nil, "")
		return
	}
	d.expect(t, path, "null", nil, path)
	for kind, value := range map[string]any{"string": "w", "number": 7.0, "boolean": true, "array": []any{}, "object": map[string]any{}} {
		if was := at0(parse(t, d.body), path); fmt.Sprintf("%T", was) != fmt.Sprintf("%T", value) && !d.takes(path, value) {
			d.expect(t, path, kind, value, path)
		}
	}
}

// takes says whether a member is a union of kinds of which value is one.
func (d document) takes(path string, value any) bool {
	_, isString := value.(string)
	_, isArray := value.([]any)
	return path == "input" && (isString || isArray)
}

// spoilName takes the member away, and writes its name in another case: both
// are the same, since names match exactly.
func (d document) spoilName(t *testing.T, path string) {
	t.Helper()
	want, moved := d.moved[path]
	if !moved {
		want = path
	}
	optional := slices.Contains(strings.Fields(d.optional), path)
	for what, rename := range map[string]func(map[string]any, string){
		"absent": func(o map[string]any, name string) { delete(o, name) },
		"in upper case": func(o map[string]any, name string) {
			o[strings.ToUpper(name)] = o[name]
			delete(o, name)
		},
	} {
		root := parse(t, d.body)
		parent, name := split(path)
		rename(at0(root, parent).(map[string]any), name)
		d.check(t, path+" "+what, root, !optional, want)
	}
}

// expect puts value at path; a fault at want must come of it, none if that is "".
func (d document) expect(t *testing.T, path, what string, value any, want string) {
	t.Helper()
	root := parse(t, d.body)
	parent, name := split(path)
	switch o := at0(root, parent).(type) {
	case map[string]any:
		o[name] = value
	case []any:
		i, _ := strconv.Atoi(name)
		o[i] = value
	}
	d.check(t, path+" as "+what, root, want != "", want)
}

func (d document) check(t *testing.T, what string, root any, bad bool, want string) {
	t.Helper()
	raw, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	faults := d.decode(raw)
	if !bad && faults != nil {
		t.Errorf("%s: %s: want no fault, got %v", d.name, what, faults)
	}
	if bad && !slices.ContainsFunc(faults, func(f Fault) bool { return f.Path == want }) {
		t.Errorf("%s: %s: want a fault at %q, got %v", d.name, what, want, faults)
	}
}

// at0 is the value at a path; the root at "".
func at0(v any, path string) any {
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		switch o := v.(type) {
		case map[string]any:
			v = o[name]
		case []any:
			i, _ := strconv.Atoi(name)
			v = o[i]
		}
	}
	return v
}

func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

func isIndex(path string) bool {
	_, name := split(path)
	_, err := strconv.Atoi(name)
	return err == nil
}

// TestSpoiledValues puts values of the right kind where they do not belong, and
// odd ones where they do.
func TestSpoiledValues(t *testing.T) {
	t.Parallel()
	closed := []any{"other", "", "Done", "streaming "}
	blank := []any{"", " ", "\t\n"}
	for _, c := range []struct {
		document, paths string
		bad, good       []any
	}{
		{"message.started", "role", closed, []any{"assistant"}},
		{"text", "state", closed, []any{"done"}},
		{"reasoning", "state", closed, []any{"streaming"}},
		{"pending", "state.status", closed, nil},
		{"completed", "state.content.0.type", closed, nil},
		{"text delta", "delta.type", closed, []any{"reasoning"}},
		{"permission selected", "outcome.outcome", closed, []any{"cancelled"}},
		{"session.created", "harness", blank, []any{"acp", "new-one", "_x"}},
		{"raw", "harness", blank, []any{"acp", "new-one"}},
		{"session.ended", "reason", blank, []any{"_mine", "other"}},
		{"session.compaction", "status trigger", blank, []any{"paused"}},
		{"turn.ended", "stopReason error.category", blank, []any{"_mine", "tired"}},
		{"error", "category", blank, []any{"_mine", "weather"}},
		{"in_progress", "kind", blank, []any{"sing", "_x"}},
		{"permission.requested", "toolCall.kind options.0.kind", blank, []any{"maybe"}},
		{"turn.started", "type", []any{""}, []any{"turn.paused", "x"}},
		{"text", "type", []any{""}, []any{"plan", "x"}},
		{"message.started", "sessionId turnId messageId parentToolCallId model", nil, []any{"", " ", "\u2028"}},
		{"text", "id sessionId messageId", nil, []any{""}},
		{"message.part", "outputIndex partIndex", nil, []any{-1, 0.5, 1e300}},
		{"session.usage", "used size cost", nil, []any{-1, 0.5, 1e300}},
		{"turn.ended", "tokens.input tokens.reasoning tokens.cache.read", nil, []any{-1, 0.5}},
	} {
		d := find(t, c.document)
		for _, path := range strings.Fields(c.paths) {
			for _, v := range c.bad {
				d.expect(t, path, fmt.Sprintf("%q", v), v, path)
			}
			for _, v := range c.good {
				d.expect(t, path, fmt.Sprintf("%q", v), v, "")
			}
		}
	}
}

func find(t *testing.T, name string) document {
	t.Helper()
	for _, d := range allDocuments() {
		if d.name == name {
			return d
		}
	}
	t.Fatalf("no document %s", name)
	return document{}
}

// TestNumberSpellings puts spellings that no encoder writes into the wire's
// three kinds of numbers.
func TestNumberSpellings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, member, good, bad string }{
		{"turn.started", `"timestamp":1700000000000`, "0 2.0 1e3 1E+3 12.5e1 9007199254740991", "-0 -0.0 -1 1.5 1e-1 9007199254740992 1e300 1e999"},
		{"reasoning", `"start":1`, "0 -5 -0 2.0 1e3 -9007199254740991 9007199254740991", "1.5 9007199254740992 -9007199254740992 1e999"},
		{"failed", `"end":2`, "0 -5 2.0", "1.5 9007199254740992"},
		{"envelope", `"seq":2`, "1 2.0 1e3", "0 -1 1.5 9007199254740992"},
		{"envelope", `"prevSeq":1`, "0 1 2.0", "-1 1.5 9007199254740992"},
		{"session.usage", `"used":1`, "0 -0 -1.5 1e300 9007199254740993", "1e999 -1e999"},
		{"turn/start", `"maxTurns":3`, "1 1.0 1e2", "0 -1 1.5 9007199254740992"},
		{"events/replay", `"fromSeq":1`, "1 1.0 1e2", "0 -1 1.5 9007199254740992"},
		{"initialize", `"protocolVersion":2`, "1 2 2.0 20e-1 3 9007199254740991", "0 -2 2.5 9007199254740992"},
	} {
		d := find(t, c.document)
		name, _, _ := strings.Cut(c.member, ":")
		try := func(spelling string) []Fault {
			return d.decode([]byte(strings.Replace(d.body, c.member, name+":"+spelling, 1)))
		}
		for _, s := range strings.Fields(c.good) {
			if faults := try(s); faults != nil {
				t.Errorf("%s: %s as %s: %v", d.name, name, s, faults)
			}
		}
		for _, s := range strings.Fields(c.bad) {
			if faults := try(s); len(faults) != 1 || !strings.HasSuffix(faults[0].Path, strings.Trim(name, `"`)) {
				t.Errorf("%s: %s as %s: want one fault there, got %v", d.name, name, s, faults)
			}
		}
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"id":"p","sessionId":"s","messageId":"m","type":"image","data":"a","url":"b","mimeType":"m"}`,
		`{"id":"p","sessionId":"s","messageId":"m","type":"file","data":"a","url":"b","mimeType":"m"}`,
		`{"id":"p","sessionId":"s","messageId":"m","type":"file","mimeType":"m"}`,
	} {
		want := []Fault{{Message: "must have exactly one of data and url"}}
		if diff := cmp.Diff(want, partFaults([]byte(body))); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
}

func TestMalformedError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{`{"type":"turn.started","turnId":3}`, "malformed turn.started event: sessionId: is required; turnId: must be a string, not a number; timestamp: is required"},
		{`{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m","outputIndex":0,"partIndex":0,"timestamp":1,"part":{"id":"p","sessionId":"s","messageId":"m","type":"tool","toolCallId":"c","toolName":"T","state":{"status":"failed","input":[],"error":"","time":{"start":1}}}}`,
			"malformed message.part event: part.state.input: must be an object, not an array; part.state.time.end: is required"},
		{`{"type":""}`, "malformed event: type: must not be empty"},
		{`{}`, "malformed event: type: is required"},
		{`[]`, "malformed event: must be an object, not an array"},
		{`{"type":"turn.started"`, "malformed event: must be valid JSON"},
		{`{"type":"turn.started"} 1`, "malformed event: must be valid JSON"},
		{``, "malformed event: must be valid JSON"},
	} {
		ev, err := DecodeEvent([]byte(c.body))
		if ev != nil || err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v, %v\nwant %s", c.body, ev, err, c.want)
		}
	}
}

// TestFaultsAreBounded: a long array of rubbish has a short answer.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := DecodeInput([]byte("[" + strings.Repeat("1,", 5000) + "1]"))
	if n := len(faultsOf(err)); n != maxFaults {
		t.Errorf("%d faults of 5001 bad items, want %d", n, maxFaults)
	}
	reads := 0
	listOf(func(r *reading, _ []byte) int {
		reads++
		r.fault("rubbish")
		return 0
	})(&reading{}, []byte("["+strings.Repeat("1,", 5000)+"1]"))
	if reads != maxFaults {
		t.Errorf("%d items were read where no more faults are kept, want %d", reads, maxFaults)
	}
}

// TestBaseKnowsFourHarnesses: that is all in which the two decoders differ.
func TestBaseKnowsFourHarnesses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"session.created", "raw"} {
		body := find(t, name).body
		for id, good := range map[string]bool{"claude-code": true, "codex-sdk": true, "codex-app-server": true, "acp": true, "demo": false, "ACP": false} {
			_, err := DecodeEventBase([]byte(strings.Replace(body, `"harness":"acp"`, `"harness":"`+id+`"`, 1)))
			if good != (err == nil) {
				t.Errorf("%s of harness %s, as a base client reads it: %v", name, id, err)
			}
		}
	}
}

func TestUnknownPartsNeedTheirIDs(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]Fault{
		`{"type":"plan","id":"p","sessionId":"s","messageId":"m","parentToolCallId":7,"_meta":[]}`: nil,
		`{"type":"plan","id":7,"messageId":null}`: {
			{"id", "must be a string, not a number"}, {"sessionId", "is required"}, {"messageId", "must be a string, not null"}},
		`{"id":"p","sessionId":"s","messageId":"m"}`: {{"type", "is required"}},
	} {
		if diff := cmp.Diff(want, partFaults([]byte(body))); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
}

// TestDuplicatesLastWins: as in every JavaScript parser, also for names that are
// spelled with escapes.
func TestDuplicatesLastWins(t *testing.T) {
	t.Parallel()
	ev, err := DecodeEvent([]byte(`{"type":7,"turnId":"a","sessionId":"s","timestamp":1,"turnId":null,"turn\u0049d":"b","type":"turn.started"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := ev.Turn(); got != "b" {
		t.Errorf("turnId is %q, want the last one, b", got)
	}
}

// TestOddWords: a closed word and a type may be spelled with escapes.
func TestOddWords(t *testing.T) {
	t.Parallel()
	ev, err := DecodeEvent([]byte(`{"type":"message\u002estarted","sessionId":"s","turnId":"t","messageId":"m","outputIndex":0,"role":"\u0075ser","timestamp":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := ev.(*MessageStarted).Role; got != RoleUser {
		t.Errorf("role is %q", got)
	}
}
