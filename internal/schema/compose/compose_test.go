package compose

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// root is the root of the module.
const root = "../../.."

func mustRead(t *testing.T) *sources {
	t.Helper()
	src, err := readSources(root)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func mustDefine(t *testing.T) defs {
	t.Helper()
	all, err := definitions(mustRead(t))
	if err != nil {
		t.Fatal(err)
	}
	addMessages(all)
	return all
}

// TestPublishedIsFresh: what is published was made from these sources.
func TestPublishedIsFresh(t *testing.T) {
	t.Parallel()
	documents, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range documents {
		names = append(names, d.Name)
		published, err := os.ReadFile(filepath.Join(root, "docs", "schema", d.Name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(published), "\n"), strings.Split(string(d.Body), "\n")); diff != "" {
			t.Errorf("%s is stale, run go generate ./internal/schema (-published +made):\n%s", d.Name, diff)
		}
	}
	there, err := filepath.Glob(filepath.Join(root, "docs", "schema", "*.json"))
	if err != nil || len(there) != len(names) {
		t.Errorf("published are %v, made are %v (%v)", there, names, err)
	}
}

// TestSameSourcesSameBytes: maps are walked in an order of their own.
func TestSameSourcesSameBytes(t *testing.T) {
	t.Parallel()
	first, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := Documents(root)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(first, again) {
			t.Fatal("two documents of the same sources differ")
		}
	}
}

func TestDocumentsWithoutSources(t *testing.T) {
	t.Parallel()
	if _, err := Documents(t.TempDir()); err == nil {
		t.Error("documents were made of nothing")
	}
}

// TestEveryVocabularyHasItsPlace: a type of words is closed, open or tells the
// variants of a union apart; a new one must be put somewhere.
func TestEveryVocabularyHasItsPlace(t *testing.T) {
	t.Parallel()
	src := mustRead(t)
	place := map[string]string{"": "", "Code": "", "EventType": "", "PartType": "", "ToolStatus": "", "DeltaType": "", "ContentType": ""}
	for _, v := range closed {
		place[v.Name()] = "is closed"
	}
	for _, v := range open {
		place[v.Name()] = "is open"
	}
	for _, c := range src.constants {
		if _, ok := place[c.kind]; !ok {
			t.Errorf("%s is of type %s, which has no place", c.name, c.kind)
		}
	}
	// Where a type's own comment says which it is, the tables agree.
	for kind, want := range place {
		text := src.comments[protocolPath+"."+kind]
		for _, said := range []string{"is closed", "is open"} {
			if want != "" && strings.Contains(text, kind+" "+said) && said != want {
				t.Errorf("%s stands as %q, its comment says %q", kind, want, text)
			}
		}
	}
}

// TestUnionsAreComplete: every word that tells variants apart has a variant, but for
// the added types, which the decoder keeps as unknown.
func TestUnionsAreComplete(t *testing.T) {
	t.Parallel()
	src := mustRead(t)
	kinds := map[string]string{"Event": "EventType", "Part": "PartType", "ToolState": "ToolStatus", "Delta": "DeltaType", "ToolContent": "ContentType"}
	for _, u := range unions() {
		var want []string
		for _, w := range src.words(kinds[u.name]) {
			if u.unknown == nil || decoderKnows(u.name, w) {
				want = append(want, w)
			}
		}
		got := wordsOf(u.variants)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-constants +variants):\n%s", u.name, diff)
		}
	}
}

// decoderKnows asks the decoder whether it knows a type: then a body without members is
// malformed.
func decoderKnows(union, kind string) bool {
	var err error
	if union == "Event" {
		_, err = protocol.DecodeEvent(fmt.Appendf(nil, `{"type":%q}`, kind))
	} else {
		_, err = protocol.DecodePart(fmt.Appendf(nil, `{"type":%q,"id":"p","sessionId":"s","messageId":"m"}`, kind))
	}
	return err != nil
}

