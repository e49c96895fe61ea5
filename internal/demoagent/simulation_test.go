package demoagent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// simulations is how many seeds a test run plays; a seed that fails is in the
// name of its subtest.
const simulations = 150

// TestSimulation lets clients do at random what clients can do, in bursts and
// with rests, and has a judge read along.
func TestSimulation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(simulations) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := &simulation{client: startSession(t), judge: newJudge(), rand: rand.New(rand.NewPCG(seed, 1))}
				s.sessions = []string{firstSession}
				for range 60 {
					s.step()
				}
				s.rest()
				s.finish()
				s.listen()
				s.judge.closed()
				for _, fault := range s.judge.faults {
					t.Error(fault)
				}
			})
		})
	}
}

// simulation is a client that knows its sessions and its open questions.
type simulation struct {
	*client
	judge    *judge
	rand     *rand.Rand
	sessions []string
	rested   bool // nothing was sent since the agent came to rest
}

// simulated are the prompts: all scripts that end or can be cancelled.
var simulated = []string{
	"hello", "flood 30", "deltas 4 500", "deltas 2 0", "think", "tool", "ask", "ask", "edit", "fail",
	"subagent", "plan", "big 1000", "compact", "slow-cancel 1", "sequence tool; think; ask", "sequence edit; hang",
	"hang", "hang silent", "hang tool", "error", "error no", "flood", "hang on",
}

func (s *simulation) step() {
	session := s.pick(s.sessions)
	switch s.rand.IntN(12) {
	case 0, 1, 2:
		s.ask(session, "session/prompt", `"prompt":[{"type":"text","text":"`+s.pick(simulated)+`"}]`)
	case 3:
		if s.rested {
			s.judge.cancelled(session)
		}
		s.cancel(session)
	case 4, 5:
		s.answerOne()
	case 6:
		s.ask(session, "session/set_mode", `"modeId":"`+s.pick([]string{modeDefault, modePlan, modeBypass, modeDontAsk, modeAcceptEdits})+`"`)
	case 7:
		s.withdrawOne(session)
	case 8:
		s.closeOrResume(session)
	case 9:
		time.Sleep(time.Duration(s.rand.IntN(1000)) * time.Microsecond)
	default:
		s.rest()
		return
	}
	s.rested = false
}

// rest waits for the agent and reads what it wrote.
func (s *simulation) rest() {
	synctest.Wait()
	s.listen()
	s.rested = true
}

func (s *simulation) listen() {
	for _, line := range s.lines() {
		s.judge.heard(parse(s.t, line))
	}
}

func (s *simulation) pick(from []string) string { return from[s.rand.IntN(len(from))] }

// ask sends a request that the judge knows of.
func (s *simulation) ask(session, method, params string) {
	s.judge.sent(s.next, method, session)
	s.call(method, `{"sessionId":"`+session+`",`+params+`}`)
}

// answerOne answers the oldest open question, which has to have been heard of.
func (s *simulation) answerOne() {
	s.rest()
	ids := []int{}
	for id := range s.judge.asks {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return
	}
	id := slices.Min(ids)
	delete(s.judge.asks, id)
	choice := s.pick([]string{optionOnce, optionAlways, optionReject, "", "cancelled"})
	if choice == "cancelled" {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"cancelled"}}}`, id))
		return
	}
	s.perform(fmt.Sprintf("answer %d %s", id, choice))
}

// withdrawOne takes back a prompt of a session, if one has no answer yet.
func (s *simulation) withdrawOne(session string) {
	prompts := s.judge.prompts[session]
	if len(prompts) == 0 {
		return
	}
	id := prompts[s.rand.IntN(len(prompts))]
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, id))
}

// closeOrResume closes a session and opens it again, or another one.
func (s *simulation) closeOrResume(session string) {
	s.ask(session, "session/close", `"x":0`)
	s.rest()
	if s.rand.IntN(2) == 0 || len(s.sessions) > 4 {
		s.ask(session, "session/resume", `"cwd":"/workspace"`)
		return
	}
	s.sessions = slices.DeleteFunc(s.sessions, func(other string) bool { return other == session })
	fresh := fmt.Sprintf("demo-other-%d", s.rand.IntN(1000)+1)
	s.sessions = append(s.sessions, fresh)
	s.ask(fresh, "session/resume", `"cwd":"/workspace"`)
}

// TestJudge: the judge finds what it is there to find.
func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		text   = `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"M"}}}`
		call   = `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","status":"pending"}}}`
		work   = `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}}}`
		fail   = `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}}}`
		permit = `{"id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"}}}`
		recall = `{"method":"$/cancel_request","params":{"requestId":0}}`
		end    = `{"id":1,"result":{"stopReason":"end_turn"}}`
		stop   = `{"id":1,"result":{"stopReason":"cancelled"}}`
	)
	other := strings.ReplaceAll(text, `"M"`, `"N"`)
	for _, test := range []struct {
		name  string
		lines []string
		fault string // empty: there is none
	}{
		{"good", []string{text, text, call, work, fail, other, stop}, ""},
		{"good with a question", []string{call, permit, recall, fail, stop}, ""},
		{"late text", []string{text, stop, text}, "outside of a turn"},
		{"old message", []string{text, other, text, stop}, "old message"},
		{"tool from nowhere", []string{work, stop}, "known: false"},
		{"tool twice", []string{call, call, fail, stop}, "known: true"},
		{"tool after its end", []string{call, fail, work, stop}, "goes from failed"},
		{"tool backwards", []string{call, work, work, fail, stop}, "goes from in_progress"},
		{"tool left open", []string{call, stop}, "is pending at the end"},
		{"late question", []string{call, fail, permit, recall, stop}, `which is "failed"`},
		{"question left open", []string{call, permit, fail, stop}, "is open at the end"},
		{"recall of nothing", []string{recall, stop}, "which is not open"},
		{"two answers", []string{stop, stop}, "answered again"},
		{"no answer", []string{text}, "has no answer"},
		{"cancel ignored", []string{text, end}, "was cancelled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := newJudge()
			j.sent(1, "session/prompt", "s")
			j.cancelled("s")
			for _, line := range test.lines {
				j.heard(parse(t, line))
			}
			j.closed()
			got := strings.Join(j.faults, "; ")
			if (got == "") != (test.fault == "") || !strings.Contains(got, test.fault) {
				t.Errorf("faults are %q, want %q", got, test.fault)
			}
		})
	}
}
