package harnesstest

import (
	"agent-server/fixtures"
	"agent-server/protocol"
	"agent-server/session"
)

// recording is one fixture, to be fed.
type recording struct {
	scenario string
	open     fixtures.Row
	steps    []fixtures.Step
	// wrote are the lines that were written to the harness then.
	wrote []string
	// lines are the places among steps of what the harness wrote.
	lines []int
}

func newRecording(scenario string, native []byte) (*recording, error) {
	open, steps, err := fixtures.Inputs(native)
	if err != nil {
		return nil, err
	}
	wrote, err := fixtures.Written(native)
	if err != nil {
		return nil, err
	}
	r := &recording{scenario: scenario, open: open, steps: steps, wrote: wrote}
	for i, s := range steps {
		if _, line := s.Input.(session.NativeLine); line {
			r.lines = append(r.lines, i)
		}
	}
	return r, nil
}

// config is the recording's, as a subject takes it.
func (r *recording) config(id protocol.HarnessID) protocol.RunConfig {
	var cfg protocol.RunConfig
	if r.open.Config != nil {
		cfg = *r.open.Config
	}
	cfg.Harness = id
	return cfg
}
