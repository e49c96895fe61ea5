package acp

import (
	"fmt"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// fake stands in for an agent: it answers requests by method, at once, and keeps
// what was written and what came of it.
type fake struct {
	t  *testing.T
	tr harness.Translator
	// answers are the members of an answer (`"result":{}`), by method. A method
	// without one stays unanswered.
	answers map[string]string
	// open are the ids of the requests that stay unanswered, by method.
	open map[string]string
	// written are the lines written to the agent.
	written []string
	updates []harness.Update
	notes   []harness.Diagnostic
	timers  []harness.Timer
	process harness.Process
}

// session is the native id that the fake gives.
const session = "s-1"

// newFake gives a fake of an agent that can do the least, with answers changed.
func newFake(t *testing.T, a Agent, l harness.Launch, answers map[string]string) *fake {
	t.Helper()
	f := &fake{t: t, tr: New(a).New(l, nil), open: map[string]string{}, answers: map[string]string{
		"initialize":  `"result":{"protocolVersion":1}`,
		"session/new": `"result":{"sessionId":"` + session + `"}`,
	}}
	for method, answer := range answers {
		f.answers[method] = answer
	}
	return f
}

// running gives a fake whose first turn is running, what led to it forgotten.
func running(t *testing.T, answers map[string]string) *fake {
	t.Helper()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, answers)
	f.begin(config())
	if f.open["session/prompt"] == "" {
		t.Fatalf("no prompt was written: %q", f.written)
	}
	f.forget()
	return f
}

// forget lets go of what was written and said so far.
func (f *fake) forget() { f.written, f.updates, f.notes, f.timers = nil, nil, nil, nil }

func (f *fake) begin(cfg protocol.RunConfig) {
	f.step(harness.Begin{Turn: "turn", Input: protocol.TextInput("hi"), Config: cfg})
}

func (f *fake) step(in harness.Input) { f.took(f.tr.Step(in)) }

func (f *fake) line(lines ...string) {
	for _, line := range lines {
		f.took(f.tr.Line([]byte(line)))
	}
}

// update sends a session/update.
func (f *fake) update(updates ...string) {
	for _, u := range updates {
		f.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":` + u + `}}`)
	}
}

// answer answers an open request.
func (f *fake) answer(method, answer string) {
	f.t.Helper()
	id, ok := f.open[method]
	if !ok {
		f.t.Fatalf("%s is not open", method)
	}
	delete(f.open, method)
	f.line(`{"jsonrpc":"2.0","id":` + id + `,` + answer + `}`)
}

func (f *fake) took(out harness.Output) {
	f.updates = append(f.updates, out.Updates...)
	f.notes = append(f.notes, out.Diagnostics...)
	f.timers = append(f.timers, out.Timers...)
	f.process = max(f.process, out.Process)
	for line := range strings.Lines(string(out.Stdin)) {
		line = strings.TrimSuffix(line, "\n")
		f.written = append(f.written, line)
		f.serve(line)
	}
}

// serve answers a request of the translator's.
func (f *fake) serve(line string) {
	m, err := rpcline.Parse([]byte(line))
	if err != nil {
		f.t.Errorf("wrote what is no object: %s", line)
	}
	if !jsontext.Value(line).IsValid() || !strings.HasPrefix(line, `{"jsonrpc":"2.0",`) {
		f.t.Errorf("wrote what is no JSON-RPC: %s", line)
	}
	if m.Kind != rpcline.Request {
		return
	}
	if answer, ok := f.answers[m.Method]; ok {
		f.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`)
		return
	}
	f.open[m.Method] = string(m.ID)
}

// sent are the lines written, without what all of them have and without their
// ids, those of answers aside.
func (f *fake) sent() []string {
	var sent []string
	for _, line := range f.written {
		m, _ := rpcline.Parse([]byte(line))
		switch m.Kind {
		case rpcline.Answer:
			sent = append(sent, strings.TrimPrefix(line, `{"jsonrpc":"2.0",`))
		default:
			sent = append(sent, m.Method+" "+string(m.Params))
		}
	}
	return sent
}

// story tells updates in words, one line each, what is told of the session aside.
func story(updates []harness.Update) []string {
	var lines []string
	for _, u := range updates {
		if _, is := u.(harness.SessionInfo); !is {
			lines = append(lines, told(u))
		}
	}
	return lines
}

func told(u harness.Update) string {
	switch u := u.(type) {
	case harness.MessageOpened:
		return "message " + u.Message
	case harness.PartOpened:
		return string(u.Kind) + " " + u.Part
	case harness.TextAppended:
		return fmt.Sprintf("%s + %q", u.Part, u.Text)
	case harness.PartSet:
		return u.Part + " = " + toldPart(u.Value)
	case harness.ToolSet:
		return toldTool(u)
	case harness.Asked:
		return fmt.Sprintf("asked %s call=%s name=%s kind=%s title=%q input=%s options=%v always=%v",
			u.Request, u.Call, u.Name, u.Kind, u.Title, u.RawInput, u.Options, u.Always)
	case harness.Finished:
		return toldEnd(u)
	case harness.Rejected:
		return fmt.Sprintf("rejected %s: %s", u.Error.Category, u.Error.Message)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T%+v", u, u), "harness.")
}

func toldPart(p protocol.Part) string {
	switch p := p.(type) {
	case *protocol.TextPart:
		return fmt.Sprintf("text %q %s", p.Text, p.State)
	case *protocol.ReasoningPart:
		return fmt.Sprintf("reasoning %q %s", p.Text, p.State)
	case *protocol.ImagePart:
		return fmt.Sprintf("image %s data=%s url=%s", p.MimeType, or(p.Data), or(p.URL))
	case *protocol.FilePart:
		return fmt.Sprintf("file %s data=%s url=%s name=%s", p.MimeType, or(p.Data), or(p.URL), or(p.Filename))
	case *protocol.UnknownPart:
		return string(p.Kind) + " " + string(p.Raw)
	}
	return fmt.Sprintf("%T", p)
}

func or(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func toldTool(u harness.ToolSet) string {
	line := "tool " + u.Call
	for _, member := range [][2]string{{"name", u.Name}, {"kind", string(u.Kind)}, {"title", u.Title}} {
		if member[1] != "" {
			line += " " + member[0] + "=" + member[1]
		}
	}
	for _, l := range u.Locations {
		line += " at=" + l.Path
		if l.Line != nil {
			line += fmt.Sprintf(":%v", *l.Line)
		}
	}
	if u.State != nil {
		line += " " + string(u.State.Status()) + " " + string(protocol.AppendToolState(nil, u.State))
	}
	return line
}

func toldEnd(u harness.Finished) string {
	line := fmt.Sprintf("finished %s raw=%s", u.Reason, u.Raw)
	if u.Tokens != nil {
		line += " tokens=" + string(protocol.AppendTokenUsage(nil, u.Tokens))
	}
	if u.Cost != nil {
		line += fmt.Sprintf(" cost=%.4g", *u.Cost)
	}
	if u.Error != nil {
		line += fmt.Sprintf(" error=%s: %s", u.Error.Category, u.Error.Message)
	}
	return line
}
