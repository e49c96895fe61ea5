package schema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestSchemasSayWhatTheyAre: dialect, name and root, as a validator looks for them.
func TestSchemasSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{"events": Events(), "methods": Methods()} {
		var d struct {
			Schema string `json:"$schema"`
			ID     string `json:"$id"`
			Ref    string `json:"$ref"`
			Defs   map[string]struct{ Examples []json.RawMessage }
		}
		if err := json.Unmarshal(body, &d); err != nil {
			t.Fatal(err)
		}
		if d.Schema != "https://json-schema.org/draft/2020-12/schema" || !strings.HasSuffix(d.ID, ":"+name) || d.Ref == "" {
			t.Errorf("%s is %s of %s with root %s", name, d.ID, d.Schema, d.Ref)
		}
	}
}

// TestRootsJudge: the document itself is a schema, not only its definitions.
func TestRootsJudge(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{"events": Events(), "methods": Methods()} {
		valid := rootOf(t, body)
		good := `{"sessionId":"s","seq":1,"event":{"type":"turn.paused"}}`
		if name == "methods" {
			good = `{"jsonrpc":"2.0","method":"event","params":` + good + `}`
		}
		if err := valid([]byte(good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if valid([]byte(`{"type":"turn.paused"}`)) == nil {
			t.Errorf("%s takes anything", name)
		}
	}
}

// TestExamplesOfEvents: every known event has some, and they are what they show.
func TestExamplesOfEvents(t *testing.T) {
	t.Parallel()
	var d struct {
		Defs map[string]struct {
			Examples   []json.RawMessage
			Properties map[string]struct{ Const any }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Events(), &d); err != nil {
		t.Fatal(err)
	}
	var union struct {
		OneOf []struct {
			Ref string `json:"$ref"`
		}
	}
	raw := parse(t, Events()).(map[string]any)["$defs"].(map[string]any)["Event"]
	if err := json.Unmarshal(encode(t, raw), &union); err != nil {
		t.Fatal(err)
	}
	for _, v := range union.OneOf {
		name := strings.TrimPrefix(v.Ref, "#/$defs/")
		if name == "UnknownEvent" {
			continue
		}
		if len(d.Defs[name].Examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		valid := judgeOf(t, Events(), name)
		for _, e := range d.Defs[name].Examples {
			if err := valid(e); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestCopies: who changes what was given changes nothing for others.
func TestCopies(t *testing.T) {
	t.Parallel()
	for _, of := range []func() []byte{Events, Methods, OpenRPC} {
		first := of()
		clear(first)
		if again := of(); bytes.Equal(first, again) || !json.Valid(again) {
			t.Error("a caller's change is seen by the next")
		}
	}
}
