package fakemodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	begin = "message_start content_block_start"
	end   = "content_block_stop message_delta message_stop"
)

// The events of each kind of reply, in order.
func TestStream(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for _, tc := range []struct{ prompt, events, stop string }{
		{"hello", begin + " delta:_Hello_f delta:_rom_the delta:__fake_m delta:_odel. " + end, "end_turn"},
		{"[[text say=ab pieces=2]][[text say=c]]", begin + " delta:_a delta:_b delta:_c " + end, "end_turn"},
		{"[[text say=a]][[block]][[text say=b]]",
			begin + " delta:_a content_block_stop content_block_start delta:_b " + end, "end_turn"},
		{"[[think say=a]][[text say=b]]",
			begin + " delta:_a content_block_delta content_block_stop content_block_start delta:_b " + end, "end_turn"},
		{"[[tool input={} pieces=1]][[tool input={} pieces=1]]",
			begin + " content_block_delta delta:_{} content_block_stop content_block_start content_block_delta delta:_{} " + end, "tool_use"},
		{`[[tool raw="{" pieces=1]][[more raw="}"]]`, begin + " content_block_delta delta:_{ delta:_} " + end, "tool_use"},
		{"[[stop reason=refusal]]", "message_start message_delta message_stop", "refusal"},
		{"[[event]]", "message_start fake_event message_delta message_stop", "end_turn"},
		{"[[text say=a]][[event type=ping]][[text say=b]]", begin + " delta:_a ping delta:_b " + end, "end_turn"},
		{"[[text say=a]][[error]]", begin + " delta:_a error", ""},
	} {
		a := ask(t, srv, asks(tc.prompt))
		got := strings.ReplaceAll(strings.Join(a.events, "\x00"), " ", "_")
		if diff := cmp.Diff(tc.events, strings.ReplaceAll(got, "\x00", " ")); diff != "" || a.err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tc.prompt, a.err, diff)
		}
		if a.stop != tc.stop {
			t.Errorf("%s: stop %q, want %q", tc.prompt, a.stop, tc.stop)
		}
	}
}

// An answer in one piece says the same as a streamed one.
func TestWhole(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	status, got := whole(t, srv, asks(
		`[[think say=a]][[text say="b c"]][[tool name=Read input={"f":1}]][[tool raw="{"]][[event]][[usage input=7 cache_read=3]]`))
	content := []any{
		obj{"type": "thinking", "thinking": "a", "signature": signature},
		obj{"type": "text", "text": "b c"},
		obj{"type": "tool_use", "name": "Read", "input": obj{"f": 1.0}},
		obj{"type": "tool_use", "name": "Bash", "input": obj{}},
	}
	for _, block := range got["content"].([]any) {
		delete(block.(obj), "id")
	}
	want := obj{
		"id": got["id"], "type": "message", "role": "assistant", "model": "fake", "content": content,
		"stop_reason": "tool_use", "stop_sequence": nil,
		"usage": obj{
			"input_tokens": 7.0, "output_tokens": 10.0, "service_tier": "standard",
			"cache_creation_input_tokens": 0.0, "cache_read_input_tokens": 3.0,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || status != http.StatusOK {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
}

// A script's rounds follow the conversation, in whatever server the next request arrives.
func TestRounds(t *testing.T) {
	t.Parallel()
	c := asks(`[[tool]][[then]][[text say=second]]`)
	if got := ask(t, startServer(t, Options{}), c); got.stop != "tool_use" {
		t.Errorf("first round: %+v", got)
	}
	c = c.assistant([]obj{{"type": "tool_use"}}).user([]obj{toolResult()})
	if got := ask(t, startServer(t, Options{}), c); got.text != "second" {
		t.Errorf("second round: %+v", got)
	}
	c = c.assistant([]obj{text("second")}).user([]obj{text(reminder)})
	if got := ask(t, startServer(t, Options{}), c); got.text != FinalText {
		t.Errorf("past the end: %+v", got)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for _, tc := range []struct {
		prompt, kind, message string
		status                int
	}{
		{"[[error status=400]]", "invalid_request_error", "scripted error", 400},
		{"[[error status=401]]", "authentication_error", "scripted error", 401},
		{"[[error status=429]]", "rate_limit_error", "scripted error", 429},
		{"[[error]]", "api_error", "scripted error", 500},
		{"[[error status=529 message=busy]]", "overloaded_error", "busy", 529},
		{"[[error status=503 type=odd]]", "odd", "scripted error", 503},
		{"[[nope]]", "invalid_request_error", "fakemodel: reading marker nope: there is no such marker", 400},
	} {
		for _, stream := range []bool{true, false} {
			c := asks(tc.prompt)
			c.Stream = stream
			resp := post(bounded(t), t, srv, c)
			var got struct {
				Error struct{ Type, Message string }
			}
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tc.status || got.Error.Type != tc.kind || got.Error.Message != tc.message {
				t.Errorf("%s: %d %+v", tc.prompt, resp.StatusCode, got)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	resp := post(bounded(t), t, srv, asks("[[error status=429 retry_after=2]]"))
	if got := resp.Header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After is %q", got)
	}
}

// The same request again is a retry; another session's is not.
func TestTimes(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	c := asks("[[error status=529 times=2]][[text say=ok]]")
	for attempt, want := range []int{529, 529, 200, 200} {
		if got := ask(t, srv, c); got.status != want {
			t.Errorf("attempt %d: status %d, want %d", attempt, got.status, want)
		}
	}
	c.Metadata = obj{"user_id": "another session"}
	if got := ask(t, srv, c); got.status != 529 {
		t.Errorf("another session: status %d", got.status)
	}
	if got := srv.Requests()[3]; got.Attempt != 3 || got.State != Done {
		t.Errorf("the fourth request: %+v", got)
	}
}

// The same dialog has the same ids in every server, and a retry has others.
func TestDeterministicIDs(t *testing.T) {
	t.Parallel()
	one, two := startServer(t, Options{}), startServer(t, Options{})
	c := asks("[[tool]][[tool]]")
	first, again, retry := ask(t, one, c), ask(t, two, c), ask(t, one, c)
	if diff := cmp.Diff(first.ids, again.ids); diff != "" {
		t.Errorf("ids differ (-one +two):\n%s", diff)
	}
	if len(first.ids) != 3 || first.ids[0] == retry.ids[0] || first.ids[1] == first.ids[2] {
		t.Errorf("ids %v, of a retry %v", first.ids, retry.ids)
	}
}

// Calls of the CLI's own never run the script of the prompt they talk about.
func TestSideCalls(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	noTools := asks("Make a title: [[error]]")
	noTools.Tools = nil
	if got := ask(t, srv, noTools); got.text != "Fake title" {
		t.Errorf("without tools: %+v", got)
	}
	formatted := asks("[[error]]")
	formatted.OutputConfig = obj{"format": obj{"type": "json_schema", "schema": obj{
		"type": "object", "properties": obj{"title": obj{"type": "string"}}, "required": []string{"title"},
	}}}
	if got := ask(t, srv, formatted); got.text != `{"title":"Fake title"}` {
		t.Errorf("with a format: %+v", got)
	}
	for i, r := range srv.Requests() {
		if !r.Side {
			t.Errorf("request %d is no side call", i)
		}
	}
}
