package fakemodel

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// responsesAnswer is what came of a request to the Responses API.
type responsesAnswer struct {
	status int
	events []string // types, a delta with what it says
	items  []obj    // that are done
	last   obj      // the last event's response
	body   string   // of an HTTP error
}

// converse sends items to the Responses API.
func converse(t *testing.T, srv *Server, items ...obj) responsesAnswer {
	t.Helper()
	body, err := json.Marshal(obj{"model": "fake", "stream": true, "input": items, "prompt_cache_key": "s"})
	if err != nil {
		t.Fatal(err)
	}
	res := request(bounded(t), t, http.MethodPost, srv.URL()+"/v1/responses", body)
	defer func() { _ = res.Body.Close() }()
	a := responsesAnswer{status: res.StatusCode}
	if a.status != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		a.body = string(text)
		return a
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			a.take(t, data)
		}
	}
	return a
}

func (a *responsesAnswer) take(t *testing.T, data string) {
	t.Helper()
	var e struct {
		Type     string `json:"type"`
		Number   int    `json:"sequence_number"`
		Delta    string `json:"delta"`
		Item     obj    `json:"item"`
		Response obj    `json:"response"`
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil || e.Number != len(a.events) {
		t.Errorf("event %d is %s: %v", len(a.events), data, err)
	}
	name := strings.TrimPrefix(e.Type, "response.")
	if e.Delta != "" {
		name += ":" + e.Delta
	}
	a.events = append(a.events, name)
	if e.Response != nil {
		a.last = e.Response
	}
	if e.Type == "response.output_item.done" {
		delete(e.Item, "id")
		delete(e.Item, "call_id")
		a.items = append(a.items, e.Item)
	}
}

func userItem(text string) obj {
	return obj{"type": "message", "role": "user", "content": []obj{{"type": "input_text", "text": text}}}
}

// The events of each kind of reply, in order.
func TestResponsesStream(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	const item = "output_item.added "
	for _, tc := range []struct{ prompt, events, status string }{
		{"[[text say=ab pieces=2]]", item + "content_part.added output_text.delta:a output_text.delta:b output_text.done output_item.done completed", "completed"},
		{"[[think say=a pieces=1]]", item + "reasoning_summary_part.added reasoning_summary_text.delta:a reasoning_summary_text.done output_item.done completed", "completed"},
		{"[[tool input={} pieces=1]]", item + "function_call_arguments.delta:{} function_call_arguments.done output_item.done completed", "completed"},
		{"[[tool name=apply_patch raw=free pieces=1]]", item + "custom_tool_call_input.delta:free custom_tool_call_input.done output_item.done completed", "completed"},
		{"[[stop reason=max_tokens]]", "incomplete", "incomplete"},
		{"[[event type=odd]]", "odd completed", "completed"},
		{"[[text say=a pieces=1]][[error type=context_length_exceeded]]", item + "content_part.added output_text.delta:a failed", "failed"},
	} {
		a := converse(t, srv, userItem(tc.prompt))
		if diff := cmp.Diff("created "+tc.events, strings.Join(a.events, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.prompt, diff)
		}
		if a.last["status"] != tc.status {
			t.Errorf("%s: status %v, want %s", tc.prompt, a.last["status"], tc.status)
		}
	}
}

// A done item holds all that its deltas said, and a dot makes a namespace.
func TestResponsesItems(t *testing.T) {
	t.Parallel()
	a := converse(t, startServer(t, Options{}), userItem(
		`[[text say="b c"]][[tool name=exec_command input={"cmd":"ls"}]][[tool name=mcp__lab.echo input={}]][[usage input=7 cache_read=3 output=2]]`))
	want := []obj{
		{"type": "message", "role": "assistant", "status": "completed",
			"content": []any{obj{"type": "output_text", "text": "b c", "annotations": []any{}}}},
		{"type": "function_call", "status": "completed", "name": "exec_command", "arguments": `{"cmd":"ls"}`},
		{"type": "function_call", "status": "completed", "namespace": "mcp__lab", "name": "echo", "arguments": "{}"},
	}
	if diff := cmp.Diff(want, a.items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	counts := obj{
		"input_tokens": 10.0, "input_tokens_details": obj{"cached_tokens": 3.0},
		"output_tokens": 2.0, "output_tokens_details": obj{"reasoning_tokens": 0.0}, "total_tokens": 12.0,
	}
	if diff := cmp.Diff(any(counts), a.last["usage"]); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// What the model did between two things it was told is one reply, however many items it
// has.
func TestResponsesRounds(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	prompt := userItem("[[tool input={}]][[then]][[text say=second pieces=1]]")
	call, output := obj{"type": "function_call"}, obj{"type": "function_call_output", "output": "[[text say=no]]"}
	said := obj{"type": "message", "role": "assistant", "content": []obj{{"type": "output_text", "text": "x"}}}
	if a := converse(t, srv, prompt); len(a.items) != 1 || a.items[0]["type"] != "function_call" {
		t.Errorf("first round: %v", a.items)
	}
	for _, items := range [][]obj{{prompt, call, output}, {prompt, obj{"type": "reasoning"}, said, call, call, output, output}} {
		if a := converse(t, srv, items...); !strings.Contains(strings.Join(a.events, " "), "delta:second") {
			t.Errorf("second round: %v", a.events)
		}
	}
	if a := converse(t, srv, prompt, call, output, said, userItem("[[text say=new pieces=1]]")); !strings.Contains(strings.Join(a.events, " "), "delta:new") {
		t.Errorf("next prompt: %v", a.events)
	}
}

// An error before anything was said is an HTTP error, and so is a request that makes no
// sense.
func TestResponsesErrors(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for _, tc := range []struct {
		prompt string
		status int
		body   string
	}{
		{"[[error status=401 message=no]]", 401, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{"[[error status=503 message=no]]", 503, `{"error":{"message":"no","type":"server_error","param":null,"code":"server_is_overloaded"}}`},
		{"[[error status=429 type=insufficient_quota message=no]]", 429, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"insufficient_quota"}}`},
		{"[[nonsense]]", 400, ""},
	} {
		a := converse(t, srv, userItem(tc.prompt))
		if a.status != tc.status || tc.body != "" && a.body != tc.body {
			t.Errorf("%s: %d %s", tc.prompt, a.status, a.body)
		}
	}
	res := request(bounded(t), t, http.MethodPost, srv.URL()+"/v1/responses", []byte(`{"input":"hi"}`))
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("a request in one piece: %d", res.StatusCode)
	}
}
