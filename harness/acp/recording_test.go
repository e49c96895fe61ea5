package acp

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
	sessions "agent-server/session"
	"agent-server/verify"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// TestRecordingsThroughTheMachine plays every recording of a real agent through the
// translator of that agent and the session machine: what comes out must hold every law
// of a stream, and no turn stays open.
func TestRecordingsThroughTheMachine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		if strings.HasPrefix(name, "pi-") {
			continue // another protocol
		}
		played++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTheatre(t, name)
			s.run(file)
			s.finish()
		})
	}
	if played == 0 {
		t.Skip("no recordings here")
	}
}

// theatre is the session machine that a recording's first session is played to.
type theatre struct {
	t   *testing.T
	m   *sessions.Machine
	v   *verify.Verifier
	cfg protocol.RunConfig
	gen int
	// native is the recorded session that is played; the first one prompted.
	native string
	// asked are the recorded client's requests by id; open, ours without an answer.
	asked map[string]rpcline.Message
	open  map[string]string
	// held are the answers of the recorded handshake, by method.
	held map[string]string
	// requests are the machine's requests, by recorded id; asking is the recorded id
	// of the request being given.
	requests map[string]string
	asking   string
	// now is the clock; due, when the grace of a turn ends, 0 while none runs.
	now, due int64
	turns    int
	started  int
	ended    int
	own      int
}

func newTheatre(t *testing.T, name string) *theatre {
	id := map[string]protocol.HarnessID{
		"claude": "claude-agent-acp", "codex": "codex-acp", "copilot": "copilot", "gemini": "gemini", "opencode": "opencode", "qwen": "qwen",
	}[strings.SplitN(name, "-", 2)[0]]
	if id == "" {
		id = "agent"
	}
	return &theatre{
		t: t, v: verify.New(verify.Options{}), cfg: protocol.RunConfig{Harness: id, Cwd: "/workspace"},
		m:   sessions.New(sessions.Options{SessionID: "session", Harness: New(Agent{ID: id}), HashKey: []byte("key")}),
		now: 1, asked: map[string]rpcline.Message{}, open: map[string]string{}, held: map[string]string{}, requests: map[string]string{},
	}
}

func (s *theatre) run(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		var x struct {
			Dir string `json:"dir"`
			Raw string `json:"raw"`
		}
		if json.Unmarshal([]byte(row), &x) != nil {
			continue // a row cut short
		}
		m, err := rpcline.Parse([]byte(x.Raw))
		switch {
		case err != nil:
		case x.Dir == "in":
			s.client(m)
		case x.Dir == "out":
			s.agent(m, x.Raw)
		}
	}
}

func sessionOf(raw jsontext.Value) string {
	return string(read[struct {
		ID text `json:"sessionId"`
	}](raw).ID)
}

// client makes the move of the recorded client, where a gateway would have.
func (s *theatre) client(m rpcline.Message) {
	if m.Kind == rpcline.Request {
		s.asked[string(m.ID)] = m
	}
	if at := s.due; at > 0 { // by the time that the client moves, the grace is over
		s.now, s.due = max(s.now, at), 0
		s.step(sessions.Deadline{Timer: sessions.TimerID{Gen: s.gen, Name: graceTimer}})
	}
	active, busy := s.m.Active()
	switch ours := sessionOf(m.Params) == s.native; {
	case m.Method == "initialize" && s.gen > 0:
		s.step(sessions.Exited{Gen: s.gen, Status: harness.ExitStatus{Code: 1}})
		s.open = map[string]string{}
	case m.Method == "session/prompt" && !busy && (s.native == "" || ours):
		s.native = sessionOf(m.Params)
		s.start()
	case m.Method == "session/cancel" && busy && ours:
		s.v.Cancelled(active)
		s.step(sessions.CancelTurn{Token: 2})
	case m.Kind == rpcline.Answer:
		s.resolve(m)
	}
}

func (s *theatre) start() {
	s.turns++
	s.step(sessions.StartTurn{
		Token: 1, TurnID: "turn-" + strconv.Itoa(s.turns), Input: protocol.TextInput("hello"), Config: s.cfg,
	})
}

