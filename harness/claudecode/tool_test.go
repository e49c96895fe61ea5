package claudecode

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestToolViews(t *testing.T) {
	t.Parallel()
	at := func(path string, line *float64) []protocol.Location {
		return []protocol.Location{{Path: path, Line: line}}
	}
	for _, tc := range []struct {
		name, input string
		want        toolView
	}{
		// Who allows a command allows the command, not what the model calls it.
		{"Bash", `{"command":"rm -rf x","description":"Tidy up"}`, toolView{kind: protocol.KindExecute, title: "rm -rf x"}},
		{"Bash", `{"command":"one\ntwo"}`, toolView{kind: protocol.KindExecute, title: "one…"}},
		{"Bash", `{}`, toolView{kind: protocol.KindExecute}},
		{"Read", `{"file_path":"/a","offset":7}`, toolView{kind: protocol.KindRead, title: "Read /a", locations: at("/a", new(7.0))}},
		{"Write", `{"file_path":"/a","content":"x"}`, toolView{kind: protocol.KindEdit, title: "Write /a", locations: at("/a", nil)}},
		{"Edit", `{"file_path":"/a"}`, toolView{kind: protocol.KindEdit, title: "Edit /a", locations: at("/a", nil)}},
		{"NotebookEdit", `{"notebook_path":"/n"}`, toolView{kind: protocol.KindEdit, title: "Edit /n", locations: at("/n", nil)}},
		{"Grep", `{"pattern":"x"}`, toolView{kind: protocol.KindSearch, title: "Search for x"}},
		{"WebFetch", `{"url":"https://h"}`, toolView{kind: protocol.KindFetch, title: "Fetch https://h"}},
		{"WebSearch", `{"query":"x"}`, toolView{kind: protocol.KindFetch, title: "Search the web for x"}},
		{"TodoWrite", `{"todos":[]}`, toolView{kind: protocol.KindThink, title: "Update the to-do list"}},
		{"ExitPlanMode", `{"plan":"x"}`, toolView{kind: protocol.KindSwitchMode, title: "Carry out the plan"}},
		{"AskUserQuestion", `{"questions":[{"question":"Which?"}]}`, toolView{kind: protocol.KindOther, title: "Which?"}},
		{"AskUserQuestion", `{}`, toolView{kind: protocol.KindOther}},
		{"Agent", `{"description":"Count","subagent_type":"general","model":"haiku"}`, toolView{kind: protocol.KindTask, title: "Count",
			subagent: &protocol.Subagent{Type: new("general"), Description: new("Count"), Model: new("haiku")}}},
		{"Task", `{}`, toolView{kind: protocol.KindTask, subagent: &protocol.Subagent{}}},
		{"mcp__files__read", `{"path":"x"}`, toolView{kind: protocol.KindOther, title: "files: read"}},
		{"mcp__odd", `{}`, toolView{kind: protocol.KindOther, title: "mcp__odd"}},
		{"Brand__New", `null`, toolView{kind: protocol.KindOther, title: "Brand__New"}},
		{"Read", `{"file_path":7,"offset":"x"}`, toolView{kind: protocol.KindRead, title: "Read"}},
	} {
		tc.want.name = tc.name
		got := viewOf(tc.name, jsontext.Value(tc.input))
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(toolView{})); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tc.name, tc.input, diff)
		}
	}
}

func TestTitlesAreShort(t *testing.T) {
	t.Parallel()
	got := shorten(strings.Repeat("ü", 300))
	if want := strings.Repeat("ü", 100) + "…"; got != want {
		t.Errorf("%q", got)
	}
	if got := shorten("  \n x \n"); got != "x" {
		t.Errorf("%q", got)
	}
}

// called is a translator with an open call of a tool.
func called(t *testing.T, name, input string) *translator {
	t.Helper()
	tr := running(t)
	feed(tr, assistant("m", `{"type":"tool_use","id":"call","name":"`+name+`","input":`+input+`}`))
	return tr
}

// result is a tool's result; rest are further members of the line.
func result(content, rest string) string {
	return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call",` + content + `}]},"parent_tool_use_id":null` + rest + `}`
}

