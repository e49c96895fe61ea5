package rpcline

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// A member of a wrong type is as good as absent, and its neighbours are read.
func TestReadIsLenient(t *testing.T) {
	t.Parallel()
	type value struct {
		Text   Text   `json:"text"`
		Number Number `json:"number"`
		Flag   Flag   `json:"flag"`
	}
	tests := []struct {
		name, raw string
		want      value
	}{
		{"as meant", `{"text":"a","number":2,"flag":true}`, value{"a", Number{2, true}, true}},
		{"a text that is none", `{"text":{},"number":2,"flag":true}`, value{"", Number{2, true}, true}},
		{"a number that is none", `{"text":"a","number":"2","flag":true}`, value{"a", Number{}, true}},
		{"a flag that is none", `{"text":"a","number":2,"flag":"true"}`, value{"a", Number{2, true}, false}},
		{"null throughout", `{"text":null,"number":null,"flag":null}`, value{}},
		{"no object", `["text"]`, value{}},
		{"nothing", ``, value{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Read[value](jsontext.Value(tt.raw))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListsTakeWhatFits(t *testing.T) {
	t.Parallel()
	raw := jsontext.Value(`[{"text":"a"},5,"b",null,{"text":7}]`)
	type element struct {
		Text Text `json:"text"`
	}
	if diff := cmp.Diff([]element{{"a"}, {""}}, List[element](raw)); diff != "" {
		t.Errorf("objects: %s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, Texts(raw)); diff != "" {
		t.Errorf("texts: %s", diff)
	}
	if got := List[element](jsontext.Value(`{}`)); got != nil {
		t.Errorf("an object gives %v", got)
	}
}

func TestAsObject(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: ``, `null`: ``, `{}`: `{}`, `{"a":1}`: `{"a":1}`, `"x"`: `{"v":"x"}`, `[1]`: `{"v":[1]}`, `false`: `{"v":false}`,
	} {
		if got := string(AsObject(jsontext.Value(raw), "v")); got != want {
			t.Errorf("%q gives %q, want %q", raw, got, want)
		}
	}
}

func TestWordIsFitForALog(t *testing.T) {
	t.Parallel()
	if got := Word("item/started\n\x1b[31m secret"); got != "item/started???31m?secret" {
		t.Errorf("got %q", got)
	}
	if got := Word(string(make([]byte, 1000))); len(got) != 40 {
		t.Errorf("%d bytes", len(got))
	}
}
