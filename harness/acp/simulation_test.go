package acp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
)

// Law 69: an agent and a user do what comes into their heads, in whatever order;
// the test lets them, and holds the translator to what must always be so:
//
//   - each prompt that was answered ends in one Finished, and nothing else does but a
//     turn of the agent's own;
//   - each request of the agent's is answered once, at the latest with its turn;
//   - text only grows in a part that is open, and all that was said is shown;
//   - a tool's state never moves back, and none is open when its turn ends;
//   - after a cancel nothing is asked.
func TestLaw69_anyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		s := newSimulation(t, seed)
		for range 120 {
			s.move()
		}
		s.endTurn()
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, s.moves)
		}
	}
}

type simulation struct {
	*fake
	rng   *rand.Rand
	moves []string
	// seen counts the updates judged so far; answers, the lines.
	seen, answers int
	// turns counts prompts answered; ends, turns that were told to have ended.
	turns, ends int
	cancelled   bool
	// own is true while a turn of the agent's own is open; fenced, while what may be
	// the tail of a cancelled turn is kept out; ids are those said in the last turn.
	own, fenced bool
	ids         []string
	// left are the tools whose end was only assumed.
	left   map[string]bool
	nextID int
	// requests count the answers to each request of the agent's.
	requests map[string]int
	// asked are the requests that were shown and not resolved.
	asked []string
	// open are parts that stream; states are those of the turn's tools.
	open        map[string]bool
	states      map[string]int
	said, heard strings.Builder
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	return &simulation{
		fake: running(t, nil), rng: rand.New(rand.NewPCG(seed, 7)),
		requests: map[string]int{}, open: map[string]bool{}, states: map[string]int{}, left: map[string]bool{},
	}
}

// pick is one of some words.
func (s *simulation) pick(words ...string) string { return words[s.rng.IntN(len(words))] }

// move is one move of the agent's or of the user's.
func (s *simulation) move() {
	moves := []func(){s.speak, s.speak, s.speak, s.tool, s.tool, s.request, s.resolve, s.withdraw, s.noise}
	switch n := s.rng.IntN(24); {
	case !s.runs() && n < 2:
		moves = []func(){s.beginTurn}
	case !s.runs() && n < 4:
		moves = []func(){s.fallSilent, s.cancelTurn}
	case n < 2:
		moves = []func(){s.cancelTurn, s.endTurn}
	}
	moves[s.rng.IntN(len(moves))]()
	s.judge()
}

func (s *simulation) runs() bool { return s.fake.open["session/prompt"] != "" }

func (s *simulation) did(format string, args ...any) {
	s.moves = append(s.moves, fmt.Sprintf(format, args...))
}

// speak says something, sometimes half a character at a time.
func (s *simulation) speak() {
	kind := s.pick("agent_message_chunk", "agent_message_chunk", "agent_thought_chunk")
	literal := s.pick(`"word "`, `"two words "`, `""`, `"é"`, `"\u00e9"`, `"😀"`)
	id := s.pick("", "", `"messageId":"m-1",`, `"messageId":"m-2",`)
	s.did("%s %s %s", kind, id, literal)
	if s.heardOf(strings.TrimSuffix(strings.TrimPrefix(id, `"messageId":"`), `",`), literal) {
		s.heard.WriteString(protocol.Unquote([]byte(literal)))
	}
	s.update(`{"sessionUpdate":"` + kind + `",` + id + `"content":{"type":"text","text":` + literal + `}}`)
}

// heardOf says whether what is said is to be shown.
func (s *simulation) heardOf(id, literal string) bool {
	switch {
	case literal == `""`:
		return false
	case s.runs() || s.own:
	case s.fenced && (id == "" || slices.Contains(s.ids, id)):
		return false
	default:
		s.own, s.fenced, s.ids = true, false, nil
	}
	if id != "" {
		s.ids = append(s.ids, id)
	}
	return true
}

func (s *simulation) tool() {
	id, status := s.pick("a", "b", "c", "d"), s.pick("", "pending", "in_progress", "completed", "failed", "odd")
	s.did("tool %s %s", id, status)
	s.update(fmt.Sprintf(`{"sessionUpdate":"%s","toolCallId":"%s","status":"%s","rawInput":{"n":%d}}`,
		s.pick("tool_call", "tool_call_update"), id, status, s.rng.IntN(3)))
}

func (s *simulation) request() {
	id := fmt.Sprint(s.nextID)
	s.nextID++
	s.did("ask %s", id)
	s.requests[id] = 0
	s.line(asks(id, `{"toolCallId":"`+s.pick("a", "b", "e")+`"}`, offered))
}

func (s *simulation) resolve() {
	if len(s.asked) == 0 {
		return
	}
	id := s.asked[0]
	s.asked = s.asked[1:]
	s.did("resolve %s", id)
	s.step(harness.Resolve{Request: id, Verdict: harness.Verdict{
		Decision: harness.Decision(s.rng.IntN(4)), OptionID: s.pick("once", "no", "disk", "", "odd"),
	}})
}

func (s *simulation) withdraw() {
	if len(s.asked) == 0 || s.rng.IntN(3) > 0 {
		return
	}
	s.did("withdraw %s", s.asked[0])
	s.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + s.asked[0] + `}}`)
}

