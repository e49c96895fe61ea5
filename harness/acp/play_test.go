package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recordings of real agents lie beside the module where somebody has them; they
// are not part of it.
const recordings = "../../../shared/transcripts/acp"

// TestPlayRecordings gives the translator what real agents wrote, and makes the
// moves that their client made then: each prompt that was answered ends once,
// and all that was said in it is said.
func TestPlayRecordings(t *testing.T) {
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
			newRecording(t).play(file)
		})
	}
	if played == 0 {
		t.Skip("no recordings here")
	}
}

// recording is one transcript on its way through translators: one a session.
type recording struct {
	t *testing.T
	// asked are the client's open requests, by id.
	asked map[string]rpcline.Message
	// initialized is the answer to initialize; opened, those to session/new.
	initialized jsontext.Value
	opened      map[string]jsontext.Value
	sessions    map[string]*replay
}

// replay is one session's translator.
type replay struct {
	t  *testing.T
	tr harness.Translator
	// open are the ids of what the translator waits for, by method.
	open map[string]string
	// prompt is the id in the transcript of the prompt that runs; "" for none.
	prompt   string
	asks     map[string]harness.Asked
	answered int
	// said is what the translator said; heard, what the agent did.
	said, heard strings.Builder
	finished    int
	failed      bool
	// lost is true where the old session could not be opened.
	lost bool
	// cancelled is true where the last turn was: what comes then is its tail.
	cancelled bool
}

func newRecording(t *testing.T) *recording {
	r := &recording{t: t}
	r.restart()
	return r
}

// restart begins a process.
func (r *recording) restart() {
	r.asked, r.opened, r.sessions = map[string]rpcline.Message{}, map[string]jsontext.Value{}, map[string]*replay{}
}

func (r *recording) play(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		var x struct {
			Dir string `json:"dir"`
			Raw string `json:"raw"`
		}
		if err := json.Unmarshal([]byte(row), &x); err != nil {
			continue // a row cut short
		}
		m, err := rpcline.Parse([]byte(x.Raw))
		switch {
		case x.Dir == "in" && err == nil:
			r.client(m)
		case x.Dir == "out" && err != nil:
			r.t.Errorf("the agent wrote no object: %q", x.Raw)
		case x.Dir == "out":
			r.agent(m, x.Raw)
		}
	}
	r.finish()
}

// finish looks at what became of the sessions of a process.
func (r *recording) finish() {
	for id, s := range r.sessions {
		if s.finished != s.answered {
			r.t.Errorf("session %s: %d prompts answered, %d turns ended", id, s.answered, s.finished)
		}
		if s.said.String() != s.heard.String() {
			r.t.Errorf("session %s: the agent said %q, shown was %q", id, s.heard.String(), s.said.String())
		}
		s.took(s.tr.Step(harness.Exited{}))
	}
}

// session is the session that a message is of; nil for none of ours.
func (r *recording) session(m rpcline.Message) *replay {
	return r.sessions[string(read[struct {
		ID text `json:"sessionId"`
	}](m.Params).ID)]
}

// client makes a move of the client's.
func (r *recording) client(m rpcline.Message) {
	if m.Kind == rpcline.Request {
		r.asked[string(m.ID)] = m
	}
	switch m.Method {
	case "initialize":
		r.finish()
		r.restart()
		r.asked[string(m.ID)] = m
	case "session/load", "session/resume":
		r.reopen(m)
	case "session/prompt":
		r.prompt(m)
	case "session/cancel":
		if s := r.session(m); s != nil && s.prompt != "" {
			s.took(s.tr.Step(harness.Cancel{}))
		}
	}
	if m.Kind == rpcline.Answer {
		for _, s := range r.sessions {
			s.resolve(string(m.ID), m.Result)
		}
	}
}

// begin gives a turn to a session, with the answers that its handshake gets.
func (s *replay) begin(initialized jsontext.Value) {
	s.took(s.tr.Step(harness.Begin{Turn: "t", Input: protocol.TextInput("hi"), Config: config()}))
	s.give("initialize", `"result":`+string(initialized))
}

// prompt begins a turn, unless the session's turn still runs: our machine never
// has two at once.
func (r *recording) prompt(m rpcline.Message) {
	s := r.session(m)
	if s == nil {
		id := string(read[struct {
			ID text `json:"sessionId"`
		}](m.Params).ID)
		if r.opened[id] == nil {
			return // a session that there is not
		}
		s = newReplay(r.t, "")
		r.sessions[id] = s
		s.begin(r.initialized)
		s.give("session/new", `"result":`+string(r.opened[id]))
	} else if s.lost {
		return
	} else if s.prompt == "" && s.open["session/prompt"] == "" {
		s.begin(r.initialized)
	}
	if s.prompt == "" {
		s.prompt = string(m.ID)
	}
}

