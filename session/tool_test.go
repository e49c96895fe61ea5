package session_test

import (
	"fmt"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// tool is the last tool part that was shown.
func (r *rig) tool() *protocol.ToolPart {
	r.t.Helper()
	for i := len(r.last.Events) - 1; i >= 0; i-- {
		if e, ok := r.last.Events[i].Event.(*protocol.MessagePart); ok {
			return e.Part.(*protocol.ToolPart)
		}
	}
	r.t.Fatal("no tool part was shown")
	return nil
}

func TestToolLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.ToolSet{Call: "c", Name: "Bash", Kind: protocol.KindExecute},
		harness.InputAppended{Call: "c", Text: `{"command"`}, harness.InputAppended{Call: "c", Text: `:"ls"}`})
	r.now += 10
	r.says(harness.ToolSet{Call: "c", Title: "ls", State: &protocol.InProgressState{}})
	r.says(harness.ToolSet{Call: "c", State: &protocol.InProgressState{}})
	r.now += 10
	r.says(harness.ToolSet{Call: "c", State: &protocol.CompletedState{Output: "a b", Content: []protocol.ToolContent{&protocol.TextContent{Text: "a b"}}}})
	r.look("life", "message 1 assistant", "part 1.0 Bash pending", `delta 1.0 input {"command"`, `delta 1.0 input :"ls"}`,
		"part 1.0 Bash in_progress", "part 1.0 Bash completed")
	want := &protocol.CompletedState{
		Input: protocol.Object(`{"command":"ls"}`), Output: "a b", Content: []protocol.ToolContent{&protocol.TextContent{Text: "a b"}},
		Time: protocol.Span{Start: epoch + 10, End: epoch + 20},
	}
	got := r.tool()
	if diff := cmp.Diff(protocol.ToolState(want), got.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if got.Kind != protocol.KindExecute || *got.Title != "ls" || got.ToolCallID != "c" {
		t.Errorf("part %+v", got)
	}
	r.ends()
	r.done()
}

func TestLaw38_toolsMoveForward(t *testing.T) {
	t.Parallel()
	states := []protocol.ToolState{
		&protocol.PendingState{}, &protocol.InProgressState{}, &protocol.CompletedState{}, &protocol.FailedState{}, &protocol.CancelledState{},
	}
	forward := map[string]bool{
		"pending in_progress": true, "pending completed": true, "pending failed": true, "pending cancelled": true,
		"in_progress completed": true, "in_progress failed": true, "in_progress cancelled": true,
		"completed completed": true, "failed failed": true, "cancelled cancelled": true,
	}
	for _, from := range states {
		for _, to := range states {
			step := fmt.Sprint(from.Status(), " ", to.Status())
			t.Run(step, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.running("t1")
				r.says(harness.ToolSet{Call: "c", Name: "Bash", State: from})
				r.forget()
				r.says(harness.ToolSet{Call: "c", State: to})
				if moved := len(r.last.Events) == 1; moved != forward[step] {
					t.Errorf("shown: %v", moved)
				}
				r.says(harness.ToolSet{Call: "c", Title: "more", State: to})
				status := from.Status()
				if forward[step] {
					status = to.Status()
				}
				if got := r.tool(); got.State.Status() != status || *got.Title != "more" {
					t.Errorf("then it is %s, %q", got.State.Status(), *got.Title)
				}
				r.ends()
				r.done()
			})
		}
	}
}

func TestToolTimes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		progress protocol.ToolState
		end      protocol.Span
		want     protocol.Span
	}{
		{"from pending straight to its end: now", nil, protocol.Span{}, protocol.Span{Start: epoch + 20, End: epoch + 20}},
		{"the start is kept", &protocol.InProgressState{}, protocol.Span{}, protocol.Span{Start: epoch + 10, End: epoch + 20}},
		{"the harness knows the start", &protocol.InProgressState{Time: protocol.Since{Start: epoch}}, protocol.Span{}, protocol.Span{Start: epoch, End: epoch + 20}},
		{"the harness knows both", nil, protocol.Span{Start: 5, End: 9}, protocol.Span{Start: 5, End: 9}},
		{"another start comes too late", &protocol.InProgressState{}, protocol.Span{Start: 5, End: epoch + 15}, protocol.Span{Start: epoch + 10, End: epoch + 15}},
		{"an end before the start", &protocol.InProgressState{}, protocol.Span{End: 5}, protocol.Span{Start: epoch + 10, End: epoch + 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.says(harness.ToolSet{Call: "c", Name: "Bash"})
			r.now += 10
			r.says(harness.ToolSet{Call: "c", State: tt.progress})
			r.now += 10
			for range 2 { // an end that is told again keeps its times
				r.says(harness.ToolSet{Call: "c", State: &protocol.FailedState{Error: "x", Time: tt.end}})
				if got := r.tool().State.(*protocol.FailedState).Time; got != tt.want {
					t.Errorf("time %+v, want %+v", got, tt.want)
				}
				r.now += 10
			}
		})
	}
}

