package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// sample is as much of an event as it takes to see what is special about it.
type sample struct {
	Type string `json:"type"`
	// Part is that of a message.part; its state is a word or, of a tool, an object.
	Part struct {
		Type  string `json:"type"`
		State any    `json:"state"`
	} `json:"part"`
	// Delta is that of a message.part.delta.
	Delta struct {
		Type string `json:"type"`
	} `json:"delta"`
}

// kind is the same for two events of which one is enough as an example.
func (s sample) kind() string {
	status := ""
	if state, ok := s.Part.State.(map[string]any); ok {
		status = fmt.Sprint(state["status"])
	}
	return s.Type + " " + s.Part.Type + " " + status + " " + s.Delta.Type
}

// addSamples gives the definitions of events examples: of each kind the first one
// among the golden notifications of package protocol.
func addSamples(all defs, root string) error {
	raw, err := os.ReadFile(filepath.Join(root, "protocol", "testdata", "envelopes.jsonl"))
	if err != nil {
		return fmt.Errorf("reading examples: %w", err)
	}
	of := map[string]string{}
	for _, v := range eventVariants() {
		of[v.word] = v.of.Name()
	}
	seen := map[string]bool{}
	for l := range bytes.Lines(raw) {
		var n struct {
			Params struct{ Event json.RawMessage }
		}
		var s sample
		if err := json.Unmarshal(l, &n); err != nil {
			return fmt.Errorf("reading examples: %w", err)
		}
		if err := json.Unmarshal(n.Params.Event, &s); err != nil {
			return fmt.Errorf("reading examples: %w", err)
		}
		def, known := all[of[s.Type]]
		if !known || seen[s.kind()] {
			continue
		}
		seen[s.kind()] = true
		def.Examples = append(def.Examples, n.Params.Event)
	}
	return nil
}
