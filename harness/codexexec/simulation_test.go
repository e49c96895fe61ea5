package codexexec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// Law 179: whatever codex exec writes, in whatever order, and whatever a user does,
// no law of the stream is broken, a turn that was begun ends once, and the same
// moves write the same bytes.
func TestLaw179_anyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		first, moves := simulate(t, seed)
		second, _ := simulate(t, seed)
		if diff := cmp.Diff(first.told(), second.told()); diff != "" || first.stdin != second.stdin {
			t.Errorf("seed %d: two runs differ: %s", seed, diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(moves, "\n"))
		}
	}
}

func simulate(t *testing.T, seed uint64) (*stage, []string) {
	rng := rand.New(rand.NewPCG(seed, 9))
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	s := newStage(t, protocol.RunConfig{})
	var moves []string
	turns := 0
	for range 60 {
		_, active := s.m.Active()
		var move string
		switch n := rng.IntN(12); {
		case !active:
			turns++
			move = fmt.Sprintf("start %d", turns)
			s.step(session.StartTurn{Token: 1, TurnID: fmt.Sprintf("turn-%d", turns), Input: protocol.TextInput("x"), Config: s.cfg})
		case n == 0:
			move = "cancel"
			id, _ := s.m.Active()
			s.v.Cancelled(id)
			s.step(session.CancelTurn{Token: 2})
		case n == 1:
			move = "exit"
			s.step(session.Exited{Gen: s.gen, Status: harness.ExitStatus{Code: 1, Stderr: pick("", "why")}})
		default:
			move = anyLine(pick)
			s.line(move)
		}
		moves = append(moves, move)
	}
	s.step(session.Exited{Gen: s.gen, Status: harness.ExitStatus{Code: 1}})
	s.finish()
	ended := 0
	for _, e := range s.events {
		if e.Type() == protocol.TypeTurnEnded {
			ended++
		}
	}
	if ended != turns {
		t.Errorf("%d turns begun, %d ended", turns, ended)
	}
	return s, moves
}

// told are the tool calls in the order and the states in which they were shown.
func (s *stage) told() []string {
	var told []string
	for _, e := range s.events {
		if m, ok := e.(*protocol.MessagePart); ok {
			if tool, ok := m.Part.(*protocol.ToolPart); ok {
				_, item, _ := strings.Cut(tool.ToolCallID, "/")
				told = append(told, item+" "+string(tool.State.Status()))
			}
		}
	}
	return told
}

// anyLine is any line of codex exec's.
func anyLine(pick func(...string) string) string {
	switch pick("item", "item", "item", "item", "thread", "error", "end", "noise") {
	case "thread":
		return pick(threadLine, turnLine)
	case "error":
		return `{"type":"error","message":"` + pick("a", "b") + `"}`
	case "end":
		return pick(doneLine, `{"type":"turn.failed","error":{"message":"a"}}`)
	case "noise":
		return pick("banner", "{}", `{"type":5}`, "null", `{"type":"odd"}`)
	}
	return `{"type":"` + pick("item.started", "item.updated", "item.completed") + `","item":{"id":"` + pick("i", "j", "k") + `",` +
		pick(`"type":"agent_message","text":"x"`, `"type":"agent_message","text":"xy"`, `"type":"reasoning","text":"r"`,
			`"type":"command_execution","command":"c","status":"failed"`, `"type":"todo_list","items":[]`, `"type":"error","message":"m"`) + `}}`
}