// TestEveryMethodIsDescribed: a method is one row here too.
func TestEveryMethodIsDescribed(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, c := range mustRead(t).constants {
		if strings.HasPrefix(c.name, "Method") {
			want = append(want, c.value)
		}
	}
	for _, m := range methods() {
		got = append(got, m.name)
		if len(m.examples) == 0 || m.summary == "" || m.text == "" || len(m.errors) == 0 {
			t.Errorf("%s lacks examples, errors or words", m.name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("methods (-constants +described):\n%s", diff)
	}
	if diff := cmp.Diff(want, methodNames()); diff != "" {
		t.Errorf("the methods that an example lists (-constants +listed):\n%s", diff)
	}
}

// TestKnownWordsOfPlainStrings: two vocabularies have no type of their own.
func TestKnownWordsOfPlainStrings(t *testing.T) {
	t.Parallel()
	all := mustDefine(t)
	reason, _ := all["SessionEnded"].Properties.Get("reason")
	var want []any
	for _, c := range mustRead(t).constants {
		if c.kind == "" && strings.HasPrefix(c.name, "End") {
			want = append(want, c.value)
		}
	}
	if diff := cmp.Diff(want, reason.Examples); diff != "" || len(want) < 4 {
		t.Errorf("reasons (-constants +known):\n%s", diff)
	}
}

func TestEveryCodeIsDescribed(t *testing.T) {
	t.Parallel()
	codes, err := codesOf(mustRead(t))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]protocol.Code{}
	for _, c := range codes {
		got[c.name] = c.value
		if c.when == "" {
			t.Errorf("%s does not say when", c.name)
		}
	}
	want := map[string]protocol.Code{
		"parseError": -32700, "invalidRequest": -32600, "methodNotFound": -32601, "invalidParams": -32602, "internalError": -32603,
		"harnessNotAvailable": -32000, "unknownSession": -32001, "turnActive": -32002, "shuttingDown": -32003,
		"protocolVersionMismatch": -32004, "sessionClosing": -32005, "turnConflict": -32006, "seqUnavailable": -32020, "overloaded": -32021,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-the page's +described):\n%s", diff)
	}
}

// goish is what only has a meaning in Go. A definition's own name is none.
var goish = regexp.MustCompile(`\bnil\b|\bstruct\b|\bpointers?\b|\bomitzero\b|\*[A-Z]\w+|\b[A-Z][a-z]+(?:[A-Z][A-Za-z]*)+\b|\b[A-Z][a-z]+ID\b|is may`)

// TestProseIsForTheWire: every definition and member is described, in the words of the
// wire.
func TestProseIsForTheWire(t *testing.T) {
	t.Parallel()
	all := mustDefine(t)
	for name, def := range all {
		texts := map[string]string{name: def.Description}
		for p, m := range def.Properties.FromOldest() {
			if m.Const == nil && !slices.Contains([]string{"method", "params", "result", "error", "data"}, p) {
				texts[name+"."+p] = m.Description
			}
		}
		for at, text := range texts {
			if text == "" && all[at] == nil && !strings.HasSuffix(at, "Error.code") && !strings.HasSuffix(at, "Error.message") && !strings.HasPrefix(at, "UnknownPart.") {
				t.Errorf("%s is not described", at)
			}
			for _, word := range goish.FindAllString(text, -1) {
				if all[word] == nil {
					t.Errorf("%s: %q speaks Go: %s", at, word, text)
				}
			}
		}
	}
}

// TestReferencesStandAlone: draft 7 does not look at what stands beside a reference,
// so nothing there may bind.
func TestReferencesStandAlone(t *testing.T) {
	t.Parallel()
	for name, def := range mustDefine(t) {
		raw, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		walk(v, func(o map[string]any) {
			if o["$ref"] == nil {
				return
			}
			for keyword := range o {
				if keyword != "$ref" && keyword != "description" && keyword != "writeOnly" {
					t.Errorf("%s: %s stands beside %s", name, keyword, o["$ref"])
				}
			}
		})
	}
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

func TestReword(t *testing.T) {
	t.Parallel()
	names := memberNames(reflect.TypeFor[protocol.ToolPart]())
	for text, want := range map[string]string{
		"ID names the part through all\nits snapshots.":                                  "`id` names the part through all its snapshots.",
		"ParentToolCallID is the tool call; nil at top level.":                           "`parentToolCallId` is the tool call; absent at top level.",
		`Kind is open; see KindRead and its siblings; "" when absent.`:                   "`kind` is open; may be absent.",
		"Version is nil when absent.":                                                    "Version may be absent.",
		"SessionID is not empty; nil when absent: one is minted.":                        "`sessionId` is not empty; may be absent: one is minted.",
		"Subagent is set when the call runs a sub-agent; Kind is then task.":             "`subagent` is set when the call runs a sub-agent; `kind` is then task.",
		"LatestSeq is the head; nil (null on the wire) when nothing is logged.":          "LatestSeq is the head; null when nothing is logged.",
		`OptionID is the option chosen; "" and absent when cancelled.`:                   "OptionID is the option chosen; absent when cancelled.",
		`TurnID is the turn; "" where there was none. A kindness and a stated titleist.`: `TurnID is the turn; "" where there was none. A kindness and a stated titleist.`,
	} {
		if got := reword(text, names); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestConstants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"a.go":      "package p\n\n// Group.\nconst (\n\t// A is one.\n\tA Word = \"a\"\n\tB, C Word = \"b\", `c`\n\tN Code = -3\n\tP = 5\n\tF = 1.5\n\tX = A\n\tY\n)\n\nvar V = \"v\"\n",
		"a_test.go": "package p\n\nconst T Word = \"t\"\n", "a.txt": "const U Word",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readConstants(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []constant{{"A", "Word", "a", "A is one."}, {"B", "Word", "b", ""}, {"C", "Word", "c", ""}, {"N", "Code", "-3", ""}, {"P", "", "5", ""}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(constant{})); diff != "" {
		t.Error(diff)
	}
	src := &sources{constants: got}
	if diff := cmp.Diff([]string{"a", "b", "c"}, src.words("Word")); diff != "" {
		t.Error(diff)
	}
	if _, err := codesOf(src); err == nil {
		t.Error("a code without a comment is no error")
	}
	if err := os.WriteFile(filepath.Join(dir, "b.go"), []byte("package"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readConstants(dir); err == nil {
		t.Error("a source that does not parse is no error")
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	all := defs{"A": ref("B"), "B": {AnyOf: []*jsonschema.Schema{ref("A"), ref("C")}}, "C": {Type: "string"}, "D": ref("Nowhere")}
	got, err := reach(all, "A")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A", "B", "C"}, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
	if _, err := reach(all, "D"); err == nil || !strings.Contains(err.Error(), "Nowhere") {
		t.Errorf("a reference to nothing: %v", err)
	}
}

// TestStaleTablesAreErrors: the tables name members of Go types, which move on.
func TestStaleTablesAreErrors(t *testing.T) {
	t.Parallel()
	if err := applyRules(defs{"Envelope": object()}); err == nil {
		t.Error("a rule for a member that is gone is no error")
	}
	whole := func() defs {
		o := object("kind")
		o.Properties.Set("kind", &jsonschema.Schema{})
		o.Properties.Set("a", &jsonschema.Schema{})
		return defs{"Whole": o}
	}
	for what, s := range map[string]split{
		"a member that is gone":    {"Whole", "kind", []shape{{"x", "X", "a b", ""}}},
		"a member that nobody has": {"Whole", "kind", []shape{{"x", "X", "", ""}}},
		"a tag that is a member":   {"Whole", "kind", []shape{{"x", "X", "a kind", ""}}},
	} {
		if err := s.apply(whole()); err == nil {
			t.Errorf("%s is no error", what)
		}
	}
	if err := addUnions(defs{}, &sources{}); err == nil {
		t.Error("a union of nothing is no error")
	}
	if err := addVocabularies(defs{}, &sources{}); err == nil {
		t.Error("a vocabulary without words is no error")
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	o := object("kind")
	for _, name := range []string{"kind", "a", "b", "c"} {
		o.Properties.Set(name, &jsonschema.Schema{Type: "string"})
	}
	all := defs{"Whole": o}
	s := split{"Whole", "kind", []shape{{"x", "X", "a b?", "An x."}, {"y", "Y", "b|c", "A y."}}}
	if err := s.apply(all); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Whole":{"oneOf":[{"$ref":"#/$defs/X"},{"$ref":"#/$defs/Y"}]},` +
		`"X":{"properties":{"kind":{"type":"string","const":"x"},"a":{"type":"string"},"b":{"type":"string"}},"additionalProperties":true,"type":"object","required":["kind","a"],"description":"An x."},` +
		`"Y":{"oneOf":[{"required":["b"]},{"required":["c"]}],"properties":{"kind":{"type":"string","const":"y"},"b":{"type":"string"},"c":{"type":"string"}},"additionalProperties":true,"type":"object","required":["kind"],"description":"A y."}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	got, err := write(map[string]any{"a": "<b>&\u00a0\u2028é", "n": json.Number("9007199254740991")})
	if err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"a\": \"<b>&\\u00a0\\u2028é\",\n  \"n\": 9007199254740991\n}\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if _, err := write(func() {}); err == nil {
		t.Error("a function was written")
	}
}

// TestNotBlank: the pattern holds exactly what the decoder calls white space.
func TestNotBlank(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(pattern(notBlank))
	for r := rune(0); r < 0x11000; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		blank := strings.TrimSpace(string(r)) == ""
		if re.MatchString(string(r)) == blank {
			t.Errorf("U+%04X: blank is %v, and the pattern says otherwise", r, blank)
		}
	}
}