func TestToolInputs(t *testing.T) {
	t.Parallel()
	object := protocol.Object(`{"a":1}`)
	tests := []struct {
		name string
		says []harness.Update
		want string
	}{
		{"given", []harness.Update{harness.ToolSet{Call: "c", State: &protocol.InProgressState{Input: object}}}, `{"a":1}`},
		{"streamed", []harness.Update{harness.ToolSet{Call: "c"}, harness.InputAppended{Call: "c", Text: `{"a":2}`}}, `{"a":2}`},
		{"given beats streamed", []harness.Update{harness.ToolSet{Call: "c"}, harness.InputAppended{Call: "c", Text: `{"a":2}`},
			harness.ToolSet{Call: "c", State: &protocol.InProgressState{Input: object}}}, `{"a":1}`},
		{"asked for", []harness.Update{harness.Asked{Request: "r", Call: "c", RawInput: object}}, `{"a":1}`},
		{"streamed in part", []harness.Update{harness.ToolSet{Call: "c"}, harness.InputAppended{Call: "c", Text: `{"a":`}}, `{}`},
		{"no object", []harness.Update{harness.ToolSet{Call: "c", State: &protocol.InProgressState{Input: protocol.Object(`[1]`)}}}, `{}`},
		{"no JSON", []harness.Update{harness.ToolSet{Call: "c", State: &protocol.InProgressState{Input: protocol.Object(`{`)}}}, `{}`},
		{"never known", nil, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.says(tt.says...)
			r.says(harness.ToolSet{Call: "c", State: &protocol.CancelledState{}})
			if got := string(r.tool().State.(*protocol.CancelledState).Input); got != tt.want {
				t.Errorf("input %s, want %s", got, tt.want)
			}
			r.ends()
			r.done()
		})
	}
}

// A pending state that holds more of the input than was streamed goes by deltas
// too.
func TestPendingInputIsStreamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	partial := func(s string) harness.ToolSet {
		return harness.ToolSet{Call: "c", Name: "Bash", State: &protocol.PendingState{PartialInput: s}}
	}
	r.says(partial(`{"a"`), partial(`{"a":1`), partial(`{"a":1`), partial(`other`))
	r.look("input", "message 1 assistant", "part 1.0 Bash pending", `delta 1.0 input {"a"`, `delta 1.0 input :1`)
	r.says(harness.ToolSet{Call: "c", Title: "x"})
	if got := r.tool().State.(*protocol.PendingState).PartialInput; got != `{"a":1` {
		t.Errorf("a snapshot in between holds %s", got)
	}
	r.says(harness.ToolSet{Call: "c", State: &protocol.PendingState{Meta: protocol.Object(`{"k":1}`)}})
	if got := string(r.tool().State.(*protocol.PendingState).Meta); got != `{"k":1}` {
		t.Errorf("meta %s", got)
	}
	r.says(harness.ToolSet{Call: "c", State: &protocol.InProgressState{}}, harness.InputAppended{Call: "c", Text: "}"})
	if len(r.last.Events) != 1 {
		t.Error("a running tool's input grows")
	}
	r.ends()
	r.done()
}

func TestToolDescription(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.ToolSet{Call: "c"})
	if got := r.tool().ToolName; got != "tool" {
		t.Errorf("a nameless tool is called %q", got)
	}
	line := []protocol.Location{{Path: "/f", Line: new(3.0)}}
	full := harness.ToolSet{Call: "c", Name: "Agent", Kind: protocol.KindOther, Title: "look", Locations: line,
		Subagent: &protocol.Subagent{Type: new("explore")}, Meta: protocol.Object(`{"k":1}`)}
	r.says(full)
	got := r.tool()
	if got.ToolName != "Agent" || got.Kind != protocol.KindTask || *got.Subagent.Type != "explore" || string(got.Meta) != `{"k":1}` {
		t.Errorf("part %+v", got)
	}
	full.Subagent = nil
	if r.says(full); len(r.last.Events) != 0 {
		t.Error("nothing new is shown again")
	}
	if r.says(harness.ToolSet{Call: "c", Kind: protocol.KindEdit, Title: "edit"}); r.tool().Kind != protocol.KindTask {
		t.Error("a sub-agent's call is no task any more")
	}
	r.ends()
	r.done()
}

