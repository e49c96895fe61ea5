package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"agent-server/internal/fakemodel"

	"github.com/google/go-cmp/cmp"
)

// The first thing to hold: the CLI takes the fake for its model.
func TestClaudeSpeaksToFakeModel(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	result := resultOf(c.turn("hello", deny))
	if result["is_error"] != false || result["result"] != fakemodel.DefaultText {
		t.Errorf("result %v", result)
	}
	requests := c.srv.Requests()
	if len(requests) != 1 || requests[0].Path != "/v1/messages?beta=true" || !requests[0].Stream {
		t.Errorf("the CLI made other requests than one: %d", len(requests))
	}
}

// A permission is asked for on stdio, and both answers reach the tool.
func TestClaudeAsksForPermission(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	touch := `[[tool name=Bash input={"command":"touch made","description":"Create a file"}]]`
	for _, tc := range []struct {
		answer verdict
		result string
		made   bool
	}{
		{deny, "user tool_error", false},
		{allow, "user tool_result", true},
	} {
		got := outline(c.turn(touch, tc.answer))
		want := []string{"assistant calls Bash", "asks Bash", tc.result, "assistant text", "result completed"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("turn (-want +got):\n%s", diff)
		}
		if _, err := os.Stat(filepath.Join(c.cwd, "made")); (err == nil) != tc.made {
			t.Errorf("made is %v, want %v", err == nil, tc.made)
		}
	}
}

// An interrupt meets the model in mid-text, and the model notices.
func TestClaudeInterruptsAStall(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	c.prompt(`[[text say="word " repeat=20 pieces=20]] [[stall]]`)
	c.waitStalled(fakemodel.DefaultGate)
	c.interrupt()
	if got := reasonOf(resultOf(c.rest(deny))); got != "aborted_streaming" {
		t.Errorf("the turn ended with %s", got)
	}
	gone := func(requests []fakemodel.Request) bool { return requests[0].State == fakemodel.Gone }
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.srv.Wait(ctx, gone); err != nil {
		t.Error(err)
	}
}

// An interrupt before the first byte of an answer.
func TestClaudeInterruptsAnUnansweredRequest(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	c.prompt("[[stall]] [[text]]")
	c.waitStalled(fakemodel.DefaultGate)
	c.interrupt()
	lines := c.rest(deny)
	if got := reasonOf(resultOf(lines)); got != "aborted_streaming" {
		t.Errorf("the turn ended with %s", got)
	}
	if slices.ContainsFunc(lines, isType("stream_event")) {
		t.Error("something was streamed, so the stall came too late")
	}
}

// An interrupt while a command runs. The command opens a pipe, so its start is seen
// without waiting for a time.
func TestClaudeInterruptsATool(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	pipe := filepath.Join(c.cwd, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c.prompt(`[[tool name=Bash input={"command":"echo up > pipe; sleep 300"}]]`)
	request := c.last(isType("control_request"))
	c.answer(request, allow(request["request"].(object)))
	if said, err := os.ReadFile(pipe); err != nil || string(said) != "up\n" {
		t.Fatalf("the command said %q: %v", said, err)
	}
	c.interrupt()
	if got := reasonOf(resultOf(c.rest(deny))); got != "aborted_tools" {
		t.Errorf("the turn ended with %s", got)
	}
}

// A stream is cut after the CLI has shown a part of it: the CLI takes that part back.
// A cut right behind a delta would overtake it inside the CLI, so a gate stands between.
func TestClaudeTakesBackACutStream(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	c.prompt(`[[text say="one two"]] [[stall gate=seen]] [[cut times=1]] [[text say=" three"]]`)
	c.waitStalled("seen")
	c.last(func(line object) bool { return eventOf(line) == "content_block_delta" })
	c.srv.Release("seen")
	lines := c.rest(deny)
	want := []string{"retry", "assistant text", "result completed"}
	if diff := cmp.Diff(want, outline(lines)); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	abandons := func(line object) bool { return line["abandoned_blocks"] != nil }
	if !slices.ContainsFunc(lines, abandons) {
		t.Error("nothing was taken back")
	}
}

// Calls of the CLI's own are answered too: the probe of set_model, the counting behind
// the context gauge, the summary of a compaction.
func TestClaudeSideCalls(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	c.turn("hello", deny)
	for _, request := range []object{
		{"subtype": "set_model", "model": "fake-model-1"},
		{"subtype": "get_context_usage"},
	} {
		c.send(object{"type": "control_request", "request_id": "side", "request": request})
		answer := c.last(isType("control_response"))["response"].(object)
		if answer["subtype"] != "success" {
			t.Errorf("%s: %v", request["subtype"], answer)
		}
	}
	probed := func(r fakemodel.Request) bool { return r.Side && r.Prompt == "Hi" }
	if !slices.ContainsFunc(c.srv.Requests(), probed) {
		t.Error("set_model did not probe the model")
	}
	compacted := c.turn("/compact", deny)
	boundary := func(line object) bool { return line["subtype"] == "compact_boundary" }
	if !slices.ContainsFunc(compacted, boundary) {
		t.Errorf("nothing was compacted: %v", outline(compacted))
	}
	if got := resultOf(c.turn(`[[text say="still here"]]`, deny))["result"]; got != "still here" {
		t.Errorf("after the compaction the model said %v", got)
	}
}

// A session goes on in a new process, with a new model server: the rounds of a script
// come from the conversation that the CLI sends, and that holds the first process's turns.
func TestClaudeResumes(t *testing.T) {
	t.Parallel()
	const id = "5a1e7f00-0000-4000-8000-000000000001"
	first := newPlace(t)
	c := first.start(t, "--session-id", id)
	c.turn(`[[text say="said before"]]`, deny)
	c.end()

	second := place{srv: startFake(t), home: first.home, cwd: first.cwd}
	c = second.start(t, "--resume", id)
	got := outline(c.turn(`[[tool input={"command":"echo hi"}]] [[then]] [[text say="and after"]]`, deny))
	want := []string{"assistant calls Bash", "user tool_result", "assistant text", "result completed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	if !bytes.Contains(second.srv.Requests()[0].Body, []byte("said before")) {
		t.Error("the model was not told of the first process's turn")
	}
}

// Token counts are the script's, and the CLI takes them over.
func TestClaudeCountsTheScriptsTokens(t *testing.T) {
	t.Parallel()
	c := startClaude(t)
	lines := c.turn("[[text]] [[usage input=1000 output=50 cache_read=200 cache_write=30]]", deny)
	usage := resultOf(lines)["usage"].(object)
	for name, want := range map[string]float64{
		"input_tokens": 1000, "output_tokens": 50,
		"cache_read_input_tokens": 200, "cache_creation_input_tokens": 30,
	} {
		if usage[name] != want {
			t.Errorf("%s is %v, want %v", name, usage[name], want)
		}
	}
}