func TestToolResults(t *testing.T) {
	t.Parallel()
	const rejected = `,"tool_use_result":"User rejected tool use","tool_result_meta":[{"id":"call","non_execution_kind":"user-rejected"}]`
	for _, tc := range []struct {
		name string
		line string
		want protocol.ToolState
	}{
		{"text", result(`"content":"hi","is_error":false`, ``), &protocol.CompletedState{Output: "hi"}},
		{"no error said", result(`"content":"hi"`, ``), &protocol.CompletedState{Output: "hi"}},
		{"nothing", result(`"is_error":false`, ``), &protocol.CompletedState{}},
		{"blocks", result(`"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, ``), &protocol.CompletedState{Output: "a\nb"}},
		{"metadata without bulk", result(`"content":"hi"`, `,"tool_use_result":{"stdout":"hi","stderr":"","interrupted":false,"returnCodeInterpretation":null,"big":"`+strings.Repeat("x", 5000)+`"}`),
			&protocol.CompletedState{Output: "hi", Metadata: protocol.Object(`{"interrupted":false,"stderr":""}`)}},
		{"nothing but bulk", result(`"content":"hi"`, `,"tool_use_result":{"stdout":"hi"}`), &protocol.CompletedState{Output: "hi"}},
		{"an image", result(`"content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","data":"AAAA","media_type":"image/png"}}]`,
			`,"tool_use_result":{"type":"image","file":{"base64":"AAAA"}}`),
			&protocol.CompletedState{Output: "see\n[image image/png]", Metadata: protocol.Object(`{"type":"image"}`), Content: []protocol.ToolContent{
				&protocol.TextContent{Text: "see"}, &protocol.ImageContent{Data: "AAAA", MimeType: "image/png"}}}},
		{"failed", result(`"content":"Exit code 3\nerr","is_error":true`, `,"tool_use_result":"Error: Exit code 3","tool_result_meta":[{"id":"call","permission_decision":{"decision":"accept"}}]`),
			&protocol.FailedState{Error: "Exit code 3\nerr"}},
		{"refused", result(`"content":"no web","is_error":true`, `,"tool_result_meta":[{"id":"call","non_execution_kind":"permission-rule","permission_decision":{"decision":"reject"}}]`),
			&protocol.FailedState{Error: "no web"}},
		{"refused without asking", result(`"content":"needs approval","is_error":true`, `,"tool_result_meta":[{"id":"call","non_execution_kind":"user-rejected","permission_decision":{"decision":"reject"}}]`),
			&protocol.FailedState{Error: "needs approval"}},
		{"interrupted", result(`"content":"The user doesn't want to proceed","is_error":true`, rejected), &protocol.CancelledState{}},
		{"unmarked", result(`"content":"The user doesn't want to proceed","is_error":true`, ``), &protocol.FailedState{Error: "The user doesn't want to proceed"}},
		{"marked for another call", result(`"content":"x","is_error":true`, strings.Replace(rejected, `"call"`, `"other"`, 1)), &protocol.FailedState{Error: "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out := feed(called(t, "Bash", `{"command":"x"}`), tc.line)
			wantUpdates(t, out, harness.ToolSet{Call: "call", State: tc.want})
		})
	}
}

// An older CLI does not mark what an interrupt stopped; that we asked for it is
// then what there is to go by.
func TestToolStoppedByOurCancel(t *testing.T) {
	t.Parallel()
	tr := called(t, "Bash", `{}`)
	tr.Step(harness.Cancel{})
	wantUpdates(t, feed(tr, result(`"content":"x","is_error":true`, ``)), harness.ToolSet{Call: "call", State: &protocol.CancelledState{}})
}

func TestToolDiffs(t *testing.T) {
	t.Parallel()
	const patch = `[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" line 1","-line 2","+line two","\\ No newline at end of file"]},
		{"oldStart":9,"newStart":10,"lines":["-old","","+new"]}]`
	diff := func(before *string, after string) protocol.ToolContent {
		return &protocol.DiffContent{Path: "/a", OldText: before, NewText: after}
	}
	at := func(lines ...float64) []protocol.Location {
		var places []protocol.Location
		for _, line := range lines {
			places = append(places, protocol.Location{Path: "/a", Line: &line})
		}
		return places
	}
	for _, tc := range []struct {
		name, structured string
		content          []protocol.ToolContent
		metadata         string
		locations        []protocol.Location
	}{
		{"edit", `{"filePath":"/a","oldString":"line 2","newString":"line two","originalFile":"…","structuredPatch":[{"newStart":1,"lines":["-a"]}],"userModified":false}`,
			[]protocol.ToolContent{diff(new("a\n"), "")},
			`{"filePath":"/a","structuredPatch":[{"newStart":1,"lines":["-a"]}],"userModified":false}`, at(1)},
		{"two hunks", `{"filePath":"/a","structuredPatch":` + patch + `}`,
			[]protocol.ToolContent{diff(new("line 1\nline 2\n"), "line 1\nline two\n"), diff(new("old\n"), "new\n")}, "", at(1, 10)},
		{"new file", `{"type":"create","filePath":"/a","content":"x\n","structuredPatch":[],"originalFile":null}`,
			[]protocol.ToolContent{diff(nil, "x\n")}, "", nil},
		{"no hunks", `{"filePath":"/a","oldString":"a","newString":"b"}`, []protocol.ToolContent{diff(new("a"), "b")}, "", nil},
		{"nothing changed", `{"type":"update","filePath":"/a","content":"x","structuredPatch":[]}`, nil, "", nil},
		{"no file", `{"oldString":"a","newString":"b"}`, nil, "", nil},
		{"no object", `"Error"`, nil, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out := feed(called(t, "Edit", `{"file_path":"/a"}`), result(`"content":"ok"`, `,"tool_use_result":`+tc.structured))
			set := out.Updates[0].(harness.ToolSet)
			state := set.State.(*protocol.CompletedState)
			if diff := cmp.Diff(tc.content, state.Content); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.locations, set.Locations); diff != "" {
				t.Errorf("locations (-want +got):\n%s", diff)
			}
			if tc.metadata != "" && string(state.Metadata) != tc.metadata {
				t.Errorf("metadata %s", state.Metadata)
			}
		})
	}
}

// Only tools that write files have diffs, whatever another's result looks like.
func TestNoDiffOfOtherTools(t *testing.T) {
	t.Parallel()
	out := feed(called(t, "Bash", `{}`), result(`"content":"ok"`, `,"tool_use_result":{"type":"create","filePath":"/a","content":"x"}`))
	if s := out.Updates[0].(harness.ToolSet).State.(*protocol.CompletedState); s.Content != nil {
		t.Errorf("content %v", s.Content)
	}
}

// One line may hold several results; whose the structured one is is not said.
func TestSeveralResultsInOneLine(t *testing.T) {
	t.Parallel()
	tr := called(t, "Bash", `{}`)
	feed(tr, assistant("m", `{"type":"tool_use","id":"other","name":"Bash","input":{}}`))
	out := feed(tr, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call","content":"a"},{"type":"tool_result","tool_use_id":"other","content":"b"}]},"tool_use_result":{"x":1}}`)
	wantUpdates(t, out,
		harness.ToolSet{Call: "call", State: &protocol.CompletedState{Output: "a"}},
		harness.ToolSet{Call: "other", State: &protocol.CompletedState{Output: "b"}})
}