// reopen opens an old session; the prompt that is to follow begins with it.
func (r *recording) reopen(m rpcline.Message) {
	p := read[struct {
		ID text `json:"sessionId"`
	}](m.Params)
	s := newReplay(r.t, string(p.ID))
	r.sessions[string(p.ID)] = s
	s.begin(r.initialized)
}

func newReplay(t *testing.T, resume string) *replay {
	l := harness.Launch{Config: config(), Resume: resume}
	return &replay{
		t: t, tr: New(Agent{ID: "agent"}).New(l, nil), open: map[string]string{}, asks: map[string]harness.Asked{},
	}
}

// agent takes a line of the agent's.
func (r *recording) agent(m rpcline.Message, raw string) {
	if m.Kind != rpcline.Answer {
		if s := r.session(m); s != nil {
			s.hear(m)
			s.took(s.tr.Line([]byte(raw)))
		}
		return
	}
	asked := r.asked[string(m.ID)]
	s := r.session(asked)
	switch asked.Method {
	case "initialize":
		r.initialized = m.Result
	case "session/new":
		r.opened[string(read[struct {
			ID text `json:"sessionId"`
		}](m.Result).ID)] = m.Result
	case "session/load", "session/resume":
		s.give("session/load", answerOf(m))
		s.give("session/resume", answerOf(m))
	case "session/prompt":
		if s != nil && s.prompt == string(m.ID) && s.open["session/prompt"] != "" {
			s.answered++
			s.failed = m.Error != nil
			s.prompt = ""
			s.give("session/prompt", answerOf(m))
		}
	}
}

// answerOf are the members of an answer but for its id.
func answerOf(m rpcline.Message) string {
	if m.Error == nil {
		return `"result":` + string(m.Result)
	}
	return `"error":` + string(protocol.Encode(m.Error))
}

// hear keeps what the agent says while a prompt runs.
func (s *replay) hear(m rpcline.Message) {
	if s.open["session/prompt"] == "" && (s.answered == 0 || s.cancelled) || m.Method != "session/update" {
		return
	}
	u := read[struct {
		Update struct {
			Kind    text `json:"sessionUpdate"`
			Content struct {
				Text text `json:"text"`
			} `json:"content"`
		} `json:"update"`
	}](m.Params).Update
	if u.Kind == "agent_message_chunk" || u.Kind == "agent_thought_chunk" {
		s.heard.WriteString(string(u.Content.Text))
	}
}

// give answers a request, if it is open.
func (s *replay) give(method, answer string) {
	if id := s.open[method]; id != "" {
		delete(s.open, method)
		s.took(s.tr.Line([]byte(`{"jsonrpc":"2.0","id":` + id + `,` + answer + `}`)))
	}
}

// resolve answers what the session asked as its client did.
func (s *replay) resolve(id string, result jsontext.Value) {
	asked, ok := s.asks[id]
	if !ok {
		return
	}
	delete(s.asks, id)
	o := read[struct {
		Outcome struct {
			Outcome  text `json:"outcome"`
			OptionID text `json:"optionId"`
		} `json:"outcome"`
	}](result).Outcome
	v := harness.Verdict{Decision: harness.Deny, OptionID: string(o.OptionID)}
	if o.Outcome == "cancelled" {
		v.Decision = harness.CancelRequest
	}
	for _, option := range asked.Options {
		if option.OptionID == v.OptionID && strings.HasPrefix(string(option.Kind), "allow") {
			v.Decision = harness.Allow
		}
	}
	s.took(s.tr.Step(harness.Resolve{Request: id, Verdict: v}))
}

// took looks at an output, and answers the settings that the transcript has no
// answers for.
func (s *replay) took(out harness.Output) {
	for _, u := range out.Updates {
		switch u := u.(type) {
		case harness.TextAppended:
			s.said.WriteString(u.Text)
		case harness.Asked:
			s.asks[u.Request] = u
		case harness.Withdrawn:
			delete(s.asks, u.Request)
		case harness.ResumeFailed:
			s.lost = true
		case harness.Rejected:
			s.t.Errorf("rejected: %+v", u.Error)
		case harness.Finished:
			s.finished++
			s.cancelled = u.Reason == protocol.StopCancelled
			if (u.Error != nil) != s.failed && u.Reason != protocol.StopCancelled {
				s.t.Errorf("ended as %s, the agent failed: %v", toldEnd(u), s.failed)
			}
		}
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
	for _, method := range []string{"session/set_mode", "session/set_config_option", "session/set_model"} {
		s.give(method, `"result":{}`)
	}
}
