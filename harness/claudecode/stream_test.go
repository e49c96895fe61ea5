package claudecode

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// Lines of a stream, as short as they can be.
func streamEvent(event string) string {
	return `{"type":"stream_event","event":` + event + `,"parent_tool_use_id":null}`
}

func messageStart(id string) string {
	return streamEvent(`{"type":"message_start","message":{"id":"` + id + `","model":"opus","usage":{"input_tokens":10,"cache_read_input_tokens":5}}}`)
}

func blockStart(index, block string) string {
	return streamEvent(`{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`)
}

func delta(index, body string) string {
	return streamEvent(`{"type":"content_block_delta","index":` + index + `,"delta":` + body + `}`)
}

func textOf(literal string) string { return `{"type":"text_delta","text":` + literal + `}` }

func assistant(id, block string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","model":"opus","content":[` + block + `],"stop_reason":null},"parent_tool_use_id":null}`
}

func sub(owner, id, block string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","model":"opus","content":[` + block + `],"stop_reason":null},"parent_tool_use_id":"` + owner + `","agent_id":"agent"}`
}

const (
	textBegins = `{"type":"text","text":""}`
	bashBegins = `{"type":"tool_use","id":"bash","name":"Bash","input":{}}`
	stop       = `{"type":"stream_event","event":{"type":"message_stop"},"parent_tool_use_id":null}`
	aborted    = `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","user_message_uuids":["id-1"]}`
)

func opened(id string) harness.Update { return harness.MessageOpened{Message: id, Model: "opus"} }

func done(key, text string) harness.Update {
	return harness.PartSet{Part: key, Role: protocol.RoleAssistant, Value: &protocol.TextPart{Text: text, State: protocol.StateDone}}
}

