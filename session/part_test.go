package session_test

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// text is a full state of a text part.
func text(s string, state protocol.PartState) *protocol.TextPart {
	return &protocol.TextPart{Text: s, State: state}
}

func opened(part string) harness.PartOpened {
	return harness.PartOpened{Part: part, Kind: protocol.PartText}
}

func appended(part, s string) harness.TextAppended {
	return harness.TextAppended{Part: part, Text: s}
}

func final(part, s string) harness.PartSet {
	return harness.PartSet{Part: part, Value: text(s, protocol.StateDone)}
}

func TestLaw36_deltasBuildTheFinal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		says []harness.Update
		want []string
	}{
		{"the same", []harness.Update{final("p", "ab")}, []string{`part 1.0 text "ab" done`}},
		{"more", []harness.Update{final("p", "abcd")}, []string{`delta 1.0 "cd"`, `part 1.0 text "abcd" done`}},
		{"nothing: as streamed", []harness.Update{final("p", "")}, []string{`part 1.0 text "ab" done`}},
		{"less: what was seen stays", []harness.Update{final("p", "a")}, []string{`part 1.0 text "ab" done`}},
		{"something else", []harness.Update{final("p", "xy")},
			[]string{`part 1.0 text "ab" done meta {"agent-server/abandoned":true}`, `part 1.1 text "xy" done`}},
		{"something else, then more of it", []harness.Update{final("p", "xy"), final("p", "xyz")},
			[]string{`part 1.0 text "ab" done meta {"agent-server/abandoned":true}`, `part 1.1 text "xy" done`, `part 1.1 text "xyz" done`}},
		{"a snapshot in between", []harness.Update{harness.PartSet{Part: "p", Value: text("abc", protocol.StateStreaming)}},
			[]string{`delta 1.0 "c"`}},
		{"final twice", []harness.Update{final("p", "ab"), final("p", "ab")}, []string{`part 1.0 text "ab" done`}},
		{"what is known later", []harness.Update{final("p", "ab"), harness.PartSet{Part: "p",
			Value: &protocol.TextPart{PartHead: protocol.PartHead{Meta: protocol.Object(`{"k":1}`)}, Text: "ab", State: protocol.StateDone}}},
			[]string{`part 1.0 text "ab" done`, `part 1.0 text "ab" done meta {"k":1}`}},
		{"more after the final", []harness.Update{final("p", "ab"), appended("p", "c"), harness.MessageClosed{}},
			[]string{`part 1.0 text "ab" done`, `delta 1.0 "c"`, `part 1.0 text "abc" done`, "message 1 ended"}},
		{"the message ends", []harness.Update{harness.MessageClosed{}}, []string{`part 1.0 text "ab" done`, "message 1 ended"}},
		{"nothing new", []harness.Update{appended("p", "")}, nil},
		{"bytes that are no text", []harness.Update{appended("p", "\xff"), final("p", "ab\xffc")},
			[]string{`delta 1.0 "�"`, `delta 1.0 "c"`, `part 1.0 text "ab�c" done`}},
		{"another type", []harness.Update{harness.PartSet{Part: "p", Value: &protocol.ReasoningPart{Text: "ab"}}}, nil},
		{"opened again", []harness.Update{opened("p")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.says(opened("p"), appended("p", "a"), appended("p", "b"))
			r.look("streamed", "message 1 assistant", `part 1.0 text "" streaming`, `delta 1.0 "a"`, `delta 1.0 "b"`)
			r.says(tt.says...)
			r.look("then", tt.want...)
			r.ends()
			r.done()
		})
	}
}

// A part that never streamed has no deltas: each change is a snapshot.
func TestPartsThatNeverStreamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(final("p", "ab"), final("p", "xy"), appended("p", "z"), final("p", ""))
	r.look("text", "message 1 assistant", `part 1.0 text "ab" done`, `part 1.0 text "xy" done`, `part 1.0 text "xyz" done`, `part 1.0 text "xyz" done`)
	r.says(appended("unknown", "x"), harness.PartOpened{Part: "q", Kind: protocol.PartImage})
	r.look("never shown")
	if len(r.last.Diagnostics) != 2 {
		t.Errorf("%d diagnostics", len(r.last.Diagnostics))
	}
	r.says(harness.PartSet{Part: "s", Value: text("ab", protocol.StateStreaming)})
	r.look("a streaming state opens like any other", `part 1.1 text "" streaming`, `delta 1.1 "ab"`)
	r.ends()
	r.done()
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.PartOpened{Part: "p", Kind: protocol.PartReasoning}, appended("p", "hm"))
	r.look("streams", "message 1 assistant", `part 1.0 reasoning "" streaming`, `delta 1.0 thought "hm"`)
	r.now += 250
	r.says(harness.PartSet{Part: "p", Value: &protocol.ReasoningPart{Text: "hm", State: protocol.StateDone, ProviderMetadata: protocol.Object(`{"signature":"x"}`)}})
	got := r.last.Events[0].Event.(*protocol.MessagePart).Part.(*protocol.ReasoningPart)
	if got.Time == nil || got.Time.Start != epoch || got.Time.End == nil || *got.Time.End != epoch+250 {
		t.Errorf("time %+v", got.Time)
	}
	if string(got.ProviderMetadata) != `{"signature":"x"}` {
		t.Errorf("provider metadata %s", got.ProviderMetadata)
	}
	r.says(harness.PartSet{Part: "whole", Value: &protocol.ReasoningPart{Text: "so", Time: &protocol.OpenSpan{Start: 5}}})
	if got := r.last.Events[0].Event.(*protocol.MessagePart).Part.(*protocol.ReasoningPart); got.Time.Start != 5 || got.State != protocol.StateDone {
		t.Errorf("whole %+v", got)
	}
	r.ends()
	r.done()
}

