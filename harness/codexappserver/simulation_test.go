package codexappserver

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
	"agent-server/session"
	"agent-server/verify"

	"github.com/google/go-cmp/cmp"
)

// Law 178: Codex and a user do what comes into their heads, in whatever order; the
// test lets them, through the session machine, and holds both to what must always
// be so: no law of the stream is broken, every request of Codex's has one answer at
// most, a turn that was begun ends once, and the same moves give the same bytes.
func TestLaw178_anyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		first, second := simulate(t, seed), simulate(t, seed)
		if diff := cmp.Diff(first.stdin, second.stdin); diff != "" {
			t.Errorf("seed %d: two runs write differently:\n%s", seed, diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(first.moves, "\n"))
		}
	}
}

// simulation is a session machine around a translator that two fools play with.
type simulation struct {
	t     *testing.T
	rng   *rand.Rand
	m     *session.Machine
	v     *verify.Verifier
	moves []string
	stdin string
	gen   int
	// turns counts turns begun, ends those that ended; native is the native turn.
	turns, ends, native int
	// requests counts the answers to each of Codex's requests; open are the
	// machine's requests.
	requests map[string]int
	nextID   int
	open     []string
	// waiting are our requests without an answer.
	waiting []rpcline.Message
}

func simulate(t *testing.T, seed uint64) *simulation {
	s := &simulation{
		t: t, rng: rand.New(rand.NewPCG(seed, 3)), requests: map[string]int{}, v: verify.New(verify.Options{}),
		m: session.New(session.Options{SessionID: "session", Harness: New(Options{}), HashKey: []byte("key")}),
	}
	for range 120 {
		s.move()
	}
	s.did("exit")
	s.step(session.Exited{Gen: s.gen, Status: harness.ExitStatus{Code: 1}})
	for _, v := range s.v.Finish() {
		t.Errorf("%v", v)
	}
	if s.ends < s.turns {
		t.Errorf("%d turns begun, %d ended", s.turns, s.ends)
	}
	for id, n := range s.requests {
		if n > 1 {
			t.Errorf("request %s has %d answers", id, n)
		}
	}
	return s
}

func (s *simulation) pick(words ...string) string { return words[s.rng.IntN(len(words))] }

func (s *simulation) did(format string, args ...any) {
	s.moves = append(s.moves, fmt.Sprintf(format, args...))
}

func (s *simulation) move() {
	moves := []func(){s.start, s.reply, s.reply, s.item, s.item, s.item, s.delta, s.delta, s.ask, s.resolve, s.other}
	if s.rng.IntN(10) == 0 {
		moves = []func(){s.cancel, s.end, s.end, s.lose}
	}
	moves[s.rng.IntN(len(moves))]()
}

func (s *simulation) start() {
	if _, active := s.m.Active(); active {
		return
	}
	s.turns++
	s.did("start %d", s.turns)
	s.step(session.StartTurn{Token: 1, TurnID: fmt.Sprintf("turn-%d", s.turns), Input: protocol.TextInput("hi"), Config: config()})
}

// reply answers one of our requests, the oldest or not.
func (s *simulation) reply() {
	if len(s.waiting) == 0 {
		return
	}
	i := s.rng.IntN(len(s.waiting))
	m := s.waiting[i]
	s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
	result := `"result":{}`
	switch {
	case m.Method == "thread/start" || m.Method == "thread/resume":
		result = `"result":{"thread":{"id":"main"},"model":"m"}`
	case m.Method == "turn/start" && s.rng.IntN(8) > 0:
		s.native++
		result = fmt.Sprintf(`"result":{"turn":{"id":"n%d"}}`, s.native)
	case m.Method == "turn/start":
		result = `"error":{"code":-32600,"message":"no"}`
	case m.Method == "thread/backgroundTerminals/list":
		result = `"result":{"data":[{"itemId":"` + s.pick("a", "b", "c") + `","processId":"1"}]}`
	}
	s.did("%s %s", m.Method, result)
	s.line(`{"id":` + string(m.ID) + `,` + result + `}`)
}

// ids are the thread and the turn of a notification, mostly the right ones.
func (s *simulation) ids() string {
	thread := s.pick("main", "main", "main", "main", "sub", "other")
	turn := fmt.Sprintf("n%d", s.native)
	if s.rng.IntN(10) == 0 {
		turn = "n0"
	}
	return fmt.Sprintf(`"threadId":%q,"turnId":%q`, thread, turn)
}

func (s *simulation) notify(method, members string) {
	line := fmt.Sprintf(`{"method":%q,"params":{%s,%s}}`, method, s.ids(), members)
	s.did("%s", line)
	s.line(line)
}

