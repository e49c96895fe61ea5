package session_test

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// scriptedHarness is a harness whose translators say what the test has them say.
type scriptedHarness struct {
	id     protocol.HarnessID
	faults []protocol.Fault
	// steer is Info.Steer.
	steer     bool
	launchErr error
	// react answers an input in place of usual; nil: usual.
	react func(tr *scripted, in harness.Input) harness.Output
	// made are the translators, in order of generation.
	made []*scripted
}

// scripted is a real translator without a native stream: a line says what the
// test put into next.
type scripted struct {
	h      *scriptedHarness
	launch harness.Launch
	next   harness.Output
	// heard are the inputs, in order.
	heard []harness.Input
}

func (h *scriptedHarness) Info() harness.Info { return harness.Info{ID: h.id, Steer: h.steer} }

func (h *scriptedHarness) Check(protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) {
	return h.faults, nil
}

func (h *scriptedHarness) Launch(harness.Launch) (harness.Command, error) {
	return harness.Command{Args: []string{"--scripted"}}, h.launchErr
}

func (h *scriptedHarness) New(l harness.Launch, _ func() string) harness.Translator {
	tr := &scripted{h: h, launch: l}
	h.made = append(h.made, tr)
	return tr
}

func (tr *scripted) Line([]byte) harness.Output {
	out := tr.next
	tr.next = harness.Output{}
	return out
}

func (tr *scripted) Step(in harness.Input) harness.Output {
	tr.heard = append(tr.heard, in)
	if tr.h.react != nil {
		return tr.h.react(tr, in)
	}
	return usual(in)
}

// usual is a harness that takes a prompt at once and registers later.
func usual(in harness.Input) harness.Output {
	switch in := in.(type) {
	case harness.Begin:
		return harness.Output{Updates: []harness.Update{harness.PromptWritten{}}, Stdin: []byte("prompt " + in.Turn + "\n")}
	case harness.Configure:
		return harness.Output{Stdin: []byte("configure\n")}
	case harness.Cancel:
		return harness.Output{Stdin: []byte("interrupt\n")}
	case harness.Steer:
		return harness.Output{Stdin: []byte("steer " + in.Turn + "\n")}
	case harness.Resolve:
		return harness.Output{Stdin: []byte("resolve " + in.Request + "\n")}
	}
	return harness.Output{}
}

// unwritten is a harness whose handshake is not over: it holds the prompt.
func unwritten(_ *scripted, in harness.Input) harness.Output {
	if _, begin := in.(harness.Begin); begin {
		return harness.Output{}
	}
	return usual(in)
}

// heardOf are the inputs of one type, in order.
func heardOf[T harness.Input](tr *scripted) []T {
	var heard []T
	for _, in := range tr.heard {
		if in, ok := in.(T); ok {
			heard = append(heard, in)
		}
	}
	return heard
}
