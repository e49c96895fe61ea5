package codexappserver

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
	"agent-server/session"
	"agent-server/verify"

	"github.com/go-json-experiment/json/jsontext"
)

// recordings of the real Codex lie beside the module where somebody has them; they
// are not part of it.
const recordings = "../../../shared/transcripts/codex"

// TestRecordingsThroughTheMachine plays every recording through the translator and
// the session machine: what comes out must hold every law of a stream, and each
// turn must end as it did.
func TestRecordingsThroughTheMachine(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		if strings.Contains(name, "_exec_json_") {
			continue // the other way to drive Codex
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTheatre(t)
			s.run(readRecording(t, file))
			for _, v := range s.v.Finish() {
				t.Errorf("%v", v)
			}
			s.wantAllShown()
			got := strings.Join(s.ends, " ")
			if want, ok := recordedEnds[name]; !ok || got != want {
				t.Errorf("turns ended\n\t%q: %q,\nwant %q", name, got, want)
			}
		})
	}
}

// row is one line of a recording.
type row struct {
	Dir string `json:"dir"`
	Raw string `json:"raw"`
}

func readRecording(t *testing.T, file string) []row {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// theatre is a session machine that a recording is played to.
type theatre struct {
	t     *testing.T
	m     *session.Machine
	v     *verify.Verifier
	cfg   protocol.RunConfig
	turns int
	gen   int
	// methods are the recorded requests by id; open are ours without an answer, by
	// method, in order.
	methods map[string]string
	open    map[string][]string
	// requests are the machine's requests by recorded id; asking is the recorded
	// id of the request being given.
	requests map[string]string
	asking   string
	// thread is the recorded thread that we drive.
	thread string
	ends   []string
	events []protocol.Event
	// heard is what Codex said whole while a turn of ours was open.
	heard   []string
	replies []string
}

func newTheatre(t *testing.T) *theatre {
	return &theatre{
		t:       t,
		m:       session.New(session.Options{SessionID: "session", Harness: New(Options{}), HashKey: []byte("key")}),
		v:       verify.New(verify.Options{}),
		cfg:     protocol.RunConfig{Harness: protocol.HarnessCodexAppServer, Cwd: "/workspace"},
		methods: map[string]string{}, open: map[string][]string{}, requests: map[string]string{},
	}
}

func (s *theatre) run(rows []row) {
	s.opening(rows)
	s.start()
	first := true
	for _, r := range rows {
		m, err := rpcline.Parse([]byte(r.Raw))
		switch {
		case r.Dir == "in" && err == nil:
			if m.Kind == rpcline.Request && (s.isOurs(m) || !strings.HasPrefix(m.Method, "turn/")) {
				s.methods[string(m.ID)] = m.Method
			}
			if m.Method == "turn/start" && first && s.isOurs(m) {
				first = false
				continue
			}
			s.client(m)
		case r.Dir == "out":
			s.codex(m, r.Raw)
		}
	}
	for gen := 1; gen <= s.gen; gen++ {
		s.step(session.Exited{Gen: gen, Status: harness.ExitStatus{Code: 1}})
	}
}

// opening finds what the recorded client opened: the first thread is ours.
func (s *theatre) opening(rows []row) {
	for _, r := range rows {
		m, err := rpcline.Parse([]byte(r.Raw))
		if r.Dir != "in" || err != nil {
			continue
		}
		if m.Method == "thread/start" {
			return
		}
		if m.Method == "thread/resume" {
			s.thread = threadOf(m.Params)
			s.cfg.ResumeSessionID = &s.thread
			return
		}
	}
}

func threadOf(raw jsontext.Value) string {
	return string(rpcline.Read[params](raw).ThreadID)
}

// isOurs says whether a message is of the thread that we drive.
func (s *theatre) isOurs(m rpcline.Message) bool {
	return s.thread == "" || threadOf(m.Params) == s.thread
}

func (s *theatre) turn() string { return "turn-" + strconv.Itoa(s.turns) }

func (s *theatre) start() {
	s.turns++
	s.step(session.StartTurn{Token: 1, TurnID: s.turn(), Input: protocol.TextInput("hello"), Config: s.cfg})
}

// client does what the recorded client did, where a gateway would have.
func (s *theatre) client(m rpcline.Message) {
	_, active := s.m.Active()
	switch {
	case m.Kind == rpcline.Answer:
		s.resolve(m)
	case !s.isOurs(m):
	case m.Method == "turn/start" && !active && s.gen == 1:
		s.start()
	case m.Method == "turn/interrupt" && active:
		s.v.Cancelled(s.turn())
		s.step(session.CancelTurn{Token: 2})
	}
}

// resolve answers a permission request as the recorded client did.
func (s *theatre) resolve(m rpcline.Message) {
	id := s.requests[string(m.ID)]
	if id == "" {
		return
	}
	delete(s.requests, string(m.ID))
	option := "reject"
	switch text := string(m.Result); {
	case strings.Contains(text, "acceptForSession"), strings.Contains(text, `"persist"`):
		option = "allow_always"
	case strings.Contains(text, `"accept`), strings.Contains(text, `"enabled"`):
		option = "allow"
	}
	s.step(session.ResolvePermission{Token: 3, RequestID: id, Outcome: protocol.PermissionOutcome{
		Outcome: protocol.OutcomeSelected, OptionID: option,
	}})
}

// codex gives a line of Codex's, our id in place of the recorded one. An answer to
// what we did not ask is left out.
func (s *theatre) codex(m rpcline.Message, raw string) {
	if m.Kind != rpcline.Answer {
		if m.Kind == rpcline.Request {
			s.asking = string(m.ID)
		}
		s.hear(m)
		s.line(raw)
		s.asking = ""
		return
	}
	method := s.methods[string(m.ID)]
	waiting := s.open[method]
	if len(waiting) == 0 || len(m.ID) == 0 {
		return
	}
	if s.thread == "" && method == "thread/start" {
		s.thread = string(rpcline.Read[threadAnswer](m.Result).Thread.ID)
	}
	s.open[method] = waiting[1:]
	answer := `"result":` + string(m.Result)
	if m.Error != nil {
		answer = `"error":` + string(protocol.Encode(m.Error))
	}
	s.line(`{"id":` + waiting[0] + `,` + answer + `}`)
}

func (s *theatre) line(line string) { s.step(session.NativeLine{Gen: s.gen, Line: []byte(line)}) }

// step lets something happen, and what follows from it that the recording does not
// hold.
func (s *theatre) step(in session.Input) {
	out := s.m.Step(1, in)
	for _, e := range out.Events {
		s.events = append(s.events, e.Event)
		for _, v := range s.v.Add(protocol.Envelope{SessionID: "session", Seq: e.Seq, Event: e.Event}) {
			s.t.Errorf("%v", v)
		}
		s.event(e.Event)
	}
	if out.Spawn != nil {
		s.gen = out.Spawn.Gen
	}
	s.read(string(out.Stdin))
	for len(s.replies) > 0 {
		line := s.replies[0]
		s.replies = s.replies[1:]
		s.line(line)
	}
}

func (s *theatre) event(e protocol.Event) {
	switch e := e.(type) {
	case *protocol.TurnEnded:
		end := string(e.StopReason)
		if e.Error != nil {
			end += ":" + string(e.Error.Category)
		}
		s.ends = append(s.ends, end)
	case *protocol.PermissionRequested:
		if s.asking != "" {
			s.requests[s.asking] = e.RequestID
		}
	}
}

// read takes what is written to Codex. What no recording has asked is answered at
// once.
func (s *theatre) read(stdin string) {
	for line := range strings.Lines(stdin) {
		m, err := rpcline.Parse([]byte(line))
		if err != nil || strings.Contains(line, "jsonrpc") {
			s.t.Errorf("written %q: %v", line, err)
		}
		if m.Kind != rpcline.Request {
			continue
		}
		if strings.HasPrefix(m.Method, "thread/backgroundTerminals/") {
			s.replies = append(s.replies, `{"id":`+string(m.ID)+`,"result":{"data":[]}}`)
			continue
		}
		s.open[m.Method] = append(s.open[m.Method], string(m.ID))
	}
}

// hear notes a message or a command's output that is whole.
func (s *theatre) hear(m rpcline.Message) {
	p := rpcline.Read[params](m.Params)
	f := readFields(p.Item)
	if _, active := s.m.Active(); !active || m.Method != "item/completed" || string(p.ThreadID) != s.thread {
		return
	}
	switch f.Type {
	case "agentMessage":
		s.heard = append(s.heard, string(f.Text))
	case "commandExecution":
		s.heard = append(s.heard, string(f.Output))
	}
}

// wantAllShown wants all that was heard in what was shown: in the last state of
// some part.
func (s *theatre) wantAllShown() {
	last := map[string]string{}
	for _, e := range s.events {
		m, ok := e.(*protocol.MessagePart)
		if !ok {
			continue
		}
		switch p := m.Part.(type) {
		case *protocol.TextPart:
			last[p.ID] = p.Text
		case *protocol.ToolPart:
			switch state := p.State.(type) {
			case *protocol.CompletedState:
				last[p.ID] = state.Output
			case *protocol.FailedState:
				last[p.ID] = state.Error
			}
		}
	}
	for _, text := range s.heard {
		if !slices.ContainsFunc(slices.Collect(maps.Values(last)), func(shown string) bool { return strings.Contains(shown, text) }) {
			s.t.Errorf("not shown: %.80q", text)
		}
	}
}
