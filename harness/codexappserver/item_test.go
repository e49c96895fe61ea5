package codexappserver

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

func textDone(s string, meta string) *protocol.TextPart {
	p := &protocol.TextPart{Text: s, State: protocol.StateDone}
	if meta != "" {
		p.Meta = protocol.Object(meta)
	}
	return p
}

func TestAgentMessage(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"agentMessage","id":"m","text":""`)
	f.tell("item/agentMessage/delta", `"itemId":"m","delta":"He"`)
	f.tell("item/agentMessage/delta", `"itemId":"m","delta":"llo"`)
	f.completed(`"type":"agentMessage","id":"m","text":"Hello","phase":"final_answer"`)
	key := "thread-1/turn-1/m"
	f.want(
		harness.MessageOpened{Message: "message-1", Model: "m"}, harness.PartOpened{Part: key, Kind: protocol.PartText},
		harness.TextAppended{Part: key, Text: "He"}, harness.TextAppended{Part: key, Text: "llo"},
		harness.PartSet{Part: key, Value: textDone("Hello", `{"codex/phase":"final_answer"}`)},
	)
}

// Several messages in a turn are several messages; none is the last that wins.
func TestPhasesAreMessagesOfTheirOwn(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.completed(`"type":"agentMessage","id":"a","text":"I look.","phase":"commentary"`)
	f.completed(`"type":"agentMessage","id":"b","text":"Fine.","phase":null`)
	f.want(
		harness.MessageOpened{Message: "message-1", Model: "m"},
		harness.PartSet{Part: "thread-1/turn-1/a", Value: textDone("I look.", `{"codex/phase":"commentary"}`)},
		harness.MessageOpened{Message: "message-2", Model: "m"},
		harness.PartSet{Part: "thread-1/turn-1/b", Value: textDone("Fine.", "")},
	)
}

// The completed text is the truth, but an empty one is none; and an item need not
// have been started.
func TestCompletedTextIsTheTruth(t *testing.T) {
	t.Parallel()
	for _, final := range []string{"", "all"} {
		f := running(t)
		f.tell("item/agentMessage/delta", `"itemId":"m","delta":"al"`)
		f.completed(`"type":"agentMessage","id":"m","text":"` + final + `"`)
		if set := last[harness.PartSet](f); set.Value.(*protocol.TextPart).Text != final {
			t.Errorf("%q: closed with %+v", final, set.Value)
		}
	}
}

// Reasoning comes in sections. Where the end holds none of them, they stay.
func TestReasoning(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"reasoning","id":"r","summary":[],"content":[]`)
	f.tell("item/reasoning/summaryPartAdded", `"itemId":"r","summaryIndex":0`)
	f.tell("item/reasoning/summaryTextDelta", `"itemId":"r","summaryIndex":0,"delta":"one"`)
	f.tell("item/reasoning/summaryTextDelta", `"itemId":"r","summaryIndex":1,"delta":"two"`)
	f.tell("item/reasoning/textDelta", `"itemId":"r","contentIndex":0,"delta":"raw"`)
	f.forget()
	f.completed(`"type":"reasoning","id":"r","summary":["one","two"],"content":["raw"]`)
	whole := func(suffix, text string) harness.Update {
		return harness.PartSet{Part: "thread-1/turn-1/r/" + suffix, Value: &protocol.ReasoningPart{Text: text, State: protocol.StateDone}}
	}
	f.want(whole("summary-0", "one"), whole("summary-1", "two"), whole("content-0", "raw"))
}

func TestLaw171_emptyEndKeepsWhatWasStreamed(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("item/reasoning/summaryTextDelta", `"itemId":"r","summaryIndex":0,"delta":"one"`)
	f.forget()
	f.completed(`"type":"reasoning","id":"r","summary":[],"content":[]`)
	f.want(harness.PartSet{Part: "thread-1/turn-1/r/summary-0", Value: &protocol.ReasoningPart{State: protocol.StateDone}})
}

// A message is thought, said, called; whatever is said after that is the next.
func TestMessagesBegin(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.completed(`"type":"reasoning","id":"r1","summary":["a"]`)
	f.completed(`"type":"agentMessage","id":"m1","text":"b"`)
	f.completed(`"type":"webSearch","id":"w1","query":"c"`)
	f.completed(`"type":"webSearch","id":"w2","query":"d"`)
	f.completed(`"type":"reasoning","id":"r2","summary":["e"]`)
	f.completed(`"type":"agentMessage","id":"m2","text":"f"`)
	var order []string
	for _, u := range f.updates {
		switch u := u.(type) {
		case harness.MessageOpened:
			order = append(order, "|")
		case harness.PartSet:
			order = append(order, u.Part[len("thread-1/turn-1/"):][:2])
		case harness.ToolSet:
			if u.State.Status().Terminal() {
				order = append(order, u.Call)
			}
		}
	}
	if got := strings.Join(order, " "); got != "| r1 m1 w1 w2 | r2 m2" {
		t.Error(got)
	}
}

