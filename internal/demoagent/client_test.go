package demoagent

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
)

// testSeed makes the ids of a test's first session demo-5eed-1, msg-5eed-1-1 …
const testSeed = "5eed"

// firstSession is the id of a test's first session.
const firstSession = "demo-" + testSeed + "-1"

// client is the other end of one Run. It lives in a synctest bubble: what it
// reads is complete when everything in the bubble waits.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  collector
	errw collector
	stop context.CancelFunc // ends Run's context
	done chan error         // what Run returned
	next int                // id of the next request
	exit []int              // codes given to Options.Exit
	deaf int                // calls of Options.IgnoreSignals
}

// collector is a writer that never blocks.
type collector struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(p)
}

// take returns what was written since the last take.
func (c *collector) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.buf.Reset()
	return c.buf.String()
}

// start runs an agent for a test inside a bubble.
func start(t *testing.T) *client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	c := &client{t: t, in: w, stop: stop, done: make(chan error, 1)}
	opts := Options{
		Version:       "1.2.3",
		Seed:          testSeed,
		Exit:          func(code int) { c.exit = append(c.exit, code) },
		IgnoreSignals: func() { c.deaf++ },
	}
	go func() { c.done <- Run(ctx, r, &c.out, &c.errw, opts) }()
	return c
}

// startSession runs an agent and opens the first session in it.
func startSession(t *testing.T) *client {
	t.Helper()
	c := start(t)
	c.call("initialize", `{"protocolVersion":1}`)
	c.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
	if got := c.lines(); len(got) != 2 || !strings.Contains(got[1], firstSession) {
		t.Fatalf("handshake answered %q", got)
	}
	return c
}

// send writes one line.
func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("sending %s: %v", line, err)
	}
}

// call sends a request under the next id, beginning with 0.
func (c *client) call(method, params string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":` + strconv.Itoa(c.next) + `,"method":"` + method + `","params":` + params + `}`)
	c.next++
}

// prompt sends a prompt to a session.
func (c *client) prompt(session, text string) {
	c.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		c.t.Fatal(err)
	}
	c.call("session/prompt", `{"sessionId":"`+session+`","prompt":[{"type":"text","text":`+string(quoted)+`}]}`)
}

// cancel sends session/cancel.
func (c *client) cancel(session string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + session + `"}}`)
}

// lines waits until the agent has nothing left to do and returns what it wrote
// since the last call.
func (c *client) lines() []string {
	c.t.Helper()
	synctest.Wait()
	return splitLines(c.out.take())
}

// splitLines fails to hide a missing last line feed: the rest is a line of its own.
func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	}
	return append(lines, "(no line feed at the end)")
}

// end closes the agent's input and returns what Run returned.
func (c *client) end() error {
	_ = c.in.Close()
	err := <-c.done
	c.stop()
	return err
}

// finish ends the agent and expects it to end well.
func (c *client) finish() {
	c.t.Helper()
	if err := c.end(); err != nil {
		c.t.Errorf("Run returned %v", err)
	}
}

// wireLine is any line of the agent's, for tests that look into it.
type wireLine struct {
	ID     *int   `json:"id"`
	Method string `json:"method"`
	Params struct {
		SessionID string   `json:"sessionId"`
		RequestID *int     `json:"requestId"`
		ToolCall  toolCall `json:"toolCall"`
		Update    struct {
			Update     string `json:"sessionUpdate"`
			MessageID  string `json:"messageId"`
			ToolCallID string `json:"toolCallId"`
			Status     string `json:"status"`
			// Content is one block in a chunk and a list in a tool call.
			Content any `json:"content"`
		} `json:"update"`
	} `json:"params"`
	Result *promptResult `json:"result"`
	Error  *rpcError     `json:"error"`
}

// parse reads a line, which has to be JSON.
func parse(t *testing.T, line string) wireLine {
	t.Helper()
	var w wireLine
	if err := json.Unmarshal([]byte(line), &w); err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	return w
}

// textOf joins the text of the message chunks.
func textOf(t *testing.T, lines []string) string {
	t.Helper()
	var text strings.Builder
	for _, line := range lines {
		if w := parse(t, line); w.Params.Update.Update == kindMessage {
			block := w.Params.Update.Content.(map[string]any)
			text.WriteString(block["text"].(string))
		}
	}
	return text.String()
}

// inBubble runs a parallel test inside a synctest bubble.
func inBubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, run)
}
