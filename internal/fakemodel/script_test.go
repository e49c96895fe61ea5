package fakemodel

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		n    int
		want []string
	}{
		{"abcd", 2, []string{"ab", "cd"}},
		{"abcde", 2, []string{"abc", "de"}},
		{"ab", 5, []string{"a", "b"}},
		{"aéé", 3, []string{"aé", "é"}},
		{"abc", 0, []string{"abc"}},
		{"", 3, nil},
	} {
		if diff := cmp.Diff(tc.want, split(tc.text, tc.n)); diff != "" {
			t.Errorf("split(%q, %d) (-want +got):\n%s", tc.text, tc.n, diff)
		}
	}
}

func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(1, 9).Draw(t, "n")
		pieces := split(text, n)
		if strings.Join(pieces, "") != text || len(pieces) > n {
			t.Errorf("pieces %q", pieces)
		}
		for _, p := range pieces {
			if p == "" || p != strings.ToValidUTF8(p, "") && text == strings.ToValidUTF8(text, "") {
				t.Errorf("piece %q", p)
			}
		}
	})
}

func TestReplyOfRound(t *testing.T) {
	t.Parallel()
	a, b := say("a", 1), say("b", 1)
	for _, tc := range []struct {
		script script
		round  int
		want   reply
	}{
		{script{replies: []reply{a, b}}, 0, a},
		{script{replies: []reply{a, b}}, 1, b},
		{script{replies: []reply{a, b}}, 2, say(FinalText, 1)},
		{script{replies: []reply{a, b}, repeats: true}, 7, b},
		{script{repeats: true}, 0, say(FinalText, 1)},
	} {
		if diff := cmp.Diff(tc.want, tc.script.reply(tc.round), unexported); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", tc.round, diff)
		}
	}
}

func TestSampleFitsSchema(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"title":{"type":"string"},"more":{"type":"string"}},"required":["title"]}`: `{"title":"Fake title"}`,
		`{"enum":["a","b"]}`: `"a"`,
		`{"const":3}`:        `3`,
		`{"anyOf":[{"type":"boolean"},{"type":"null"}]}`:                              `false`,
		`{"type":["null","string"]}`:                                                  `null`,
		`{"type":"array","items":{"type":"integer"}}`:                                 `[]`,
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`:    `{"n":0}`,
		`{"type":"object","properties":{"n":{"type":"number"}},"required":["other"]}`: `{"other":{}}`,
		`not json`: `{}`,
	} {
		got := sample(schema)
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("sample(%s) = %s, want %s", schema, got, want)
		}
	}
}

// Objects keep the order they were written in, whatever stands in them.
func TestObjectKeepsOrder(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"b":1,"a":{"z":[2],"y":null}}`, `{"\"":"\\"}`, `{"a":1,"a":2}`} {
		o, err := members(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, err := json.Marshal(o); string(got) != text || err != nil {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "[]", "{", "null", `{"a":1} x`} {
		if _, err := members(text); err == nil {
			t.Errorf("%q passed for an object", text)
		}
	}
}