func TestLaw37_addressesAreFixed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.MessageOpened{Message: "m1"}, harness.ToolSet{Call: "task", Name: "Task"}, opened("p"), appended("p", "a"))
	r.look("main", "message 1 assistant", "part 1.0 Task pending", `part 1.1 text "" streaming`, `delta 1.1 "a"`)
	r.says(harness.PartSet{Part: "prompt", Owner: "task", Role: protocol.RoleUser, Value: text("do it", "")})
	r.look("a sub-agent's prompt", "message 1 ended", "message 2 user of task", `part 2.0 text "do it" done`)
	r.says(harness.ToolSet{Call: "inner", Owner: "task", Name: "Read"})
	r.look("a sub-agent's word", "message 2 ended", "message 3 assistant of task", "part 3.0 Read pending")
	r.says(appended("p", "b"), harness.ToolSet{Call: "task", State: &protocol.InProgressState{}})
	r.look("what stands stays where it stands", `delta 1.1 "b"`, "part 1.0 Task in_progress")
	r.says(opened("q"))
	r.look("main again: a new message", "message 3 ended", "message 4 assistant", `part 4.0 text "" streaming`)
	r.says(final("p", "ab"), harness.MessageOpened{Message: "m2"}, opened("s"))
	r.look("a message start ends the open one", `part 1.1 text "ab" done`, `part 4.0 text "" done`, "message 4 ended",
		"message 5 assistant", `part 5.0 text "" streaming`)
	r.ends()
	r.forget()
	r.running("t2")
	r.says(harness.ToolSet{Call: "inner", State: &protocol.CompletedState{Output: "x"}})
	r.look("a tool's late end", "part 3.0 Read completed")
	if e := r.last.Events[0].Event.(*protocol.MessagePart); e.TurnID != "t1" {
		t.Errorf("it stands in turn %s", e.TurnID)
	}
	r.ends()
	r.done()
}

func TestModelOfMessages(t *testing.T) {
	t.Parallel()
	models := func(events ...harness.Update) []string {
		r := newRig(t)
		r.running("t1", func(c *protocol.RunConfig) { c.Model = new("asked") })
		r.says(events...)
		var got []string
		for _, e := range r.last.Events {
			if m, ok := e.Event.(*protocol.MessageStarted); ok {
				got = append(got, *m.Model)
			}
		}
		return got
	}
	got := models(opened("a"), harness.MessageOpened{Model: "named"}, harness.PartOpened{Part: "b", Kind: protocol.PartText, Owner: "t"}, opened("c"))
	if diff := cmp.Diff([]string{"asked", "named", "asked", "named"}, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	r := newRig(t)
	r.running("t1", func(c *protocol.RunConfig) { c.Model = new("") })
	r.says(opened("a"))
	if m := r.last.Events[0].Event.(*protocol.MessageStarted).Model; m != nil {
		t.Errorf("an empty model is shown as %q", *m)
	}
}

func TestAbandoned(t *testing.T) {
	t.Parallel()
	const marked = ` meta {"agent-server/abandoned":true}`
	r := newRig(t)
	r.running("t1")
	r.says(harness.MessageOpened{Message: "m1"}, opened("a"), appended("a", "x"), final("b", "done"),
		harness.ToolSet{Call: "c", Name: "Bash"}, harness.ToolSet{Call: "d", Name: "Read", State: &protocol.CompletedState{}})
	r.forget()
	r.says(harness.Abandoned{Parts: []string{"a", "b", "c", "d", "unknown"}})
	r.look("abandoned", `part 1.0 text "x" done`+marked, `part 1.1 text "done" done`+marked, "part 1.2 Bash cancelled"+marked,
		"part 1.3 Read completed"+marked, "message 1 ended")
	r.says(appended("a", "y"), harness.ToolSet{Call: "c", State: &protocol.CompletedState{}})
	r.look("nothing changes it any more")
	r.says(harness.MessageOpened{Message: "m2"}, opened("a"))
	r.look("keys may come again", "message 2 assistant", `part 2.0 text "" streaming`)
	r.says(harness.Abandoned{})
	r.look("a whole message", `part 2.0 text "" done`, "message 2 ended")
	r.ends()
	r.done()
}

func TestWholeParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.PartSet{Part: "i", Value: &protocol.ImagePart{PartHead: protocol.PartHead{ID: "theirs", Meta: protocol.Object(`{"k":1}`)}, Data: new("QQ=="), MimeType: "image/png"}})
	got := r.last.Events[1].Event.(*protocol.MessagePart).Part
	if h := got.Head(); h.ID == "theirs" || h.SessionID != "s" || h.MessageID == "" || string(h.Meta) != `{"k":1}` {
		t.Errorf("head %+v", h)
	}
	r.says(harness.PartSet{Part: "f", Value: &protocol.FilePart{URL: new("file:///x"), MimeType: "text/plain", Filename: new("x")}},
		harness.PartSet{Part: "i", Value: &protocol.ImagePart{Data: new("QUE="), MimeType: "image/png"}},
		harness.PartSet{Part: "i", Value: &protocol.FilePart{URL: new("x"), MimeType: "text/plain"}},
		harness.PartSet{Part: "t", Value: &protocol.ToolPart{}}, appended("i", "x"),
		harness.Abandoned{Parts: []string{"f"}})
	r.look("parts", "message 1 assistant", `part 1.0 image meta {"k":1}`, "part 1.1 file", `part 1.0 image meta {"k":1}`,
		`part 1.1 file meta {"agent-server/abandoned":true}`, "message 1 ended")
	r.ends()
	r.done()
}

