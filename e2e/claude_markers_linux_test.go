package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// markerCase is a prompt and the outline of its turn, entries separated by " · ".
type markerCase struct {
	name   string
	prompt string // FILE stands for a file in the working folder
	want   string
	loose  bool // the order is the CLI's choice: tools start while the message streams
}

var markerCases = []markerCase{
	{name: "text in pieces", prompt: `[[text say="one two three four" pieces=4]]`,
		want: "assistant text · result completed"},
	{name: "reasoning", prompt: `[[think]] [[text say="The answer is 42."]]`,
		want: "assistant thinking · assistant text · result completed"},
	{name: "two blocks", prompt: `[[text say="one"]] [[block]] [[text say="two"]]`,
		want: "assistant text · assistant text · result completed"},
	{name: "unknown event and delta",
		prompt: `[[event]] [[text say="a"]] [[event type=content_block_delta data={"index":0,"delta":{"type":"fake_delta"}}]]`,
		want:   "assistant text · result completed"},
	{name: "usage", prompt: `[[text]] [[usage input=1000 output=50 cache_read=200 cache_write=30]]`,
		want: "assistant text · result completed"},

	{name: "tool without asking",
		prompt: `[[text say="I will run it."]] [[tool name=Bash input={"command":"echo hi"}]] [[then]] [[text say="It said hi."]]`,
		want:   "assistant text · assistant calls Bash · user tool_result · assistant text · result completed"},
	{name: "failing tool without asking", prompt: `[[tool name=Bash input={"command":"cat missing"}]]`,
		want: "assistant calls Bash · user tool_error · assistant text · result completed"},
	{name: "failing tool", prompt: `[[tool name=Bash input={"command":"echo out; exit 3"}]]`,
		want: "assistant calls Bash · asks Bash · user tool_error · assistant text · result completed"},
	{name: "new file", prompt: `[[tool name=Write input={"file_path":"FILE","content":"line 1\nline 2\n"}]]`,
		want: "assistant calls Write · asks Write · user tool_result · assistant text · result completed"},
	{name: "edit", prompt: `[[tool name=Edit input={"file_path":"FILE","old_string":"line 2","new_string":"line two"}]]`,
		want: "assistant calls Edit · asks Edit · user tool_result · assistant text · result completed"},
	{name: "tools at once", loose: true,
		prompt: `[[tool name=Read input={"file_path":"FILE"}]] [[tool name=Bash input={"command":"echo hi"}]]`,
		want:   "assistant calls Read · assistant calls Bash · user tool_result · user tool_result · assistant text · result completed"},
	{name: "tools in turn",
		prompt: `[[tool name=Bash input={"command":"echo 1"}]] [[then]] [[tool name=Bash input={"command":"echo 2"}]]`,
		want:   "assistant calls Bash · user tool_result · assistant calls Bash · user tool_result · assistant text · result completed"},
	{name: "input in parts", prompt: `[[tool name=Bash raw="{\"command\":"]] [[more raw="\"echo hi\"}"]]`,
		want: "assistant calls Bash · user tool_result · assistant text · result completed"},
	{name: "broken input", prompt: `[[tool raw="{\"command\": \"echo"]]`,
		want: "assistant calls Bash · user tool_error · assistant text · result completed"},
	{name: "unknown tool", prompt: `[[tool name=Nothing]]`,
		want: "assistant calls Nothing · user tool_error · assistant text · result completed"},

	{name: "subagent",
		prompt: `[[tool name=Agent input={"description":"Look","subagent_type":"general-purpose","prompt":"[[tool input={\"command\":\"echo sub\"}]]"}]]`,
		want:   "assistant calls Agent · user text · assistant calls Bash · user tool_result · user tool_result · assistant text · result completed"},

	{name: "400", prompt: `[[error status=400]]`, want: "assistant error · result api_error 400"},
	{name: "401", prompt: `[[error status=401]]`, want: "retry · assistant error · result api_error 401"},
	{name: "429", prompt: `[[error status=429 retry_after=0]]`, want: "retry · assistant error · result api_error 429"},
	{name: "500", prompt: `[[error]]`, want: "retry · assistant error · result api_error 500"},
	{name: "529", prompt: `[[error status=529]]`, want: "retry · assistant error · result api_error 529"},
	{name: "529, then ok", prompt: `[[error status=529 times=1]] [[text say="Recovered."]]`,
		want: "retry · assistant text · result completed"},
	{name: "error in the stream", prompt: `[[text say="one"]] [[error status=529 times=1]] [[text say=" two"]]`,
		want: "assistant text · result completed"},
	{name: "error after a tool", prompt: `[[tool input={"command":"echo hi"}]] [[then]] [[error status=400]]`,
		want: "assistant calls Bash · user tool_result · assistant error · result api_error 400"},
	{name: "cut once", prompt: `[[text say="one two"]] [[cut times=1]] [[text say=" three"]]`,
		want: "retry · assistant text · result completed"},
	{name: "cut until the CLI stops streaming", prompt: `[[text say="one two"]] [[cut times=2]] [[text say=" three"]]`,
		want: "retry · assistant text · result completed"},
	{name: "unknown marker", prompt: `[[txt]]`, want: "assistant error · result api_error 400"},

	{name: "token limit once", prompt: `[[text say="cut by the"]] [[stop reason=max_tokens]] [[then]] [[text say=" limit"]]`,
		want: "assistant text · user text · assistant text · result completed"},
	{name: "token limit always", prompt: `[[text say="cut"]] [[stop reason=max_tokens]] [[repeat]]`,
		want: "assistant text · user text · assistant text · user text · assistant text · user text · assistant text · assistant error · result api_error"},
	{name: "refusal once", prompt: `[[text say="no"]] [[stop reason=refusal]]`,
		want: "assistant text · user text · assistant text · result completed"},
	{name: "refusal always", prompt: `[[text say="no"]] [[stop reason=refusal]] [[repeat]]`,
		want: "assistant text · user text · assistant text · assistant error · result api_error"},
	{name: "nothing said", prompt: `[[stop reason=end_turn]]`, want: "user text · result completed"},

	{name: "no marker after all that", prompt: "hello", want: "assistant text · result completed"},
}

// Each marker, as the CLI shows it. One process plays them all, so the cases also prove
// that an earlier script, failed or not, does not reach into a later turn.
func TestClaudePlaysEveryMarker(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	file := filepath.Join(c.cwd, "notes.txt")
	for _, tc := range markerCases {
		got := outline(c.turn(strings.ReplaceAll(tc.prompt, "FILE", file), allow))
		want := strings.Split(tc.want, " · ")
		if tc.loose {
			slices.Sort(got)
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
