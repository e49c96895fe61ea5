package protocol

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLoneHighSurrogateTail(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]bool{
		`""`:                   false,
		`"a"`:                  false,
		`"\ud83d"`:             true,
		`"\uD83D"`:             true,
		`"text \uDBFF"`:        true,
		`"\ud800"`:             true,
		`"\uda00"`:             true,
		`"\ud83d\ude00"`:       false,
		`"\ude00"`:             false,
		`"\udc00"`:             false,
		`"\ud83d\ud83d"`:       true,
		`"\ud83d "`:            false,
		`"\\ud83d"`:            false,
		`"\\\ud83d"`:           true,
		`"\\\\ud83d"`:          false,
		`"ud83d"`:              false,
		`"\ud7ff"`:             false,
		`"\u0d83"`:             false,
		"\"\xf0\x9f\x98\x80\"": false,
	} {
		if got := LoneHighSurrogateTail([]byte(literal)); got != want {
			t.Errorf("%s: %v, want %v", literal, got, want)
		}
	}
}

func TestUnquote(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]string{
		`""`:                   "",
		`"plain é"`:            "plain é",
		`"\"\\\/\b\f\n\r\t"`:   "\"\\/\b\f\n\r\t",
		`"\u0041\u2028"`:       "A\u2028",
		`"\ud83d\ude00"`:       "😀",
		`"a\ud83d"`:            "a\uFFFD",
		`"\ude00b"`:            "\uFFFDb",
		`"\ud83d\u0041"`:       "\uFFFDA",
		`"\ud83d\ud83d\ude00"`: "\uFFFD😀",
		"\"\xff\"":             "\uFFFD",
		"\"\\n\xe2\x80\"":      "\n\uFFFD\uFFFD",
	} {
		if got := Unquote([]byte(literal)); got != want {
			t.Errorf("%q is %q, want %q", literal, got, want)
		}
	}
}

// TestUnquoteIsAppendString's inverse.
func TestUnquoteOfAppendString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genString(t)
		if got := Unquote(AppendString(nil, s)); got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}

// walked is a value as the walkers see it, for comparison with a real parser.
func walked(raw []byte) any {
	switch raw[0] {
	case '{':
		o := map[string]any{}
		for _, m := range appendMembers(nil, raw) {
			o[string(m.name(raw))] = walked(m.value(raw))
		}
		return o
	case '[':
		list := []any{}
		for item := range items(raw) {
			list = append(list, walked(item))
		}
		return list
	case '"':
		return Unquote(raw)
	}
	return json.Number(raw)
}

// parsed is the same from the standard library.
func parsed(t failer, raw []byte) any {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("the standard library: %v", err)
	}
	return literals(v)
}

// literals makes true, false and null what walked makes of them.
func literals(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = literals(v[name])
		}
	case []any:
		for i := range v {
			v[i] = literals(v[i])
		}
	case bool:
		return json.Number(map[bool]string{true: "true", false: "false"}[v])
	case nil:
		return json.Number("null")
	}
	return v
}

func TestWalkersSeeWhatParsersSee(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(genJSON(t, 4))
		if diff := cmp.Diff(parsed(t, raw), walked(raw)); diff != "" {
			t.Fatalf("%s (-parsed +walked):\n%s", raw, diff)
		}
	})
}

func FuzzWalkers(f *testing.F) {
	f.Add([]byte(` { "a\"}" : [ "\\" , {} ,[ ] , -1.5e3 ] , "" : "\\\"" , "\u0061" :null } `))
	f.Add([]byte("[\"\u2028\xff\",\ttrue\r\n]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !valid(raw) || !json.Valid(raw) {
			return
		}
		raw = trim(raw)
		if diff := cmp.Diff(parsed(t, raw), walked(raw)); diff != "" {
			t.Fatalf("%s (-parsed +walked):\n%s", raw, diff)
		}
	})
}

// TestValidIsAsABaseClientParses: duplicates and bad UTF-8 pass, nothing else
// that a strict parser refuses.
func TestValidIsAsABaseClientParses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		`{"a":1,"a":2}`: true, "\"\xff\"": true, `"\ud800"`: true, " [1] \r\n": true,
		"": false, "{": false, "[1,]": false, "{'a':1}": false, "01": false, "1 2": false, "\"\n\"": false,
		`"\x"`: false, "NaN": false, "\uFEFF{}": false, "//\n1": false,
	} {
		if got := valid([]byte(raw)); got != want {
			t.Errorf("%q: %v, want %v", raw, got, want)
		}
	}
}