// resolve answers a permission request as the recorded client did.
func (s *theatre) resolve(m rpcline.Message) {
	id := s.requests[string(m.ID)]
	if id == "" {
		return
	}
	delete(s.requests, string(m.ID))
	o := read[struct {
		Outcome struct {
			Outcome  text `json:"outcome"`
			OptionID text `json:"optionId"`
		} `json:"outcome"`
	}](m.Result).Outcome
	out := protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}
	if o.Outcome == "selected" {
		out = protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: string(o.OptionID)}
	}
	s.step(sessions.ResolvePermission{Token: 3, RequestID: id, Outcome: out})
}

// agent gives a line of the agent's, our ids in place of the recorded ones.
func (s *theatre) agent(m rpcline.Message, raw string) {
	if m.Kind != rpcline.Answer {
		if s.gen > 0 {
			s.asking = string(m.ID)
			s.line(raw)
			s.asking = ""
		}
		return
	}
	method := s.asked[string(m.ID)].Method
	delete(s.asked, string(m.ID))
	switch method {
	case "initialize", "authenticate", "session/new", "session/load", "session/resume":
		s.held[method] = answerOf(m)
		s.serve()
	case "session/prompt":
		s.give(method, answerOf(m))
	}
}

// give answers a request of ours, if it is open.
func (s *theatre) give(method, answer string) {
	if id := s.open[method]; id != "" {
		delete(s.open, method)
		s.line(`{"jsonrpc":"2.0","id":` + id + `,` + answer + `}`)
	}
}

// serve answers what the recording's handshake has answers for, and settings, which
// it has not.
func (s *theatre) serve() {
	for again := true; again; {
		again = false
		for method, answer := range s.held {
			if s.open[method] != "" {
				s.give(method, answer)
				again = true
			}
		}
		for _, method := range []string{"session/set_mode", "session/set_config_option", "session/set_model"} {
			if s.open[method] != "" {
				s.give(method, `"result":{}`)
				again = true
			}
		}
	}
}

func (s *theatre) line(line string) { s.step(sessions.NativeLine{Gen: s.gen, Line: []byte(line)}) }

func (s *theatre) step(in sessions.Input) {
	out := s.m.Step(s.now, in)
	for _, timer := range out.Timers {
		if timer.ID.Name == graceTimer {
			s.due = timer.At
		}
	}
	for _, e := range out.Events {
		for _, v := range s.v.Add(protocol.Envelope{SessionID: "session", Seq: e.Seq, Event: e.Event}) {
			s.t.Errorf("%v", v)
		}
		s.event(e.Event)
	}
	if out.Spawn != nil {
		s.gen = out.Spawn.Gen
		s.open = map[string]string{}
	}
	for line := range strings.Lines(string(out.Stdin)) {
		m, err := rpcline.Parse([]byte(line))
		if err != nil {
			s.t.Errorf("wrote %q", line)
		}
		if m.Kind == rpcline.Request {
			s.open[m.Method] = string(m.ID)
		}
	}
	s.serve()
}

func (s *theatre) event(e protocol.Event) {
	switch e := e.(type) {
	case *protocol.TurnStarted:
		s.started++
		if len(e.Meta) > 0 {
			s.own++
		}
	case *protocol.TurnEnded:
		s.ended++
	case *protocol.PermissionRequested:
		if s.asking != "" {
			s.requests[s.asking] = e.RequestID
		}
	}
}

// finish ends the process, and looks at what is left.
func (s *theatre) finish() {
	if s.gen > 0 {
		s.step(sessions.Exited{Gen: s.gen, Status: harness.ExitStatus{Code: 1}})
	}
	for _, v := range s.v.Finish() {
		s.t.Errorf("%v", v)
	}
	if id, open := s.m.Active(); open || s.started != s.ended {
		s.t.Errorf("turn %s is open: %d started, %d ended", id, s.started, s.ended)
	}
	if s.started < s.turns {
		s.t.Errorf("%d of %d turns began", s.started, s.turns)
	}
	s.t.Logf("%d turns", s.started)
	if s.own > 0 {
		s.t.Errorf("%d turns that nobody asked for", s.own)
	}
}
