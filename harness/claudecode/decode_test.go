package claudecode

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// scalars is one member of each lenient type.
type scalars struct {
	S text    `json:"s"`
	N number  `json:"n"`
	B flag    `json:"b"`
	P *number `json:"p"`
}

// What another program writes has not always the shape that it should.
func TestLenientScalars(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]scalars{
		`{"s":"x","n":1.5,"b":true,"p":2}`:            {"x", 1.5, true, new(number(2))},
		`{}`:                                          {},
		`{"s":null,"n":null,"b":null,"p":null}`:       {},
		`{"s":7,"n":"7","b":1,"p":"2"}`:               {P: new(number(0))},
		`{"s":{"a":[1]},"n":[1,{}],"b":{},"p":[]}`:    {P: new(number(0))},
		`{"s":"a\ud83d","n":-0,"b":false}`:            {S: "a\uFFFD"},
		`{"n":1e400}`:                                 {},
		`{"s":"first","s":"last","n":1,"n":"x"}`:      {S: "last"},
		`{"S":"other case","N":1,"unknown":{"s":""}}`: {},
		"{\"s\":\"\xff\"}":                            {S: "\uFFFD"},
	} {
		var got scalars
		if err := json.Unmarshal([]byte(line), &got, lenient); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestNestedValuesOfTheWrongKind(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `null`, `7`, `"x"`, `true`, `[]`} {
		if got := object[head](jsontext.Value(raw)); got != (head{}) {
			t.Errorf("object of %q: %v", raw, got)
		}
		if got := free(jsontext.Value(raw)); got != nil {
			t.Errorf("free object of %q: %s", raw, got)
		}
	}
	for _, raw := range []string{``, `null`, `7`, `"x"`, `{}`} {
		if got := array(jsontext.Value(raw)); got != nil {
			t.Errorf("array of %q: %v", raw, got)
		}
	}
}

func TestArraysOfMixedItems(t *testing.T) {
	t.Parallel()
	const raw = `[null, "a", 7, {"type":"x"}, ["b"], {"type":9}, "c"]`
	if diff := cmp.Diff([]head{{Type: "x"}, {}}, objects[head](jsontext.Value(raw))); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "c"}, texts(jsontext.Value(raw))); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]content{
		`"plain"`:                        {{Type: "text", Text: "plain"}},
		`[{"type":"text","text":"a"},7]`: {{Type: "text", Text: "a"}},
		`[]`:                             nil,
		`null`:                           nil,
		`7`:                              nil,
	} {
		if diff := cmp.Diff(want, contents(jsontext.Value(raw))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"can_use_tool":  "can_use_tool",
		"a.b-C9":        "a.b-C9",
		"a b\n\x1b[31m": "a?b???31m",
		"ü":             "??",
		"":              "",
		"0123456789012345678901234567890123456789x": "0123456789012345678901234567890123456789",
	} {
		if got := word(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