// What is half said when Codex tries again is superseded: the answer comes whole.
func TestRetrySupersedesWhatWasSaid(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("item/agentMessage/delta", `"itemId":"m1","delta":"half"`)
	f.forget()
	f.tell("error", `"error":{"message":"Reconnecting... 1/2","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}},"willRetry":true`)
	if got := last[harness.Abandoned](f); len(got.Parts) != 1 || got.Parts[0] != "thread-1/turn-1/m1" {
		t.Errorf("abandoned %+v", got)
	}
	last[harness.Notice](f)
	f.forget()
	f.tell("item/agentMessage/delta", `"itemId":"m2","delta":"whole"`)
	f.ends("completed")
	if _, ok := f.updates[0].(harness.MessageOpened); !ok {
		t.Errorf("the answer begins with %+v", f.updates[0])
	}
}

// A command's output is what its end says; deltas are lossy.
func TestCommand(t *testing.T) {
	t.Parallel()
	f := running(t)
	const command = `"type":"commandExecution","id":"c","command":"/bin/bash -lc 'ls -l'","cwd":"/w","commandActions":[{"type":"listFiles","command":"ls -l","path":"/w"}]`
	f.started(command + `,"status":"inProgress"`)
	f.tell("item/commandExecution/outputDelta", `"itemId":"c","delta":"par"`)
	f.tell("item/commandExecution/terminalInteraction", `"itemId":"c","processId":"1","stdin":"y\n"`)
	f.completed(command + `,"status":"completed","aggregatedOutput":"part two","exitCode":0,"durationMs":7,"processId":"1"`)
	input, at := protocol.Object(`{"command":"/bin/bash -lc 'ls -l'","cwd":"/w"}`), []protocol.Location{{Path: "/w"}}
	f.want(
		harness.MessageOpened{Message: "message-1", Model: "m"},
		harness.ToolSet{Call: "c", Name: "commandExecution", Kind: protocol.KindSearch, Title: "ls -l", Locations: at, State: &protocol.InProgressState{Input: input}},
		harness.ToolSet{Call: "c", Kind: protocol.KindSearch, Title: "ls -l", Locations: at, State: &protocol.CompletedState{
			Input: input, Output: "part two", Metadata: protocol.Object(`{"exitCode":0,"durationMs":7,"processId":"1"}`),
		}},
	)
}

func TestCommandFails(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"status":"failed","aggregatedOutput":"oops\n","exitCode":3`: "Exit code 3\noops\n",
		`"status":"failed","aggregatedOutput":null,"exitCode":null`:  "The command failed.",
		`"status":"declined"`: "This was refused.",
	} {
		f := running(t)
		f.completed(`"type":"commandExecution","id":"c","command":"x",` + members)
		if s, ok := stateOfCall(f, "c").(*protocol.FailedState); !ok || s.Error != want {
			t.Errorf("%s: %+v", members, stateOfCall(f, "c"))
		}
	}
}

func TestCommandTitles(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`/bin/bash -lc 'echo a'`: "echo a", `/bin/sh -c 'a b'`: "a b", `/bin/bash -lc "x 'y' z"`: `/bin/bash -lc "x 'y' z"`,
		`/bin/bash -lc 'a'"'"'b'`: `/bin/bash -lc 'a'"'"'b'`, `ls`: "ls",
	} {
		if got := unwrap(command); got != want {
			t.Errorf("%s: %s", command, got)
		}
	}
}

// New and deleted files come whole, changed ones as hunks; a move says where to
// behind them.
func TestFileChange(t *testing.T) {
	t.Parallel()
	f := running(t)
	const changes = `"changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"},{"path":"/w/b","kind":{"type":"delete"},"diff":"y\n"},` +
		`{"path":"/w/c","kind":{"type":"update","move_path":"/w/d"},"diff":"@@ -1,2 +1,2 @@\n k\n-m\n+n\n@@ -9 +9 @@\n-o\n+p\n\nMoved to: /w/d"}]`
	f.completed(`"type":"fileChange","id":"c",` + changes + `,"status":"completed"`)
	u := last[harness.ToolSet](f)
	s := u.State.(*protocol.CompletedState)
	want := []protocol.ToolContent{
		&protocol.DiffContent{Path: "/w/a", NewText: "x\n"}, &protocol.DiffContent{Path: "/w/b", OldText: new("y\n")},
		&protocol.DiffContent{Path: "/w/c", OldText: new("k\nm\n"), NewText: "k\nn\n"},
		&protocol.DiffContent{Path: "/w/c", OldText: new("o\n"), NewText: "p\n"},
	}
	if diff := cmp.Diff(want, s.Content); diff != "" {
		t.Error(diff)
	}
	if u.Title != "change 3 files" || len(u.Locations) != 4 || s.Output != "add /w/a\ndelete /w/b\nupdate /w/c to /w/d" {
		t.Errorf("%+v %q", u, s.Output)
	}
}

func TestPatchUpdated(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"fileChange","id":"c","changes":[]`)
	f.tell("item/fileChange/patchUpdated", `"itemId":"c","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x"}]`)
	if u := last[harness.ToolSet](f); u.Title != "add a" {
		t.Errorf("%+v", u)
	}
}

