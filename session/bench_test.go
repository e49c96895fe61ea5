package session_test

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

// parrot is a translator as cheap as one can be: a line is one delta, or another
// part after a long answer's worth of them.
type parrot struct {
	*scripted
	lines       int
	delta, next harness.Output
}

func (p *parrot) Line([]byte) harness.Output {
	if p.lines++; p.lines%4096 == 0 {
		return p.next
	}
	return p.delta
}

// parrotHarness makes parrots.
type parrotHarness struct{ scriptedHarness }

func (h *parrotHarness) New(l harness.Launch, _ func() string) harness.Translator {
	open := harness.PartOpened{Part: "p", Kind: protocol.PartText}
	h.react = func(_ *scripted, in harness.Input) harness.Output {
		out := usual(in)
		out.Updates = append(out.Updates, harness.Registered{}, open)
		return out
	}
	return &parrot{
		scripted: &scripted{h: &h.scriptedHarness, launch: l},
		delta:    harness.Output{Updates: []harness.Update{harness.TextAppended{Part: "p", Text: "a few words of an answer, "}}},
		next:     harness.Output{Updates: []harness.Update{harness.Abandoned{Parts: []string{"p"}}, open}},
	}
}

// One text delta through the machine alone.
func BenchmarkStepTextDelta(b *testing.B) {
	m := session.New(session.Options{SessionID: "s", Harness: &parrotHarness{scriptedHarness{id: protocol.HarnessClaudeCode}}})
	m.Step(epoch, session.StartTurn{TurnID: "t", Config: config(), Input: protocol.TextInput("hi")})
	line := session.NativeLine{Gen: 1, Line: []byte(`{"type":"stream_event"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if out := m.Step(epoch, line); len(out.Events) == 0 {
			b.Fatal("no delta")
		}
	}
}

// A whole turn of one delta, with its echo and its ends.
func BenchmarkStepTurn(b *testing.B) {
	r := &scriptedHarness{id: protocol.HarnessClaudeCode}
	m := session.New(session.Options{SessionID: "s", Harness: r})
	m.Step(epoch, session.StartTurn{TurnID: "warm", Config: config(), Input: protocol.TextInput("hi")})
	tr := r.made[0]
	end := []harness.Update{
		harness.PartOpened{Part: "p", Kind: protocol.PartText}, harness.TextAppended{Part: "p", Text: "hello"},
		harness.Finished{Reason: protocol.StopEndTurn},
	}
	line := session.NativeLine{Gen: 1, Line: []byte("{}")}
	turn := []byte("turn-00000000")
	b.ReportAllocs()
	for b.Loop() {
		tr.next, tr.heard = harness.Output{Updates: end}, nil
		m.Step(epoch, line)
		for i := len(turn) - 1; ; i-- { // count up in the id
			if turn[i]++; turn[i] <= '9' {
				break
			}
			turn[i] = '0'
		}
		m.Step(epoch, session.StartTurn{TurnID: string(turn), Config: config(), Input: protocol.TextInput("hi")})
	}
}
