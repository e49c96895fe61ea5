package reducer

import (
	"fmt"
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// folded folds events spelled in JSON.
func folded(t *testing.T, events ...string) *Conversation {
	t.Helper()
	var c *Conversation
	for _, raw := range events {
		ev, err := protocol.DecodeEvent([]byte(raw))
		if err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		c = Reduce(c, ev)
	}
	return c
}

func startedTurn(id string) string {
	return fmt.Sprintf(`{"type":"turn.started","sessionId":"s","turnId":%q,"timestamp":1}`, id)
}

func startedMessage(id, turn, rest string) string {
	return fmt.Sprintf(`{"type":"message.started","sessionId":"s","turnId":%q,"messageId":%q,"outputIndex":1,"timestamp":1,%s}`, turn, id, rest)
}

func endedMessage(id string) string {
	return fmt.Sprintf(`{"type":"message.ended","sessionId":"s","turnId":"t","messageId":%q,"timestamp":1}`, id)
}

func shownPart(id, message, rest string) string {
	return fmt.Sprintf(`{"type":"message.part","sessionId":"s","turnId":"t","messageId":%q,"outputIndex":1,"partIndex":0,"timestamp":1,`+
		`"part":{"id":%q,"sessionId":"s","messageId":%q,%s}}`, message, id, message, rest)
}

func toolIn(state string) string {
	return `"type":"tool","toolCallId":"c","toolName":"B","state":` + state
}

const (
	assistant  = `"role":"assistant"`
	user       = `"role":"user"`
	someText   = `"type":"text","text":"x","state":"done"`
	thought    = `"type":"reasoning","text":"x"`
	pendingAs  = `{"status":"pending","partialInput":""}`
	runningAs  = `{"status":"in_progress","input":{},"time":{"start":1}}`
	finishedAs = `{"status":"completed","input":{},"output":"out","time":{"start":1,"end":2}}`
	failedAs   = `{"status":"failed","input":{},"error":"why","time":{"start":1,"end":2}}`
	stoppedAs  = `{"status":"cancelled","input":{},"time":{"start":1,"end":2}}`
)

func TestAgentActivity(t *testing.T) {
	t.Parallel()
	open := []string{startedTurn("t"), startedMessage("m", "t", assistant)}
	in := func(part string, more ...string) []string {
		return append(append(append([]string{}, open...), shownPart("p", "m", part)), more...)
	}
	for _, tt := range []struct {
		name   string
		events []string
		want   Activity
	}{
		{"nothing", nil, Idle},
		{"no message", []string{startedTurn("t")}, Idle},
		{"no parts", open, Idle},
		{"text of an open message, whatever its state", in(someText), Generating},
		{"text of an ended message", in(someText, endedMessage("m")), Idle},
		{"reasoning of an open message", in(thought), Thinking},
		{"reasoning of an ended message", in(thought, endedMessage("m")), Idle},
		{"pending tool", in(toolIn(pendingAs)), ToolRunning},
		{"running tool of an ended message", in(toolIn(runningAs), endedMessage("m")), ToolRunning},
		{"failed tool of an ended message", in(toolIn(failedAs), endedMessage("m")), ToolFailed},
		{"completed tool", in(toolIn(finishedAs)), Idle},
		{"cancelled tool", in(toolIn(stoppedAs)), Idle},
		{"image", in(`"type":"image","data":"QUJD","mimeType":"image/png"`), Idle},
		{"file", in(`"type":"file","url":"u","mimeType":"text/plain"`), Idle},
		{"unknown part", in(`"type":"plan","entries":[]`), Idle},
		{"the last part speaks", in(toolIn(runningAs), shownPart("q", "m", thought)), Thinking},
		{"a later user message does not", in(thought, startedMessage("u", "t", user), shownPart("p", "u", someText)), Thinking},
		{"a later sub-agent does not", in(thought, startedMessage("a", "t", assistant+`,"parentToolCallId":"c"`), shownPart("p", "a", someText)), Thinking},
		{"a later message without parts does", in(thought, startedMessage("n", "t", assistant)), Idle},
		{"a later compaction does not", in(thought, `{"type":"session.compaction","sessionId":"s","turnId":"t","compactionId":"k","status":"x","timestamp":1}`), Thinking},
		{"the turn has ended", in(thought, `{"type":"turn.ended","sessionId":"s","turnId":"t","stopReason":"end_turn","timestamp":2}`), Idle},
		{"a later turn without messages", in(thought, startedTurn("u")), Idle},
		{"a later turn has ended", in(thought, `{"type":"turn.ended","sessionId":"s","turnId":"u","stopReason":"end_turn","timestamp":2}`), Thinking},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := AgentActivity(folded(t, tt.events...)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestGroupIntoTurns(t *testing.T) {
	t.Parallel()
	compaction := func(id, turn string) string {
		return fmt.Sprintf(`{"type":"session.compaction","sessionId":"s","turnId":%q,"compactionId":%q,"status":"x","timestamp":1}`, turn, id)
	}
	c := folded(t,
		startedMessage("e1", "t1", user), startedMessage("m1", "t1", assistant), compaction("k1", "t1"), startedMessage("m2", "t1", assistant+`,"parentToolCallId":"c"`),
		startedMessage("e2", "t2", user), compaction("k2", "t3"), startedMessage("late", "t1", assistant), startedMessage("e3", "t1", user))
	var got []string
	for _, g := range GroupIntoTurns(c) {
		line := fmt.Sprint(g.TurnID, " ", g.Role, " ", g.IsLatest)
		for _, e := range g.Entries {
			switch e := e.(type) {
			case *Message:
				line += " " + e.MessageID
			case *Compaction:
				line += " " + e.CompactionID
			}
		}
		got = append(got, line)
	}
	want := []string{
		"t1 user false e1", "t1 assistant false m1 k1 m2", "t2 user false e2", "t3 assistant false k2", "t1 assistant false late", "t1 user true e3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if groups := GroupIntoTurns(nil); len(groups) != 0 {
		t.Errorf("%v", groups)
	}
}

func TestSubagentGroupsAndMessages(t *testing.T) {
	t.Parallel()
	child := func(id, call string) string {
		return startedMessage(id, "t", assistant+fmt.Sprintf(`,"parentToolCallId":%q`, call))
	}
	c := folded(t, child("a1", "b"), startedMessage("m", "t", assistant), child("b1", "a"), child("a2", "b"))
	var got []string
	for _, g := range SubagentGroups(c) {
		for _, m := range g.Messages {
			got = append(got, g.ToolCallID+" "+m.MessageID)
		}
	}
	if diff := cmp.Diff([]string{"b a1", "b a2", "a b1"}, got); diff != "" {
		t.Error(diff)
	}
	var all []string
	for _, m := range ConversationMessages(c) {
		all = append(all, m.MessageID)
	}
	if diff := cmp.Diff([]string{"a1", "m", "b1", "a2"}, all); diff != "" {
		t.Error(diff)
	}
}

func TestPendingPermissions(t *testing.T) {
	t.Parallel()
	ask := func(id string) string {
		return fmt.Sprintf(`{"type":"permission.requested","sessionId":"s","turnId":"t","requestId":%q,"title":"x","options":[],"timestamp":1}`, id)
	}
	c := folded(t, ask("a"), ask("b"), ask("c"),
		`{"type":"permission.resolved","sessionId":"s","turnId":"t","requestId":"b","outcome":{"outcome":"cancelled"},"timestamp":1}`)
	var got []string
	for _, p := range PendingPermissions(c) {
		got = append(got, p.RequestID)
	}
	if diff := cmp.Diff([]string{"a", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestToolResultText(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{finishedAs: "out", failedAs: "why", stoppedAs: "", runningAs: "", pendingAs: ""} {
		c := folded(t, startedTurn("t"), shownPart("p", "m", toolIn(state)))
		p, _ := c.Part("m", "p")
		if got := ToolResultText(p.(*protocol.ToolPart)); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for stop, clean := range map[protocol.StopReason]bool{
		"end_turn": true, "max_tokens": true, "max_turn_requests": true, "refusal": true, "cancelled": true, "error": false, "_odd": false, "": false,
	} {
		if IsCleanStop(stop) != clean || IsFailureStop(stop) == clean {
			t.Errorf("%q: clean %v, failure %v", stop, IsCleanStop(stop), IsFailureStop(stop))
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	plan := func(id, message, entries string) string {
		return shownPart(id, message, `"type":"plan","entries":`+entries)
	}
	first := plan("p", "m1", `[{"content":"a","status":"pending","priority":"high","future":1}]`)
	for _, tt := range []struct {
		name   string
		events []string
		want   []PlanEntry
		known  bool
	}{
		{"none", []string{shownPart("p", "m", someText)}, nil, false},
		{"one", []string{first}, []PlanEntry{{"a", "pending", new("high")}}, true},
		{"updated in place", []string{first, plan("p", "m1", `[{"content":"a","status":"completed"}]`)}, []PlanEntry{{"a", "completed", nil}}, true},
		{"of a later message", []string{first, plan("q", "m2", `[]`)}, []PlanEntry{}, true},
		{"of a later place", []string{first, plan("q", "m1", `[{"content":"b","status":"in_progress"}]`)}, []PlanEntry{{"b", "in_progress", nil}}, true},
		{"a later one with a status of none", []string{first, plan("q", "m2", `[{"content":"b","status":"odd"}]`)}, []PlanEntry{{"a", "pending", new("high")}}, true},
		{"a later one whose body does not fit", []string{first, plan("q", "m2", `"all of it"`)}, []PlanEntry{{"a", "pending", new("high")}}, true},
		{"a later one without entries", []string{first, shownPart("q", "m2", `"type":"plan"`)}, []PlanEntry{{"a", "pending", new("high")}}, true},
		{"entries of another type", []string{shownPart("q", "m2", `"type":"list","entries":[]`)}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, known := Plan(folded(t, tt.events...))
			if diff := cmp.Diff(tt.want, got); diff != "" || known != tt.known {
				t.Errorf("known %v:\n%s", known, diff)
			}
		})
	}
}

func TestSessionInfo(t *testing.T) {
	t.Parallel()
	c := folded(t,
		`{"type":"session.updated","sessionId":"s","title":"one","mode":"plan","modes":[{"id":"plan"}],"backgroundTasks":[{"id":1}],"timestamp":1}`,
		`{"type":"other.updated","title":"another type"}`,
		`{"type":"session.updated","title":7,"mode":"does not fit"}`,
		`{"type":"session.updated","title":"two","commands":[{"name":"/x"}],"model":"m","modes":null,"backgroundTasks":[]}`,
	)
	want := Session{
		Title: new("two"), Mode: new("plan"), Model: new("m"),
		Modes: []byte(`[{"id":"plan"}]`), Commands: []byte(`[{"name":"/x"}]`), BackgroundTasks: []byte(`[]`),
	}
	if diff := cmp.Diff(want, SessionInfo(c)); diff != "" {
		t.Error(diff)
	}
}