func TestResultOfAnUnknownCall(t *testing.T) {
	t.Parallel()
	out := feed(running(t), result(`"content":"x"`, ``))
	if len(out.Updates) > 0 || len(out.Diagnostics) != 1 {
		t.Errorf("%v", out)
	}
}

// A call that outlives its turn may still end.
func TestResultAfterTheTurn(t *testing.T) {
	t.Parallel()
	tr := called(t, "Bash", `{}`)
	feed(tr, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	wantUpdates(t, feed(tr, result(`"content":"x"`, ``)), harness.ToolSet{Call: "call", State: &protocol.CompletedState{Output: "x"}})
}

// A part must have an object as its input, whatever the model made up.
func TestInputThatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, input := range []string{`null`, `"x"`, `[]`} {
		out := feed(running(t), assistant("m", `{"type":"tool_use","id":"call","name":"Odd","input":`+input+`}`))
		if s := out.Updates[1].(harness.ToolSet).State.(*protocol.InProgressState); string(s.Input) != "{}" {
			t.Errorf("%s: %s", input, s.Input)
		}
	}
}

// A call that no result can name is not shown.
func TestCallWithoutAnID(t *testing.T) {
	t.Parallel()
	out := feed(running(t), messageStart("m"), blockStart("0", `{"type":"tool_use","name":"Bash"}`),
		assistant("m", `{"type":"tool_use","name":"Bash","input":{}}`))
	wantUpdates(t, out, opened("m"))
	if len(out.Diagnostics) != 1 {
		t.Errorf("diagnostics %v", out.Diagnostics)
	}
}

// A sub-agent's id is learned from its start, or from its first line.
func TestSubagentID(t *testing.T) {
	t.Parallel()
	named := harness.ToolSet{Call: "call", Subagent: &protocol.Subagent{Description: new("Count"), AgentID: new("agent")}}
	for name, line := range map[string]string{
		"start": `{"type":"system","subtype":"task_started","task_id":"agent","task_type":"local_agent","tool_use_id":"call"}`,
		"line":  `{"type":"user","agent_id":"agent","parent_tool_use_id":"call","isReplay":true,"message":{}}`,
	} {
		tr := called(t, "Agent", `{"description":"Count"}`)
		wantUpdates(t, feed(tr, line), named)
		if out := feed(tr, line); len(out.Updates) > 0 {
			t.Errorf("%s: told twice", name)
		}
	}
	tr := called(t, "Bash", `{}`)
	wantUpdates(t, feed(tr, `{"type":"system","subtype":"task_started","task_id":"b","task_type":"local_bash","tool_use_id":"call"}`))
}

// The id is kept where the input comes after it.
func TestSubagentIDSurvivesItsInput(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, messageStart("m"), blockStart("0", `{"type":"tool_use","id":"call","name":"Agent","input":{}}`),
		`{"type":"system","subtype":"task_started","task_id":"agent","task_type":"local_agent","tool_use_id":"call"}`)
	out := feed(tr, assistant("m", `{"type":"tool_use","id":"call","name":"Agent","input":{"description":"Count"}}`))
	if got := out.Updates[0].(harness.ToolSet).Subagent; got.AgentID == nil || *got.AgentID != "agent" {
		t.Errorf("sub-agent %v", got)
	}
}

func TestBackgroundTasks(t *testing.T) {
	t.Parallel()
	tr := running(t)
	set := func(tasks string) string {
		return `{"type":"system","subtype":"background_tasks_changed","tasks":[` + tasks + `]}`
	}
	wantUpdates(t, feed(tr, set("")))
	wantUpdates(t, feed(tr, set(`{"task_id":"a"},{"task_id":"b"}`)), harness.Background{Tasks: []harness.Task{{ID: "a"}, {ID: "b"}}})
	wantUpdates(t, feed(tr, set("")), harness.Background{})
}