func (s *simulation) noise() {
	line := s.pick("banner", "", "{}", `{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","method":"_x"}`, "\x1b[0m")
	s.did("noise %q", line)
	s.line(line)
}

// cancelTurn cancels as the session machine does: at most once a turn.
func (s *simulation) cancelTurn() {
	if s.cancelled || !s.runs() && !s.own {
		return
	}
	s.did("cancel")
	s.cancelled, s.asked = true, nil
	s.step(harness.Cancel{})
}

// endTurn answers the prompt, and begins the next if there is none.
func (s *simulation) endTurn() {
	if !s.runs() {
		s.beginTurn()
	}
	answer := s.pick(`"result":{"stopReason":"end_turn"}`, `"result":{"stopReason":"cancelled"}`, `"error":{"code":-32603,"message":"x"}`)
	s.did("end %s", answer)
	s.turns++
	s.answer("session/prompt", answer)
	s.judge()
	s.wantAnswered()
	s.over()
}

// over is the end of a turn; the last Finished says how it went.
func (s *simulation) over() {
	for _, u := range slices.Backward(s.updates) {
		if end, is := u.(harness.Finished); is {
			s.fenced = end.Reason == protocol.StopCancelled
			break
		}
	}
	s.own, s.cancelled, s.asked, s.states = false, false, nil, map[string]int{}
}

func (s *simulation) wantAnswered() {
	for id, n := range s.requests {
		if n != 1 {
			s.t.Errorf("request %s has %d answers at the turn's end", id, n)
		}
	}
}

// beginTurn begins a turn; the machine has ended one of the agent's own.
func (s *simulation) beginTurn() {
	s.did("begin")
	for call, r := range s.states { // what a turn that gave way leaves open, its end finds
		s.left[call] = s.left[call] || r < rank(protocol.ToolFailed)
	}
	s.own, s.fenced, s.ids, s.cancelled, s.asked = false, false, nil, false, nil
	s.open, s.states = map[string]bool{}, map[string]int{}
	s.begin(config())
	s.judge()
	s.wantAnswered()
}

// fallSilent lets a turn of the agent's own come to its end.
func (s *simulation) fallSilent() {
	s.did("silence")
	before := len(s.updates)
	s.step(harness.Expired{Timer: quietTimer})
	if _, ended := first[harness.Finished](s.updates[before:]); ended {
		s.turns++
		s.judge()
		s.wantAnswered()
		s.over()
	}
}

// judge looks at what came since the last time.
func (s *simulation) judge() {
	for ; s.seen < len(s.updates); s.seen++ {
		s.judgeUpdate(s.updates[s.seen])
	}
	for ; s.answers < len(s.written); s.answers++ {
		m, err := rpcline.Parse([]byte(s.written[s.answers]))
		if err == nil && m.Kind == rpcline.Answer {
			s.requests[string(m.ID)]++
		}
	}
	if s.ends != s.turns {
		s.t.Errorf("%d turns ended of %d answered", s.ends, s.turns)
	}
	if said, heard := s.said.String(), s.heard.String(); said != heard {
		s.t.Errorf("shown %q of %q", said, heard)
	}
}

func (s *simulation) judgeUpdate(u harness.Update) {
	switch u := u.(type) {
	case harness.MessageOpened:
		if len(s.open) > 0 {
			s.t.Errorf("a message opens over %v", s.open)
		}
	case harness.PartOpened:
		s.open[u.Part] = true
	case harness.PartSet:
		delete(s.open, u.Part)
	case harness.TextAppended:
		s.said.WriteString(u.Text)
		if !s.open[u.Part] {
			s.t.Errorf("text for %s, which is not open", u.Part)
		}
	case harness.ToolSet:
		s.judgeTool(u)
	case harness.Asked:
		s.asked = append(s.asked, u.Request)
		if s.cancelled {
			s.t.Errorf("%s is asked after a cancel", u.Request)
		}
	case harness.Withdrawn:
		s.asked = s.asked[1:]
	case harness.Woken:
		if !s.own { // by a call, not by text
			s.own, s.fenced, s.ids = true, false, nil
		}
	case harness.Finished:
		s.ends++
		s.judgeEnd()
	case harness.Rejected:
		s.t.Errorf("rejected: %v", u.Error)
	}
}

func (s *simulation) judgeTool(u harness.ToolSet) {
	if u.State == nil {
		return
	}
	now := rank(u.State.Status())
	if s.left[u.Call] && !u.Assumed {
		if delete(s.left, u.Call); now != rank(protocol.ToolFailed) {
			s.t.Errorf("tool %s goes on behind its turn as %s", u.Call, u.State.Status())
		}
		return
	}
	if u.Assumed {
		s.left[u.Call] = true
	}
	if now < s.states[u.Call] {
		s.t.Errorf("tool %s moves back to %s", u.Call, u.State.Status())
	}
	s.states[u.Call] = now
}

func (s *simulation) judgeEnd() {
	if len(s.open) > 0 {
		s.t.Errorf("the turn ends over %v", s.open)
	}
	for call, r := range s.states {
		if r != rank(protocol.ToolFailed) {
			s.t.Errorf("tool %s is open at the turn's end", call)
		}
	}
}
