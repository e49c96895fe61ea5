package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// ids mints ids that a test can predict: id-1, id-2, … The first Begin of a fresh
// process takes id-1 for its prompt and id-2 for initialize.
func ids() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("id-%d", n) }
}

// fresh is the translator of a process for a fresh session.
func fresh(t *testing.T, cfg protocol.RunConfig) *translator {
	t.Helper()
	h := New(Options{})
	return h.New(harness.Launch{Config: cfg, NativeID: "native"}, ids()).(*translator)
}

// greeted answers a handshake in which nothing but initialize was asked.
const greeted = `{"type":"control_response","response":{"subtype":"success","request_id":"id-2","response":{"current_permission_mode":"default"}}}`

// running is a translator whose first prompt, id-1, was taken.
func running(t *testing.T) *translator {
	t.Helper()
	tr := fresh(t, protocol.RunConfig{})
	tr.Step(harness.Begin{Turn: "turn", Input: protocol.TextInput("hello")})
	tr.Line([]byte(greeted))
	tr.Line([]byte(`{"type":"command_lifecycle","command_uuid":"id-1","state":"started"}`))
	tr.Line([]byte(`{"type":"system","subtype":"init","session_id":"native","permissionMode":"default","user_message_uuids":["id-1"]}`))
	return tr
}

// feed gives lines and collects what they make.
func feed(tr *translator, lines ...string) harness.Output {
	var all harness.Output
	for _, line := range lines {
		out := tr.Line([]byte(line))
		all.Updates = append(all.Updates, out.Updates...)
		all.Stdin = append(all.Stdin, out.Stdin...)
		all.Timers = append(all.Timers, out.Timers...)
		all.Diagnostics = append(all.Diagnostics, out.Diagnostics...)
		if out.Process != harness.Keep {
			all.Process = out.Process
		}
	}
	return all
}

// wantUpdates compares updates.
func wantUpdates(t *testing.T, got harness.Output, want ...harness.Update) {
	t.Helper()
	if diff := cmp.Diff(want, got.Updates); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

// stdin gives the lines of an output's stdin, checked to be one JSON object each.
func stdin(t *testing.T, out harness.Output) []map[string]any {
	t.Helper()
	if len(out.Stdin) == 0 {
		return nil
	}
	if out.Stdin[len(out.Stdin)-1] != '\n' {
		t.Errorf("stdin does not end in a newline: %q", out.Stdin)
	}
	var lines []map[string]any
	for line := range bytes.Lines(out.Stdin) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Errorf("stdin holds a line that is no object (fatal to the CLI): %q", line)
		}
		lines = append(lines, v)
	}
	return lines
}

// wantStdin compares what is written, member order aside.
func wantStdin(t *testing.T, out harness.Output, want ...string) {
	t.Helper()
	var lines []map[string]any
	for _, w := range want {
		var v map[string]any
		if err := json.Unmarshal([]byte(w), &v); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, v)
	}
	if diff := cmp.Diff(lines, stdin(t, out)); diff != "" {
		t.Errorf("stdin (-want +got):\n%s", diff)
	}
}

// books keeps what a machine would know, and finds what it could not take.
type books struct {
	begun, finished int
	// woken counts the turns that the CLI began; background what runs beside them.
	woken, background int
	open              bool
	streamed          map[string]*strings.Builder
	final             map[string]string
	faults            []string
	last              harness.Update
}

func newBooks() *books {
	return &books{streamed: map[string]*strings.Builder{}, final: map[string]string{}}
}

func (b *books) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// begin notes a turn that was begun.
func (b *books) begin() { b.begun, b.open = b.begun+1, true }

// take notes the updates of an output.
func (b *books) take(out harness.Output) {
	for _, u := range out.Updates {
		b.update(u)
	}
}

func (b *books) update(u harness.Update) {
	if !b.open && !b.comesLate(u) {
		b.fault("%T outside a turn", u)
	}
	switch u := u.(type) {
	case harness.Woken:
		if b.open {
			b.fault("woken in a turn")
		}
		b.begin()
		b.woken++
	case harness.Background:
		b.background = len(u.Tasks)
	case harness.PartOpened:
		if b.streamed[u.Part] != nil {
			b.fault("part %s opened twice", u.Part)
		}
		b.streamed[u.Part] = &strings.Builder{}
	case harness.TextAppended:
		b.appendText(u)
	case harness.PartSet:
		b.setPart(u)
	case harness.ToolSet:
		if u.Call == "" {
			b.fault("tool without a call")
		}
	case harness.Finished:
		b.end()
		if (u.Error != nil) != (u.Reason == protocol.StopError) {
			b.fault("error %v with reason %s", u.Error, u.Reason)
		}
	case harness.Rejected, harness.ResumeFailed:
		b.end()
	}
	b.last = u
}

// comesLate says whether an update may come while no turn is open: what needs
// none, and what a background task says, for which the machine opens one.
func (b *books) comesLate(u harness.Update) bool {
	switch u := u.(type) {
	case harness.Background, harness.Asked, harness.Withdrawn, harness.Woken, harness.SessionInfo:
		return true
	case harness.MessageClosed:
		return b.background > 0
	case harness.PartSet:
		return b.background > 0 && u.Owner != ""
	case harness.ToolSet:
		return u.State != nil && u.State.Status().Terminal() || b.background > 0 && (u.Owner != "" || u.Subagent != nil)
	}
	return false
}

func (b *books) end() {
	b.finished++
	b.open = false
}

func (b *books) appendText(u harness.TextAppended) {
	if b.streamed[u.Part] == nil {
		b.fault("part %s grows before it was opened", u.Part)
		return
	}
	if _, done := b.final[u.Part]; done {
		b.fault("part %s grows after its end", u.Part)
	}
	if !utf8.ValidString(u.Text) || u.Text == "" {
		b.fault("part %s grows by %q", u.Part, u.Text)
	}
	b.streamed[u.Part].WriteString(u.Text)
}

func (b *books) setPart(u harness.PartSet) {
	text := ""
	switch p := u.Value.(type) {
	case *protocol.TextPart:
		text = p.Text
	case *protocol.ReasoningPart:
		text = p.Text
	}
	if _, again := b.final[u.Part]; again {
		b.fault("part %s ends twice", u.Part)
	}
	b.final[u.Part] = text
	if s := b.streamed[u.Part]; s != nil && text != "" && s.String() != text {
		b.fault("part %s: streamed %q, ended as %q", u.Part, s, text)
	}
}
