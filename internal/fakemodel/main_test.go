package fakemodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; it is no expectation of speed.
const patience = 30 * time.Second

// startServer starts a server that ends with the test.
func startServer(t *testing.T, opts Options) *Server {
	t.Helper()
	srv, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// bounded is the test's context with an end.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// obj is a JSON object as a client sees it.
type obj = map[string]any

// chat is a request body in the making.
type chat struct {
	Model        string `json:"model"`
	Stream       bool   `json:"stream"`
	Tools        []obj  `json:"tools,omitempty"`
	Messages     []obj  `json:"messages"`
	Metadata     obj    `json:"metadata,omitempty"`
	OutputConfig obj    `json:"output_config,omitempty"`
}

// asks is the streamed conversation that has just the prompt.
func asks(prompt string) chat {
	c := chat{Model: "fake", Stream: true, Tools: []obj{{"name": "Bash"}}}
	return c.user(prompt)
}

func (c chat) user(content any) chat      { return c.with("user", content) }
func (c chat) assistant(content any) chat { return c.with("assistant", content) }

func (c chat) with(role string, content any) chat {
	c.Messages = append(c.Messages[:len(c.Messages):len(c.Messages)], obj{"role": role, "content": content})
	return c
}

func text(s string) obj { return obj{"type": "text", "text": s} }

func toolResult() obj {
	return obj{"type": "tool_result", "tool_use_id": "x", "content": "[[text say=no]]"}
}

// client keeps no idle connections, so that no goroutine outlives its test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a conversation to the Messages API.
func post(ctx context.Context, t testing.TB, srv *Server, c chat) *http.Response {
	t.Helper()
	body, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return request(ctx, t, http.MethodPost, srv.URL()+"/v1/messages?beta=true", body)
}

func request(ctx context.Context, t testing.TB, method, url string, body []byte) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// answer is what a client made of a stream.
type answer struct {
	status int
	events []string // as "type", or "delta: piece", in order
	text   string   // all text, reasoning and tool input
	stop   string
	ids    []string // of the message and its tool calls
	err    error    // of reading: nil when the stream ended properly
}

// ask sends a conversation and reads the whole answer.
func ask(t *testing.T, srv *Server, c chat) answer {
	t.Helper()
	resp := post(bounded(t), t, srv, c)
	a := answer{status: resp.StatusCode}
	in := bufio.NewReader(resp.Body)
	for a.err == nil {
		var line string
		line, a.err = in.ReadString('\n')
		if data, is := strings.CutPrefix(line, "data: "); is {
			a.add(t, data)
		}
	}
	if a.err == io.EOF {
		a.err = nil
	}
	return a
}

// sseEvent is any event of the Messages API.
type sseEvent struct {
	Type    string `json:"type"`
	Message struct {
		ID string `json:"id"`
	} `json:"message"`
	Block struct {
		ID string `json:"id"`
	} `json:"content_block"`
	Delta struct {
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
		JSON     string `json:"partial_json"`
		Stop     string `json:"stop_reason"`
	} `json:"delta"`
}

func (a *answer) add(t *testing.T, data string) {
	t.Helper()
	var e sseEvent
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		t.Fatalf("event %q: %v", data, err)
	}
	piece := e.Delta.Text + e.Delta.Thinking + e.Delta.JSON
	a.text += piece
	a.stop += e.Delta.Stop
	for _, id := range []string{e.Message.ID, e.Block.ID} {
		if id != "" {
			a.ids = append(a.ids, id)
		}
	}
	if piece != "" {
		e.Type = "delta: " + piece
	}
	a.events = append(a.events, e.Type)
}

// whole sends a conversation that is not streamed and returns the message.
func whole(t *testing.T, srv *Server, c chat) (int, obj) {
	t.Helper()
	c.Stream = false
	resp := post(bounded(t), t, srv, c)
	message := obj{}
	if err := json.NewDecoder(resp.Body).Decode(&message); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, message
}
