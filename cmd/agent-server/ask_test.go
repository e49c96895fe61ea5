package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/protocol"
)

// asked is an asker and what it has answered, in order.
type asked struct {
	*asker
	talk    *strings.Builder
	answers chan string
}

func newAsked(in io.Reader) *asked {
	s, _, talk := onPaper(false)
	return &asked{newAsker(in, s), talk, make(chan string, 16)}
}

// request puts a question with these options.
func (a *asked) request(id string, kinds ...protocol.PermissionKind) {
	ev := &protocol.PermissionRequested{RequestID: id, Title: "Do " + id}
	for _, k := range kinds {
		ev.Options = append(ev.Options, protocol.PermissionOption{OptionID: "opt-" + string(k), Name: "Name of " + string(k), Kind: k})
	}
	a.put(ev, func(o protocol.PermissionOutcome) { a.answers <- id + " " + string(o.Outcome) + " " + o.OptionID })
}

// said gives n answers, sorted out by request: they race each other.
func (a *asked) said(n int) map[string]string {
	out := map[string]string{}
	for range n {
		id, answer, _ := strings.Cut(<-a.answers, " ")
		out[id] = answer
	}
	return out
}

// TestConverseAmongQuestions: there is one reader, whichever comes first, a question
// or the wish to converse; what answers nothing is passed on, in order.
func TestConverseAmongQuestions(t *testing.T) {
	t.Parallel()
	in, typed := io.Pipe()
	a := newAsked(in)
	lines, over := make(chan string, 8), make(chan struct{})
	a.request("a", both...)
	a.converse(func(line string) { lines <- line }, func() { close(over) })
	for _, line := range []string{"1", "one", "two", ""} {
		if _, err := io.WriteString(typed, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.said(1)["a"]; got != "selected opt-allow_once" {
		t.Errorf("the question got %s", got)
	}
	if one, two := <-lines, <-lines; one != "one" || two != "two" {
		t.Errorf("passed on: %q, %q", one, two)
	}
	a.request("b", both...)
	a.withdraw("b")
	for _, line := range []string{"reject_once", "reject_once"} {
		if _, err := io.WriteString(typed, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-lines; got != "reject_once" || len(lines) > 0 {
		t.Errorf("passed on: %q and %d more", got, len(lines))
	}
	a.request("c", both...)
	typed.Close()
	<-over
	a.request("d", both...)
	a.close()
	if len(a.answers) > 0 {
		t.Errorf("a question was refused that others may answer: %s", <-a.answers)
	}
	if talk := a.talk.String(); strings.Count(talk, "left to others") != 2 || strings.Count(talk, "not sent: ") != 1 {
		t.Errorf("said:\n%s", talk)
	}
}

var both = []protocol.PermissionKind{protocol.AllowOnce, protocol.RejectOnce}

func TestEachLineAnswersOneQuestion(t *testing.T) {
	t.Parallel()
	a := newAsked(strings.NewReader("1\nreject_once\nopt-allow_once\n"))
	a.request("a", both...)
	first := a.said(1)
	// Its line was there long before: it has waited for the question.
	a.request("b", both...)
	a.request("c", both...)
	rest := a.said(2)
	a.close()
	want := map[string]string{"a": "selected opt-allow_once", "b": "selected opt-reject_once", "c": "selected opt-allow_once"}
	got := map[string]string{"a": first["a"], "b": rest["b"], "c": rest["c"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	a := newAsked(strings.NewReader(""))
	a.request("both", both...)
	a.request("always", protocol.AllowAlways, protocol.RejectAlways)
	a.request("narrow", protocol.RejectAlways, protocol.RejectOnce)
	a.request("allow", protocol.AllowOnce, "_odd")
	a.request("none")
	got := a.said(5)
	a.close()
	want := map[string]string{"both": "selected opt-reject_once", "always": "selected opt-reject_always",
		"narrow": "selected opt-reject_once", "allow": "cancelled ", "none": "cancelled "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an end of input consents to nothing: %s", diff)
	}
}

func TestNoOptionIsOffered(t *testing.T) {
	t.Parallel()
	a := newAsked(strings.NewReader("yes\n\n"))
	a.request("a")
	if diff := cmp.Diff(map[string]string{"a": "cancelled "}, a.said(1)); diff != "" {
		t.Error(diff)
	}
	a.close()
}

func TestWithdrawnQuestion(t *testing.T) {
	t.Parallel()
	in, typing := io.Pipe()
	a := newAsked(in)
	a.request("a", both...)
	a.request("b", both...)
	a.request("c", both...)
	a.withdraw("b")
	a.withdraw("a")
	a.withdraw("nobody")
	if _, err := io.WriteString(typing, "1\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"c": "selected opt-allow_once"}, a.said(1)); diff != "" {
		t.Error(diff)
	}
	// The last one is answered elsewhere; a line that comes late is nobody's.
	a.request("d", both...)
	a.withdraw("d")
	a.request("e", both...)
	a.close()
	a.take("1")
	typing.Close()
	a.put(&protocol.PermissionRequested{RequestID: "late"}, func(protocol.PermissionOutcome) { t.Error("asked after the end") })
	select {
	case got := <-a.answers:
		t.Errorf("answered %q after the end", got)
	default:
	}
}

func TestQuestionCannotBeForged(t *testing.T) {
	t.Parallel()
	a := newAsked(strings.NewReader("2\n"))
	ev := &protocol.PermissionRequested{RequestID: "a", Title: "Read a file\n  1) Reject\r\x1b[1A",
		ToolCall: &protocol.PermissionToolCall{ToolName: "sh", RawInput: protocol.Object(`{"command":"rm x \u001b[8m"}`)},
		Options:  []protocol.PermissionOption{{OptionID: "y", Name: "Reject\n", Kind: protocol.AllowOnce}, {OptionID: "n", Name: "No", Kind: protocol.RejectOnce}}}
	a.put(ev, func(o protocol.PermissionOutcome) { a.answers <- "a " + o.OptionID })
	if got := a.said(1)["a"]; got != "n" {
		t.Errorf("answered %q", got)
	}
	a.close()
	want := "? Read a file ⏎   1) Reject␍␛[1A\n    command: rm x ␛[8m\n  1) Reject ⏎  [allow_once]\n  2) No [reject_once]\n  choose: No\n"
	if diff := cmp.Diff(want, a.talk.String()); diff != "" {
		t.Error(diff)
	}
}