func TestStreamedText(t *testing.T) {
	t.Parallel()
	out := feed(running(t),
		messageStart("m"), blockStart("0", textBegins), delta("0", textOf(`"Hel"`)), delta("0", textOf(`""`)), delta("0", textOf(`"lo\n"`)),
		assistant("m", `{"type":"text","text":"Hello\n"}`), streamEvent(`{"type":"content_block_stop","index":0}`),
		streamEvent(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`), stop)
	wantUpdates(t, out,
		opened("m"),
		harness.PartOpened{Part: "m:0", Kind: protocol.PartText},
		harness.TextAppended{Part: "m:0", Text: "Hel"},
		harness.TextAppended{Part: "m:0", Text: "lo\n"},
		done("m:0", "Hello\n"),
		harness.Usage{Used: 22},
		harness.MessageClosed{},
	)
}

func TestStreamedThinkingAndTool(t *testing.T) {
	t.Parallel()
	out := feed(running(t),
		messageStart("m"), blockStart("0", `{"type":"thinking","thinking":"","signature":""}`),
		delta("0", `{"type":"thinking_delta","thinking":"hm"}`), delta("0", `{"type":"signature_delta","signature":"c2ln"}`),
		`{"type":"assistant","message":{"id":"m","model":"opus","content":[{"type":"thinking","thinking":"hm"}]},"timestamp":"2026-01-01T00:00:01.500Z","thinking_duration_ms":500}`,
		blockStart("1", bashBegins), delta("1", `{"type":"input_json_delta","partial_json":"{\"command\":"}`), delta("1", `{"type":"input_json_delta","partial_json":"\"ls\"}"}`),
		assistant("m", `{"type":"tool_use","id":"bash","name":"Bash","input":{"command":"ls"}}`), stop)
	wantUpdates(t, out,
		opened("m"),
		harness.PartOpened{Part: "m:0", Kind: protocol.PartReasoning},
		harness.TextAppended{Part: "m:0", Text: "hm"},
		harness.PartSet{Part: "m:0", Role: protocol.RoleAssistant, Value: &protocol.ReasoningPart{
			Text: "hm", State: protocol.StateDone, Time: &protocol.OpenSpan{Start: 1767225601000, End: new(int64(1767225601500))}}},
		harness.ToolSet{Call: "bash", Name: "Bash", Kind: protocol.KindExecute, State: &protocol.PendingState{}},
		harness.InputAppended{Call: "bash", Text: `{"command":`},
		harness.InputAppended{Call: "bash", Text: `"ls"}`},
		harness.ToolSet{Call: "bash", Name: "Bash", Kind: protocol.KindExecute, Title: "ls", State: &protocol.InProgressState{Input: protocol.Object(`{"command":"ls"}`)}},
		harness.MessageClosed{},
	)
}

// A block may begin with some of its text.
func TestBlockThatBeginsWithText(t *testing.T) {
	t.Parallel()
	wantUpdates(t, feed(running(t), messageStart("m"), blockStart("0", `{"type":"text","text":"So"}`)),
		opened("m"), harness.PartOpened{Part: "m:0", Kind: protocol.PartText}, harness.TextAppended{Part: "m:0", Text: "So"})
}

// Half a surrogate pair is no character: it waits for its other half.
func TestSurrogatesAcrossDeltas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		literals []string
		whole    string
		want     []string
	}{
		{"a pair in two deltas", []string{`"a\ud83d"`, `"\ude00b"`}, `"a\ud83d\ude00b"`, []string{"a", "😀b"}},
		{"a pair and nothing more", []string{`"\ud83d"`, `"\ude00"`}, `"\ud83d\ude00"`, []string{"😀"}},
		{"upper case", []string{`"\uD83D"`, `"\uDE00"`}, `"\uD83D\uDE00"`, []string{"😀"}},
		{"one that stays alone", []string{`"a\ud83d"`, `"b"`}, `"a\ud83db"`, []string{"a", "\uFFFDb"}},
		{"one at the end", []string{`"a\ud83d"`}, `"a\ud83d"`, []string{"a", "\uFFFD"}},
		{"two in a row", []string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, `"\ud83d\ud83d\ude00"`, []string{"\uFFFD", "😀"}},
		{"a low one first", []string{`"\ude00a"`}, `"\ude00a"`, []string{"\uFFFDa"}},
		{"an escaped backslash", []string{`"\\ud83d"`, `"x"`}, `"\\ud83dx"`, []string{`\ud83d`, "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := running(t)
			feed(tr, messageStart("m"), blockStart("0", textBegins))
			var out harness.Output
			for _, literal := range tc.literals {
				out.Updates = append(out.Updates, feed(tr, delta("0", textOf(literal))).Updates...)
			}
			out.Updates = append(out.Updates, feed(tr, assistant("m", `{"type":"text","text":`+tc.whole+`}`)).Updates...)
			var want []harness.Update
			for _, text := range tc.want {
				want = append(want, harness.TextAppended{Part: "m:0", Text: text})
			}
			wantUpdates(t, out, append(want, done("m:0", strings.Join(tc.want, "")))...)
		})
	}
}

// No line completes the block: what is held is shown before it is closed.
func TestSurrogateAtTheEndOfAStream(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"stopped": stop, "cut": messageStart("n")} {
		tr := running(t)
		feed(tr, messageStart("m"), blockStart("0", textBegins), delta("0", textOf(`"\ud83d"`)))
		out := feed(tr, line)
		if diff := cmp.Diff(harness.Update(harness.TextAppended{Part: "m:0", Text: "\uFFFD"}), out.Updates[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The CLI takes back what a broken stream had shown, and the retry says it again.
func TestAbandonedBlocks(t *testing.T) {
	t.Parallel()
	broken := []string{messageStart("m"), blockStart("0", textBegins), delta("0", textOf(`"a"`)), blockStart("1", bashBegins)}
	shown := []harness.Update{
		opened("m"), harness.PartOpened{Part: "m:0", Kind: protocol.PartText}, harness.TextAppended{Part: "m:0", Text: "a"},
		harness.ToolSet{Call: "bash", Name: "Bash", Kind: protocol.KindExecute, State: &protocol.PendingState{}},
	}
	stopAt := func(from string) string {
		return `{"type":"stream_event","event":{"type":"message_stop"},"abandoned_blocks":{"api_message_id":"m","from_block_index":` + from + `}}`
	}
	both := harness.Abandoned{Parts: []string{"m:0", "bash"}}
	for _, tc := range []struct {
		name  string
		lines []string
		want  []harness.Update
	}{
		{"all", []string{stopAt("0")}, []harness.Update{both}},
		{"from the tool on", []string{assistant("m", `{"type":"text","text":"a"}`), stopAt("1")},
			[]harness.Update{done("m:0", "a"), harness.Abandoned{Parts: []string{"bash"}}}},
		{"none, as after an interrupt", []string{assistant("m", `{"type":"text","text":"a"}`), stopAt("2")},
			[]harness.Update{done("m:0", "a"), harness.MessageClosed{}}},
		{"another message's", []string{strings.Replace(stopAt("0"), `"m"`, `"x"`, 1)}, []harness.Update{harness.MessageClosed{}}},
		{"no mark, but another message", []string{messageStart("n")}, []harness.Update{both, opened("n")}},
		{"no mark, and the text was complete", []string{assistant("m", `{"type":"text","text":"a"}`), messageStart("n")},
			[]harness.Update{done("m:0", "a"), harness.Abandoned{Parts: []string{"bash"}}, opened("n")}},
		{"complete, but the CLI names it", []string{assistant("m", `{"type":"text","text":"a"}`), stopAt("0")}, []harness.Update{done("m:0", "a"), both}},
		{"no stream any more", []string{stopAt("0"), `{"type":"assistant","message":{"id":"n","model":"opus","content":[{"type":"text","text":"a b"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}}`},
			[]harness.Update{both, opened("n"), done("n:whole:0", "a b"), harness.Usage{Used: 3}}},
		{"no mark and no stream", []string{assistant("n", `{"type":"text","text":"a b"}`)},
			[]harness.Update{both, opened("n"), done("n:whole:0", "a b")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out := feed(running(t), append(append([]string(nil), broken...), tc.lines...)...)
			wantUpdates(t, out, append(append([]harness.Update(nil), shown...), tc.want...)...)
		})
	}
}

// After an interrupt the partial text is complete as it stands; a block without
// such a line is left to the machine to close.
func TestInterruptInMidStream(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, messageStart("m"), blockStart("0", textBegins), delta("0", textOf(`"s000 "`)))
	tr.Step(harness.Cancel{})
	out := feed(tr,
		`{"type":"assistant","aborted":true,"message":{"id":"m","model":"opus","content":[{"type":"text","text":"s000 "}]}}`,
		`{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`,
		streamEvent(`{"type":"content_block_stop","index":0}`), stop, aborted)
	wantUpdates(t, out,
		done("m:0", "s000 "), harness.MessageClosed{},
		harness.Usage{Used: 15},
		harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_streaming"})
}

// The same block is completed once, whatever comes late.
func TestDeltasThatComeTooLate(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, messageStart("m"), blockStart("0", textBegins), delta("0", textOf(`"a"`)), assistant("m", `{"type":"text","text":"a"}`))
	wantUpdates(t, feed(tr, delta("0", textOf(`"b"`))))
	feed(tr, blockStart("1", textBegins), stop)
	wantUpdates(t, feed(tr, delta("1", textOf(`"b"`))))
}

// Deltas name blocks by index and by kind; where that does not fit, nothing grows.
func TestDeltasThatFitNoBlock(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		delta("0", `{"type":"thinking_delta","thinking":"x"}`), delta("1", textOf(`"x"`)), delta("-1", textOf(`"x"`)),
		delta("0", `{"type":"text_delta","text":null}`), delta("0", `{"type":"text_delta"}`), delta("0", `null`),
		delta("1e300", textOf(`"x"`)),
	} {
		tr := running(t)
		feed(tr, messageStart("m"), blockStart("0", textBegins))
		wantUpdates(t, feed(tr, line))
	}
	wantUpdates(t, feed(running(t), delta("0", textOf(`"x"`))))
}

// A block out of order is not shown while it streams; its line still shows it.
func TestBlockOutOfOrder(t *testing.T) {
	t.Parallel()
	out := feed(running(t), messageStart("m"), blockStart("1", textBegins), delta("1", textOf(`"x"`)), assistant("m", `{"type":"text","text":"x"}`))
	wantUpdates(t, out, opened("m"), done("m:whole:0", "x"))
	if len(out.Diagnostics) != 1 {
		t.Errorf("diagnostics %v", out.Diagnostics)
	}
}

// An empty block gets no line of its own; the line after it is the next one's.
func TestLineAfterAnEmptyBlock(t *testing.T) {
	t.Parallel()
	out := feed(running(t), messageStart("m"), blockStart("0", textBegins), streamEvent(`{"type":"content_block_stop","index":0}`),
		blockStart("1", textBegins), delta("1", textOf(`"x"`)), assistant("m", `{"type":"text","text":"x"}`))
	if last := out.Updates[len(out.Updates)-1]; last.(harness.PartSet).Part != "m:1" {
		t.Errorf("completed %v", last)
	}
}

// A sub-agent speaks in the middle of the main agent's message: the message that
// the machine has open by then is the sub-agent's, and its end is not the other's.
func TestSubagentInMidMessage(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, messageStart("m"), blockStart("0", `{"type":"tool_use","id":"task","name":"Agent","input":{}}`),
		assistant("m", `{"type":"tool_use","id":"task","name":"Agent","input":{"description":"Count","subagent_type":"general"}}`))
	out := feed(tr,
		`{"type":"user","uuid":"u","parent_tool_use_id":"task","agent_id":"agent","message":{"content":[{"type":"text","text":"count"}]}}`,
		sub("task", "s1", `{"type":"text","text":"one"}`), stop, sub("task", "s1", `{"type":"text","text":"two"}`),
		sub("task", "s2", `{"type":"text","text":"three"}`),
		messageStart("n"))
	said := func(key, text string) harness.Update {
		return harness.PartSet{Part: key, Owner: "task", Role: protocol.RoleAssistant, Value: &protocol.TextPart{Text: text, State: protocol.StateDone}}
	}
	wantUpdates(t, out,
		harness.ToolSet{Call: "task", Subagent: &protocol.Subagent{Type: new("general"), Description: new("Count"), AgentID: new("agent")}},
		harness.PartSet{Part: "u:0", Owner: "task", Role: protocol.RoleUser, Value: &protocol.TextPart{Text: "count", State: protocol.StateDone}},
		harness.MessageClosed{}, said("s1:whole:0", "one"), said("s1:whole:1", "two"),
		harness.MessageClosed{}, said("s2:whole:0", "three"),
		opened("n"))
}

func TestInterruptNoteOfASubagentIsNotItsTask(t *testing.T) {
	t.Parallel()
	tr := running(t)
	wantUpdates(t, feed(tr, `{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`))
}

// What the provider has encrypted is shown as thought without words.
func TestRedactedThinking(t *testing.T) {
	t.Parallel()
	out := feed(running(t), messageStart("m"), blockStart("0", `{"type":"redacted_thinking","data":"secret"}`),
		assistant("m", `{"type":"redacted_thinking","data":"secret"}`))
	wantUpdates(t, out, opened("m"), harness.PartSet{Part: "m:whole:0", Role: protocol.RoleAssistant, Value: &protocol.ReasoningPart{
		State: protocol.StateDone, ProviderMetadata: protocol.Object(`{"anthropic":{"redacted":true}}`)}})
}

// Where the time of a thought is not said, none is made up.
func TestThinkingWithoutTime(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{``, `,"timestamp":"yesterday","thinking_duration_ms":5`, `,"timestamp":"2026-01-01T00:00:01Z"`,
		`,"timestamp":"2026-01-01T00:00:01Z","thinking_duration_ms":9e15`, `,"timestamp":"2026-01-01T00:00:01Z","thinking_duration_ms":-1`} {
		out := feed(running(t), `{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"x"}]}`+rest+`}`)
		if p := out.Updates[1].(harness.PartSet).Value.(*protocol.ReasoningPart); p.Time != nil {
			t.Errorf("%s: %v", rest, p.Time)
		}
	}
}

// What a local command answers is shown, without a model.
func TestLocalCommandAnswer(t *testing.T) {
	t.Parallel()
	out := feed(running(t), `{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"Usage"}],"stop_reason":"end_turn","usage":{"input_tokens":0}}}`)
	wantUpdates(t, out, harness.MessageOpened{Message: "m"}, done("m:whole:0", "Usage"))
}

// An API error is the turn's, not something that the model said.
func TestAPIErrorIsNoMessage(t *testing.T) {
	t.Parallel()
	wantUpdates(t, feed(running(t),
		`{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"is_api_error_message":true,"error":"unknown"}`,
		`{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"error":"rate_limit"}`))
}

func TestUnstreamedMessageOfSeveralBlocks(t *testing.T) {
	t.Parallel()
	wantUpdates(t, feed(running(t), assistant("m", `{"type":"text","text":"a"},{"type":"text","text":"b"}`), assistant("m", `{"type":"text","text":"c"}`)),
		opened("m"), done("m:whole:0", "a"), done("m:whole:1", "b"), done("m:whole:2", "c"))
}