func (s *simulation) item() {
	members := s.pick(
		`"type":"agentMessage","text":"whole"`, `"type":"agentMessage","text":""`, `"type":"reasoning","summary":["x"]`, `"type":"reasoning","summary":[]`,
		`"type":"commandExecution","command":"x","status":"`+s.pick("completed", "failed", "declined")+`","aggregatedOutput":"o"`,
		`"type":"fileChange","changes":[{"path":"/a","kind":{"type":"add"},"diff":"x"}]`, `"type":"mcpToolCall","server":"s","tool":"t","arguments":{}`,
		`"type":"collabAgentToolCall","tool":"spawnAgent","prompt":"p","receiverThreadIds":["sub"]`, `"type":"contextCompaction"`,
		`"type":"userMessage","content":[{"type":"text","text":"u"}]`, `"type":"odd"`, `"type":"plan","text":"p"`,
	)
	s.notify(s.pick("item/started", "item/completed"), `"item":{"id":"`+s.pick("a", "b", "c", "d")+`",`+members+`}`)
}

func (s *simulation) delta() {
	method := s.pick("item/agentMessage/delta", "item/reasoning/summaryTextDelta", "item/reasoning/textDelta", "item/commandExecution/outputDelta", "item/plan/delta")
	s.notify(method, `"itemId":"`+s.pick("a", "b", "c", "d")+`","delta":"`+s.pick("x", "yy", "")+`"`)
}

func (s *simulation) ask() {
	id := fmt.Sprint(s.nextID)
	s.nextID++
	s.requests[id] = 0
	method := s.pick("item/commandExecution/requestApproval", "item/fileChange/requestApproval", "mcpServer/elicitation/request", "item/tool/call")
	line := fmt.Sprintf(`{"method":%q,"id":%s,"params":{%s,"itemId":%q,"command":"x"}}`, method, id, s.ids(), s.pick("a", "b", "e"))
	s.did("%s", line)
	s.line(line)
}

func (s *simulation) resolve() {
	if len(s.open) == 0 {
		return
	}
	id := s.open[0]
	s.open = s.open[1:]
	s.did("resolve")
	s.step(session.ResolvePermission{Token: 3, RequestID: id, Outcome: protocol.PermissionOutcome{
		Outcome: protocol.OutcomeSelected, OptionID: s.pick("allow", "allow_always", "reject", "odd"),
	}})
}

func (s *simulation) other() {
	switch s.rng.IntN(7) {
	case 0:
		s.notify("thread/tokenUsage/updated", usageOf(100*s.rng.IntN(9), 0, 10, 100, 10))
	case 1:
		s.notify("error", `"error":{"message":"m","codexErrorInfo":"other"},"willRetry":`+s.pick("true", "false"))
	case 2:
		s.notify("thread/status/changed", `"status":{"type":"`+s.pick("idle", "active")+`","activeFlags":["waitingOnApproval"]}`)
	case 3:
		s.notify("serverRequest/resolved", fmt.Sprintf(`"requestId":%d`, s.rng.IntN(max(1, s.nextID))))
	case 4:
		s.notify("turn/plan/updated", `"plan":[{"step":"s","status":"pending"}]`)
	case 5:
		s.notify("turn/started", fmt.Sprintf(`"turn":{"id":"n%d"}`, s.native))
	case 6:
		s.did("noise")
		s.line(s.pick("banner", "{}", `{"id":77,"result":{}}`, "\x1b[0m", `{"method":5}`, "null"))
	}
}

func (s *simulation) cancel() {
	if _, active := s.m.Active(); !active {
		return
	}
	s.did("cancel")
	s.v.Cancelled(s.activeTurn())
	s.step(session.CancelTurn{Token: 2})
}

func (s *simulation) activeTurn() string {
	id, _ := s.m.Active()
	return id
}

func (s *simulation) end() {
	s.notify("turn/completed", fmt.Sprintf(`"turn":{"id":"n%d","status":%q}`, s.native, s.pick("completed", "interrupted", "failed")))
}

// lose loses a line.
func (s *simulation) lose() {
	s.did("lose")
	s.step(session.LineDropped{Gen: s.gen, Bytes: 5})
}

func (s *simulation) line(line string) { s.step(session.NativeLine{Gen: s.gen, Line: []byte(line)}) }

func (s *simulation) step(in session.Input) {
	out := s.m.Step(1, in)
	for _, e := range out.Events {
		for _, v := range s.v.Add(protocol.Envelope{SessionID: "session", Seq: e.Seq, Event: e.Event}) {
			s.t.Errorf("%v", v)
		}
		switch e := e.Event.(type) {
		case *protocol.TurnEnded:
			s.ends++
			s.open = nil
		case *protocol.PermissionRequested:
			s.open = append(s.open, e.RequestID)
		}
	}
	if out.Spawn != nil {
		s.gen, s.waiting = out.Spawn.Gen, nil
	}
	s.stdin += string(out.Stdin)
	for line := range strings.Lines(string(out.Stdin)) {
		m, err := rpcline.Parse([]byte(line))
		switch {
		case err != nil:
			s.t.Errorf("wrote %q", line)
		case m.Kind == rpcline.Request:
			s.waiting = append(s.waiting, m)
		case m.Kind == rpcline.Answer:
			s.requests[string(m.ID)]++
		}
	}
}