func TestMCPTool(t *testing.T) {
	t.Parallel()
	f := running(t)
	const call = `"type":"mcpToolCall","id":"c","server":"lab","tool":"echo","arguments":{"x":1}`
	f.started(call)
	f.tell("item/mcpToolCall/progress", `"itemId":"c","message":"half"`)
	if s := stateOfCall(f, "c").(*protocol.InProgressState); *s.Title != "half" {
		t.Errorf("progress %+v", s)
	}
	f.completed(call + `,"status":"completed","result":{"content":[{"type":"text","text":"hey"},{"type":"image","data":"AA==","mimeType":"image/png"}],"structuredContent":{"n":1}}`)
	s := stateOfCall(f, "c").(*protocol.CompletedState)
	want := &protocol.CompletedState{
		Input: protocol.Object(`{"x":1}`), Output: "hey", Metadata: protocol.Object(`{"structuredContent":{"n":1}}`),
		Content: []protocol.ToolContent{&protocol.TextContent{Text: "hey"}, &protocol.ImageContent{Data: "AA==", MimeType: "image/png"}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	for members, want := range map[string]string{
		`"error":{"message":"user rejected MCP tool call"}`:         "user rejected MCP tool call",
		`"result":{"content":[{"type":"text","text":"it failed"}]}`: "it failed",
		`"result":null`: "Codex did not say why this failed",
	} {
		f := running(t)
		f.completed(call + `,"status":"failed",` + members)
		if s, ok := stateOfCall(f, "c").(*protocol.FailedState); !ok || s.Error != want {
			t.Errorf("%s: %+v", members, stateOfCall(f, "c"))
		}
	}
}

func TestOtherItems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, item string
		want       harness.ToolSet
	}{
		{"dynamic tool", `"type":"dynamicToolCall","id":"c","namespace":"n","tool":"t","arguments":"a","success":true,"contentItems":[{"type":"inputText","text":"x"},{"type":"inputImage","imageUrl":"data:image/png;base64,AA=="}]`,
			harness.ToolSet{Name: "n.t", Kind: protocol.KindOther, State: &protocol.CompletedState{Input: protocol.Object(`{"arguments":"a"}`), Output: "x",
				Content: []protocol.ToolContent{&protocol.TextContent{Text: "x"}, &protocol.ImageContent{Data: "AA==", MimeType: "image/png"}}}}},
		{"web search", `"type":"webSearch","id":"c","query":"q","action":{"type":"search"},"results":[1]`,
			harness.ToolSet{Name: "webSearch", Kind: protocol.KindSearch, Title: "q", State: &protocol.CompletedState{
				Input: protocol.Object(`{"query":"q","action":{"type":"search"}}`), Output: "[1]"}}},
		{"image view", `"type":"imageView","id":"c","path":"/w/dot.png"`,
			harness.ToolSet{Name: "imageView", Kind: protocol.KindRead, Title: "dot.png", Locations: []protocol.Location{{Path: "/w/dot.png"}},
				State: &protocol.CompletedState{Input: protocol.Object(`{"path":"/w/dot.png"}`)}}},
		{"image made", `"type":"imageGeneration","id":"c","status":"completed","revisedPrompt":"a cat","savedPath":"/w/cat.png"`,
			harness.ToolSet{Name: "imageGeneration", Kind: protocol.KindOther, Locations: []protocol.Location{{Path: "/w/cat.png"}},
				State: &protocol.CompletedState{Input: protocol.Object(`{"revisedPrompt":"a cat"}`), Output: "a cat"}}},
		{"unknown", `"type":"from_the_future","id":"c","x":[1]`,
			harness.ToolSet{Name: "from_the_future", Kind: protocol.KindOther,
				State: &protocol.CompletedState{Input: protocol.Object(`{"type":"from_the_future","id":"c","x":[1]}`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t)
			f.completed(tt.item)
			first := f.updates[1].(harness.ToolSet)
			got := last[harness.ToolSet](f)
			got.Name = first.Name
			tt.want.Call = "c"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A plan is one part a turn, always whole.
func TestPlan(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("turn/plan/updated", `"explanation":"why","plan":[{"step":"look","status":"completed"},{"step":"do","status":"inProgress"},{"step":"end","status":"pending"}]`)
	f.tell("turn/plan/updated", `"plan":[]`)
	plan := func(entries string) harness.Update {
		return harness.PartSet{Part: "thread-1/turn-1/plan", Value: &protocol.UnknownPart{
			Kind: protocol.PartPlan, Raw: protocol.Object(`{"type":"plan","entries":[` + entries + `]}`),
		}}
	}
	f.want(plan(`{"content":"look","status":"completed"},{"content":"do","status":"in_progress"},{"content":"end","status":"pending"}`), plan(""))
}

// A plan that is written as prose is said.
func TestPlanItemIsText(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"plan","id":"p","text":""`)
	f.tell("item/plan/delta", `"itemId":"p","delta":"# Do"`)
	f.completed(`"type":"plan","id":"p","text":"# Do it"`)
	if set := last[harness.PartSet](f); set.Value.(*protocol.TextPart).Text != "# Do it" {
		t.Errorf("%+v", set)
	}
}

// What a sub-agent says and does is shown below the call that spawned it, also
// what it said before the call named it.
func TestLaw172_subAgentsBelowTheirCall(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"collabAgentToolCall","id":"spawn","tool":"spawnAgent","prompt":"go"`)
	f.tellOf("sub", "s-1", "turn/started", `"turn":{"id":"s-1"}`)
	f.tellOf("sub", "s-1", "item/completed", `"item":{"type":"userMessage","id":"u","content":[{"type":"text","text":"go"}]}`)
	none[harness.PartSet](f)
	f.completed(`"type":"collabAgentToolCall","id":"spawn","tool":"spawnAgent","prompt":"go","model":"m2","receiverThreadIds":["sub"],"status":"completed","agentsStates":{"sub":{"status":"pendingInit","message":null}}`)
	if u := last[harness.ToolSet](f); u.Kind != protocol.KindTask || *u.Subagent.AgentID != "sub" || *u.Subagent.Model != "m2" {
		t.Errorf("spawn %+v", u)
	}
	f.tellOf("sub", "s-1", "item/completed", `"item":{"type":"commandExecution","id":"c","command":"ls","status":"completed"}`)
	f.tellOf("sub", "s-1", "item/agentMessage/delta", `"itemId":"m","delta":"hi"`)
	for _, u := range f.updates {
		switch u := u.(type) {
		case harness.PartSet:
			if u.Owner != "spawn" || u.Role != protocol.RoleUser {
				t.Errorf("%+v", u)
			}
		case harness.PartOpened:
			if u.Owner != "spawn" {
				t.Errorf("%+v", u)
			}
		case harness.ToolSet:
			if u.Call == "c" && u.Name != "" && u.Owner != "spawn" {
				t.Errorf("%+v", u)
			}
		}
	}
	last[harness.PartSet](f)
	f.tellOf("stranger", "s-9", "item/agentMessage/delta", `"itemId":"m","delta":"no"`)
	if strings.HasSuffix(last[harness.TextAppended](f).Text, "no") {
		t.Error("a stranger is heard")
	}
}

// The newer kind of item announces a sub-agent as well, and its end may come after
// the turn's.
func TestSubAgentActivity(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.completed(`"type":"subAgentActivity","id":"a","kind":"started","agentThreadId":"sub","agentPath":"root/look","model":"m2"`)
	f.tellOf("sub", "s-1", "turn/started", `"turn":{"id":"s-1"}`)
	f.ends("completed")
	if b := last[harness.Background](f); len(b.Tasks) != 1 || b.Tasks[0].Call != "a" || b.Tasks[0].Description != "root/look" {
		t.Errorf("background %+v", b)
	}
	f.forget()
	f.tellOf("sub", "s-1", "turn/completed", `"turn":{"id":"s-1","status":"completed"}`)
	f.want(harness.Background{})
}

// Two threads may use one id for different calls.
func TestCallIDsOfTwoThreads(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.completed(`"type":"subAgentActivity","id":"a","kind":"started","agentThreadId":"sub"`)
	f.started(`"type":"webSearch","id":"c","query":"q"`)
	f.tellOf("sub", "s-1", "item/started", `"item":{"type":"webSearch","id":"c","query":"q"}`)
	if u := last[harness.ToolSet](f); u.Call != "sub/c" || u.Owner != "a" {
		t.Errorf("%+v", u)
	}
}

// An item of a turn that is over is not shown in the next.
func TestStaleItems(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tellOf(thread, "turn-0", "item/completed", `"item":{"type":"agentMessage","id":"m","text":"late"}`)
	f.tellOf(thread, "turn-0", "item/started", `"item":{"type":"commandExecution","id":"c","command":"x"}`)
	f.tellOf(thread, "turn-0", "turn/plan/updated", `"plan":[]`)
	f.want()
	f.started(`"type":"agentMessage"`) // without an id
	f.want()
}
