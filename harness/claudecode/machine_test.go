package claudecode

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
	"agent-server/verify"
)

// TestRecordingsThroughTheMachine plays every recording through the session
// machine: what comes out must hold every law of a stream, and each turn must end
// as it did.
func TestRecordingsThroughTheMachine(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.run(readRecording(t, file))
			for _, v := range s.v.Finish() {
				t.Errorf("%v", v)
			}
			if id, open := s.m.Active(); open {
				t.Errorf("turn %s is still open", id)
			}
			got := strings.Join(s.ends, " ")
			if want, ok := recordedEnds[name]; !ok {
				t.Errorf("no end is written down; it is %q", got)
			} else if got != want {
				t.Errorf("turns ended %q, want %q", got, want)
			}
		})
	}
}

// stage is a session machine that a recording is played to.
type stage struct {
	t     *testing.T
	m     *session.Machine
	v     *verify.Verifier
	cfg   protocol.RunConfig
	turns int
	// steered counts the prompts that were put into a turn that ran.
	steered int
	gen     int
	// writes are recorded ids that wait for ours, by what is to be written: a
	// user line, or a control request of a subtype. renames maps those found.
	writes  map[string][]string
	renames []string
	// replies are lines that the recording lacks.
	replies []string
	// calls are tool calls by recorded request, requests by tool call.
	calls, requests map[string]string
	stderr          string
	ends            []string
}

func newStage(t *testing.T) *stage {
	return &stage{
		t:      t,
		m:      session.New(session.Options{SessionID: "session", Harness: New(Options{}), HashKey: []byte("key")}),
		v:      verify.New(verify.Options{}),
		cfg:    protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/workspace"},
		writes: map[string][]string{}, calls: map[string]string{}, requests: map[string]string{},
	}
}

func (s *stage) run(rows []row) {
	first := s.opening(rows)
	s.start(first)
	for _, r := range rows {
		for _, w := range r.inputs() {
			s.in(w, first)
		}
		switch r.Dir {
		case "out":
			s.out(r)
		case "err":
			var line string
			_ = json.Unmarshal(r.Raw, &line)
			s.stderr += line + r.Text + "\n"
		}
	}
	for gen := 1; gen <= s.gen; gen++ {
		s.step(session.Exited{Gen: gen, Status: harness.ExitStatus{Code: 1, Stderr: s.stderr}})
	}
}

// opening finds what the recording's process was started with: what it resumed,
// how its driver shook hands, and its first prompt.
func (s *stage) opening(rows []row) (first string) {
	prompted := false
	for _, r := range rows {
		var m struct{ Argv []string }
		_ = json.Unmarshal(r.Raw, &m)
		for i, arg := range m.Argv {
			if arg == "--resume" {
				s.cfg.ResumeSessionID = &m.Argv[i+1]
			}
		}
		for _, w := range r.inputs() {
			if w.Request.Subtype == "initialize" && !prompted {
				s.writes["initialize"] = []string{w.ID}
			}
			if w.Type == "user" && !prompted {
				first, prompted = w.UUID, true
			}
		}
	}
	return first
}

// in does what the recording's driver did, where a gateway would have.
func (s *stage) in(w written, first string) {
	switch {
	case w.Type == "user" && w.UUID != first:
		s.prompt(w)
	case w.Request.Subtype == "interrupt":
		s.interrupt(w)
	case w.Type == "control_response":
		s.answer(w)
	}
}

// start starts a turn for a prompt of the recording.
func (s *stage) start(uuid string) {
	s.turns++
	s.writes["user"] = []string{uuid}
	s.step(session.StartTurn{Token: 1, TurnID: s.turn(), Input: protocol.TextInput("hello"), Config: s.cfg})
}

func (s *stage) turn() string { return "turn-" + strconv.Itoa(s.turns) }

// prompt starts a turn. While one runs it is put into that, as its driver did.
func (s *stage) prompt(w written) {
	if _, active := s.m.Active(); !active {
		s.start(w.UUID)
		return
	}
	s.steered++
	s.writes["user"] = []string{w.UUID}
	s.step(session.StartTurn{Token: 4, TurnID: "steered-" + strconv.Itoa(s.steered), Input: protocol.TextInput("and that"),
		Config: s.cfg, IfBusy: protocol.BusySteer})
}

func (s *stage) interrupt(w written) {
	if _, active := s.m.Active(); active {
		s.writes["interrupt"] = []string{w.ID}
		s.v.Cancelled(s.turn())
		s.step(session.CancelTurn{Token: 2})
	}
}

// answer answers a permission request as the recording's driver did.
func (s *stage) answer(w written) {
	id, open := s.requests[s.calls[w.Response.ID]]
	if !open {
		return
	}
	o := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: "reject"}
	if r := w.Response.Response; r.Behavior == "allow" {
		o.OptionID, o.UpdatedInput = "allow", protocol.Object(r.Input)
		if r.Always != nil {
			o.OptionID = "allow_always"
		}
	}
	s.step(session.ResolvePermission{Token: 3, RequestID: id, Outcome: o})
}

func (s *stage) out(r row) {
	var w written
	_ = json.Unmarshal(r.Raw, &w)
	line := r.Text
	if r.Raw != nil {
		var b bytes.Buffer
		_ = json.Compact(&b, r.Raw)
		line = strings.NewReplacer(s.renames...).Replace(b.String())
	}
	if w.Request.Subtype == "can_use_tool" {
		s.calls[w.ID] = w.Request.ToolUseID
	}
	s.step(session.NativeLine{Gen: 1, Line: []byte(line)})
}

// step lets something happen, and what follows from it that the recording does
// not hold.
func (s *stage) step(in session.Input) {
	out := s.m.Step(1, in)
	for _, e := range out.Events {
		for _, v := range s.v.Add(protocol.Envelope{SessionID: "session", Seq: e.Seq, Event: e.Event}) {
			s.t.Errorf("%v", v)
		}
		switch e := e.Event.(type) {
		case *protocol.TurnEnded:
			end := string(e.StopReason)
			if e.Error != nil {
				end += ":" + string(e.Error.Category)
			}
			s.ends = append(s.ends, end)
		case *protocol.PermissionRequested:
			s.requests[*e.ToolCall.ToolCallID] = e.RequestID
		}
	}
	if out.Spawn != nil {
		s.gen = out.Spawn.Gen
	}
	s.read(out.Stdin)
	for len(s.replies) > 0 {
		line := s.replies[0]
		s.replies = s.replies[1:]
		s.step(session.NativeLine{Gen: s.gen, Line: []byte(line)})
	}
}

// read takes what is written to the CLI: ids of ours for those of the recording,
// or, where the recording has no such request, an answer to it.
func (s *stage) read(stdin []byte) {
	for line := range bytes.Lines(stdin) {
		var w written
		if err := json.Unmarshal(line, &w); err != nil {
			s.t.Errorf("written %q: %v", line, err)
		}
		kind, id := w.Type, w.UUID
		if w.Type == "control_request" {
			kind, id = w.Request.Subtype, w.ID
		}
		switch waiting := s.writes[kind]; {
		case len(waiting) > 0 && s.gen == 1:
			delete(s.writes, kind)
			if waiting[0] != "" {
				s.renames = append(s.renames, waiting[0], id)
			}
		case w.Type == "control_request" && s.gen == 1:
			s.replies = append(s.replies, `{"type":"control_response","response":{"subtype":"success","request_id":"`+id+`"}}`)
		}
	}
}