// A tool that the turn left open may still end, once, and only end.
func TestLateToolEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.ToolSet{Call: "c", Name: "Bash", State: &protocol.InProgressState{}})
	r.ends()
	r.look("the turn's end leaves it to the fold", "message 1 assistant", "part 1.0 Bash in_progress", "message 1 ended", "turn.ended end_turn")
	r.now += 1000
	r.says(harness.ToolSet{Call: "c", State: &protocol.CompletedState{Output: "late"}})
	r.look("its end", "part 1.0 Bash completed")
	if got := r.tool().State.(*protocol.CompletedState).Time; got.Start != epoch || got.End != epoch+1000 {
		t.Errorf("time %+v", got)
	}
	r.says(harness.ToolSet{Call: "c", State: &protocol.CompletedState{Output: "again"}})
	r.look("once")
	r.done()
}

// Another native session may use the same ids for other calls.
func TestCallIDsOfAnotherNativeSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.Created{NativeID: "n1"}, harness.ToolSet{Call: "c", Name: "Bash"})
	r.ends()
	r.running("t2")
	r.says(harness.Created{NativeID: "n2"}, harness.ToolSet{Call: "c", Name: "Read", State: &protocol.InProgressState{}})
	r.look("its own part", "message 1 assistant", "part 1.0 Read in_progress")
	r.ends()
	r.done()
}

// Calls that never end are remembered, but not for ever.
func TestOpenToolsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	for i := range 300 {
		r.says(harness.ToolSet{Call: fmt.Sprint(i), Name: "Bash"})
	}
	r.ends()
	late := func(call string) bool {
		r.says(harness.ToolSet{Call: call, State: &protocol.CancelledState{}})
		return len(r.last.Events) == 1
	}
	if late("43") || !late("44") || !late("299") {
		t.Error("not the oldest were forgotten")
	}
}

// tools are that many calls that never end, and the end of their turn.
func manyTools(many int) []harness.Update {
	updates := make([]harness.Update, 0, many+1)
	for i := range many {
		updates = append(updates, harness.ToolSet{Call: fmt.Sprint("c", i), Name: "Bash"})
	}
	return append(updates, harness.Finished{Reason: protocol.StopEndTurn})
}

// Of too many calls that never end the oldest are forgotten.
func TestManyOpenTools(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t")
	const many = 1000
	r.says(manyTools(many)...)
	late := func(n int) bool {
		return len(r.says(harness.ToolSet{Call: fmt.Sprint("c", n), State: &protocol.CompletedState{}}).Events) == 1
	}
	if late(0) || late(many-257) || !late(many-256) || !late(many-1) {
		t.Error("it is not the oldest that are forgotten")
	}
	r.done()
}

// The end of a turn with calls that never ended: about the same for each of them.
func BenchmarkManyOpenTools(b *testing.B) {
	for _, many := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			h := &scriptedHarness{id: protocol.HarnessClaudeCode}
			updates := manyTools(many)
			for b.Loop() {
				m := session.New(session.Options{SessionID: "s", Harness: h})
				m.Step(epoch, session.StartTurn{TurnID: "t", Config: config(), Input: protocol.TextInput("hi")})
				h.made[len(h.made)-1].next = harness.Output{Updates: updates}
				m.Step(epoch, session.NativeLine{Gen: 1, Line: []byte("{}")})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(many), "ns/tool")
		})
	}
}

// An end that was only assumed at a turn's end is replaced by the call's own, once.
func TestLaw182_assumedEndIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.ToolSet{Call: "a", Name: "run", State: &protocol.InProgressState{}},
		harness.ToolSet{Call: "b", Name: "run", State: &protocol.PendingState{}})
	r.now += 5
	r.says(harness.ToolSet{Call: "a", State: &protocol.FailedState{Error: "nobody said"}, Assumed: true},
		harness.ToolSet{Call: "b", State: &protocol.FailedState{Error: "nobody said"}, Assumed: true})
	r.ends()
	r.forget()
	r.says(harness.ToolSet{Call: "a", State: &protocol.InProgressState{}})
	r.look("an end is not taken back")
	r.now += 5
	for _, call := range []string{"a", "b"} {
		r.says(harness.ToolSet{Call: call, State: &protocol.CompletedState{Output: "done"}})
		r.look("its own end", map[string]string{"a": "part 1.0 run completed", "b": "part 1.1 run completed"}[call])
		end := r.last.Events[0].Event.(*protocol.MessagePart).Part.(*protocol.ToolPart).State.(*protocol.CompletedState)
		start := map[string]int64{"a": epoch, "b": r.now}[call]
		if end.Time != (protocol.Span{Start: start, End: r.now}) {
			t.Errorf("%s ran %+v", call, end.Time)
		}
		r.says(harness.ToolSet{Call: call, State: &protocol.FailedState{Error: "no"}})
		r.look("which is the last")
	}
	r.done()
}