// A part of a type without a struct is its raw object on the wire: our ids go in,
// the harness's stay out, the rest is kept.
func TestUnknownPart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.PartSet{Part: "plan", Value: &protocol.UnknownPart{Kind: "plan", Raw: protocol.Object(`{"id":"theirs","type":"x","entries":[{"content":"a"}]}`)}})
	p := r.last.Events[1].Event.(*protocol.MessagePart).Part.(*protocol.UnknownPart)
	want := `{"id":"` + p.ID + `","sessionId":"s","messageId":"` + p.MessageID + `","type":"plan","entries":[{"content":"a"}]}`
	if string(p.Raw) != want {
		t.Errorf("raw\n%s\nwant\n%s", p.Raw, want)
	}
	r.forget()
	r.says(harness.PartSet{Part: "bare", Value: &protocol.UnknownPart{Kind: "plan", Raw: protocol.Object(`{}`)}})
	r.look("without members", "part 1.1 plan")
	r.says(harness.PartSet{Part: "odd", Value: &protocol.UnknownPart{Kind: "plan", Raw: protocol.Object(`[1]`)}})
	r.look("no object")
	r.ends()
	r.done()
}

// Snapshots share their bytes with those before, so what was handed out must not
// change by what comes later.
func TestSnapshotsNeverChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(opened("p"))
	var shown []*protocol.TextPart
	var want []string
	for range 100 {
		r.says(appended("p", "abc"), final("p", ""))
		for _, e := range r.last.Events {
			if p, ok := e.Event.(*protocol.MessagePart); ok {
				shown = append(shown, p.Part.(*protocol.TextPart))
				want = append(want, strings.Repeat("abc", len(want)+1))
			}
		}
	}
	for i, p := range shown {
		if p.Text != want[i] {
			t.Fatalf("snapshot %d holds %d bytes, want %d", i, len(p.Text), len(want[i]))
		}
	}
}

func TestLateUpdatesAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(opened("p"), harness.ToolSet{Call: "c", Name: "Bash"})
	r.ends()
	r.forget()
	late := []harness.Update{
		harness.Registered{}, harness.PromptWritten{}, harness.MessageOpened{}, opened("q"), appended("p", "x"), final("p", "x"),
		harness.InputAppended{Call: "c", Text: "x"}, harness.MessageClosed{}, harness.Abandoned{Parts: []string{"p"}}, harness.Usage{},
		harness.Compaction{Key: "k", Status: "completed"}, harness.Notice{}, harness.Finished{}, harness.Rejected{},
		harness.ToolSet{Call: "unknown", State: &protocol.CompletedState{}}, harness.ToolSet{Call: "c", Title: "x"},
		harness.ToolSet{Call: "c", State: &protocol.InProgressState{}},
	}
	for _, u := range late {
		if out := r.says(u); len(out.Events) > 0 || len(out.Diagnostics) != 1 {
			t.Errorf("%T between turns: %d events, %d diagnostics", u, len(out.Events), len(out.Diagnostics))
		}
	}
	r.done()
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.Compaction{Key: "k", Status: "in_progress", Trigger: "auto", PreTokens: new(9.0)},
		harness.Compaction{Key: "k", Status: "completed", Summary: "s"}, harness.Compaction{Key: "k", Status: "in_progress"},
		harness.Compaction{Key: "other"})
	r.look("one", "compaction in_progress", "compaction completed")
	first, second := r.last.Events[0].Event.(*protocol.SessionCompaction), r.last.Events[1].Event.(*protocol.SessionCompaction)
	if first.CompactionID != second.CompactionID || *first.Trigger != "auto" || *second.Summary != "s" || second.Trigger != nil {
		t.Errorf("%+v then %+v", first, second)
	}
	r.ends()
	r.done()
}
