package codexappserver

import (
	"fmt"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// fake stands in for Codex: it answers requests by method, at once, and keeps what
// was written and what came of it.
type fake struct {
	t  *testing.T
	tr *translator
	// answers are the members of an answer, by method; one without stays open.
	answers map[string]string
	// open are the ids of the requests that stay open, by method, in order.
	open    map[string][]string
	written []string
	updates []harness.Update
	notes   []harness.Diagnostic
	timers  map[string]harness.Timer
	process harness.Process
}

// The native ids of the fake.
const (
	thread = "thread-1"
	native = "turn-1"
)

func config() protocol.RunConfig {
	return protocol.RunConfig{Harness: protocol.HarnessCodexAppServer, Cwd: "/w"}
}

// newFake gives a fake of which nothing was asked yet; answers change its own.
func newFake(t *testing.T, l harness.Launch, answers map[string]string) *fake {
	t.Helper()
	f := &fake{
		t: t, tr: newTranslator(New(Options{}).(adapter).opts, l), open: map[string][]string{}, timers: map[string]harness.Timer{},
		answers: map[string]string{
			"initialize":     `"result":{}`,
			"thread/start":   `"result":{"thread":{"id":"` + thread + `"},"model":"m","approvalPolicy":"on-request","sandbox":{"type":"readOnly"}}`,
			"thread/resume":  `"result":{"thread":{"id":"` + thread + `"},"model":"m"}`,
			"turn/start":     `"result":{"turn":{"id":"` + native + `"}}`,
			"turn/interrupt": `"result":{}`,

			"thread/backgroundTerminals/list":      `"result":{"data":[]}`,
			"thread/backgroundTerminals/terminate": `"result":{}`,
		},
	}
	for method, answer := range answers {
		f.answers[method] = answer
		if answer == "" {
			delete(f.answers, method)
		}
	}
	return f
}

// running gives a fake whose first turn is running, what led to it forgotten.
func running(t *testing.T) *fake {
	t.Helper()
	f := newFake(t, harness.Launch{Config: config()}, nil)
	f.begin()
	if f.tr.turn == nil || f.tr.turn.id != native {
		t.Fatalf("no turn runs: %v", f.updates)
	}
	f.forget()
	return f
}

func (f *fake) forget() {
	f.written, f.updates, f.notes, f.timers = nil, nil, nil, map[string]harness.Timer{}
}

func (f *fake) begin() {
	f.step(harness.Begin{Turn: "turn", Input: protocol.TextInput("hi"), Config: f.tr.launch.Config})
}

func (f *fake) step(in harness.Input) { f.took(f.tr.Step(in)) }
func (f *fake) line(line string)      { f.took(f.tr.Line([]byte(line))) }

// tell sends a notification of our turn; members come behind its ids.
func (f *fake) tell(method, members string) { f.tellOf(thread, native, method, members) }

func (f *fake) tellOf(thread, turn, method, members string) {
	if members != "" {
		members = "," + members
	}
	f.line(fmt.Sprintf(`{"method":%q,"params":{"threadId":%q,"turnId":%q%s}}`, method, thread, turn, members))
}

// item sends an item's start or end.
func (f *fake) started(item string)   { f.tell("item/started", `"item":{`+item+`}`) }
func (f *fake) completed(item string) { f.tell("item/completed", `"item":{`+item+`}`) }

// ends ends our turn.
func (f *fake) ends(status string) { f.endsWith(`"status":"` + status + `"`) }

func (f *fake) endsWith(members string) {
	f.line(`{"method":"turn/completed","params":{"threadId":"` + thread + `","turn":{"id":"` + native + `",` + members + `}}}`)
}

// ask sends a request.
func (f *fake) ask(id, method, members string) {
	f.line(fmt.Sprintf(`{"method":%q,"id":%s,"params":{"threadId":%q,"turnId":%q,%s}}`, method, id, thread, native, members))
}

// answer answers the oldest open request of a method.
func (f *fake) answer(method, answer string) {
	f.t.Helper()
	ids := f.open[method]
	if len(ids) == 0 {
		f.t.Fatalf("%s is not open: %v", method, f.open)
	}
	f.open[method] = ids[1:]
	f.line(`{"id":` + ids[0] + `,` + answer + `}`)
}

func (f *fake) took(out harness.Output) {
	f.updates = append(f.updates, out.Updates...)
	f.notes = append(f.notes, out.Diagnostics...)
	f.process = max(f.process, out.Process)
	for _, timer := range out.Timers {
		f.timers[timer.Name] = timer
	}
	for line := range strings.Lines(string(out.Stdin)) {
		line = strings.TrimSuffix(line, "\n")
		f.written = append(f.written, line)
		m, err := rpcline.Parse([]byte(line))
		if err != nil || !jsontext.Value(line).IsValid() {
			f.t.Errorf("wrote what is no object: %s", line)
		}
		if m.Kind != rpcline.Request {
			continue
		}
		if answer, ok := f.answers[m.Method]; ok {
			f.line(`{"id":` + string(m.ID) + `,` + answer + `}`)
		} else {
			f.open[m.Method] = append(f.open[m.Method], string(m.ID))
		}
	}
}

// want compares what was said since forget.
func (f *fake) want(want ...harness.Update) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.updates); diff != "" {
		f.t.Errorf("updates (-want +got):\n%s", diff)
	}
	f.updates = nil
}

// wrote wants a line to have been written that holds each of some texts.
func (f *fake) wrote(parts ...string) {
	f.t.Helper()
	for _, line := range f.written {
		found := true
		for _, part := range parts {
			found = found && strings.Contains(line, part)
		}
		if found {
			return
		}
	}
	f.t.Errorf("no line holds %q:\n%s", parts, strings.Join(f.written, "\n"))
}

// wroteNone wants no line that holds a text.
func (f *fake) wroteNone(part string) {
	f.t.Helper()
	for _, line := range f.written {
		if strings.Contains(line, part) {
			f.t.Errorf("wrote %s", line)
		}
	}
}

// last is the last update of a type; the test fails where there is none.
func last[U harness.Update](f *fake) U {
	f.t.Helper()
	for i := len(f.updates) - 1; i >= 0; i-- {
		if u, ok := f.updates[i].(U); ok {
			return u
		}
	}
	var none U
	f.t.Errorf("no %T among %+v", none, f.updates)
	return none
}

// none wants no update of a type.
func none[U harness.Update](f *fake) {
	f.t.Helper()
	for _, u := range f.updates {
		if u, ok := u.(U); ok {
			f.t.Errorf("unexpected %+v", u)
		}
	}
}

// stateOfCall is the last state that a call was shown in.
func stateOfCall(f *fake, call string) protocol.ToolState {
	f.t.Helper()
	for i := len(f.updates) - 1; i >= 0; i-- {
		if u, ok := f.updates[i].(harness.ToolSet); ok && u.Call == call && u.State != nil {
			return u.State
		}
	}
	f.t.Errorf("call %s was not shown: %+v", call, f.updates)
	return nil
}
