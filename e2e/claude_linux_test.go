package e2e

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"agent-server/internal/fakemodel"
	"agent-server/protocol"
)

// claudeBinary is the CLI itself; the wrapper package would need Node and a script at
// install time.
const claudeBinary = "@anthropic-ai/claude-code-linux-x64/claude"

// claudeArgs make the CLI speak its own protocol on stdin and stdout.
var claudeArgs = []string{
	"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose",
	"--include-partial-messages", "--permission-prompt-tool", "stdio", "--model", "sonnet",
}

// startFake starts a model server that ends with the test.
func startFake(t *testing.T) *fakemodel.Server {
	t.Helper()
	srv, err := fakemodel.Start(fakemodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// claudeEnv is the whole environment of the CLI: what it needs to work offline, and
// nothing inherited but PATH. Retries are few, so that errors come soon.
func claudeEnv(srv *fakemodel.Server, home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"ANTHROPIC_BASE_URL=" + srv.URL(),
		"ANTHROPIC_API_KEY=dummy",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
	}
}

// place is what a CLI finds on its machine; a second process in it can resume a session.
type place struct {
	srv  *fakemodel.Server
	home string
	cwd  string
	// agent is the ACP agent that is configured here; "": none.
	agent protocol.HarnessID
	// state is where a gateway keeps its log; "": in memory.
	state string
}

// newPlace has an empty home, an empty working folder and a model server of its own.
func newPlace(t *testing.T) place {
	t.Helper()
	return place{srv: startFake(t), home: t.TempDir(), cwd: t.TempDir()}
}

// claude is a running CLI that has answered initialize.
type claude struct {
	*dialog
	place
}

// startClaude starts the CLI in a new place.
func startClaude(t *testing.T, extraArgs ...string) *claude {
	t.Helper()
	return newPlace(t).start(t, extraArgs...)
}

func (p place) start(t *testing.T, extraArgs ...string) *claude {
	t.Helper()
	c := &claude{place: p}
	c.dialog = startDialog(t, command{
		path: requireCLI(t, claudeBinary),
		args: slices.Concat(claudeArgs, extraArgs),
		env:  claudeEnv(p.srv, p.home),
		dir:  p.cwd,
	})
	c.send(object{"type": "control_request", "request_id": "init", "request": object{"subtype": "initialize"}})
	c.until(isType("control_response"))
	return c
}

// verdict answers a can_use_tool request.
type verdict func(request object) object

func allow(request object) object {
	return object{"behavior": "allow", "updatedInput": request["input"]}
}

func deny(object) object { return object{"behavior": "deny", "message": "not in this test"} }

// prompt sends a prompt.
func (c *claude) prompt(text string) {
	c.send(object{
		"type": "user", "session_id": "", "parent_tool_use_id": nil,
		"message": object{"role": "user", "content": text},
	})
}

// turn sends a prompt, answers permission requests, and returns all lines up to the result.
func (c *claude) turn(text string, answer verdict) []object {
	c.t.Helper()
	c.prompt(text)
	return c.rest(answer)
}

// rest answers permission requests until the turn ends, and returns its lines.
func (c *claude) rest(answer verdict) []object {
	c.t.Helper()
	var lines []object
	for {
		lines = append(lines, c.until(func(line object) bool {
			return line["type"] == "result" || line["type"] == "control_request"
		})...)
		last := lines[len(lines)-1]
		if last["type"] == "result" {
			return lines
		}
		c.answer(last, answer(last["request"].(object)))
	}
}

// answer answers one request of the CLI.
func (c *claude) answer(request, response object) {
	c.send(object{"type": "control_response", "response": object{
		"subtype": "success", "request_id": request["request_id"], "response": response,
	}})
}

// waitStalled returns once the model stands at the gate.
func (c *claude) waitStalled(gate string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.srv.WaitStalled(ctx, gate); err != nil {
		c.t.Fatal(err)
	}
}

// interrupt asks the CLI to stop the turn.
func (c *claude) interrupt() {
	c.send(object{"type": "control_request", "request_id": "stop", "request": object{"subtype": "interrupt"}})
}

// resultOf is the last line of a turn.
func resultOf(lines []object) object { return lines[len(lines)-1] }

// eventOf is the type of the model's event in a line, "" in a line of another kind.
func eventOf(line object) string {
	event, _ := line["event"].(object)
	kind, _ := event["type"].(string)
	return kind
}

func isType(want string) func(object) bool {
	return func(line object) bool { return line["type"] == want }
}

// outline is what happened in a turn, line by line, without what depends on timing: the
// stream's events, states and lifecycle. Each content block and tool result is one entry.
func outline(lines []object) []string {
	var entries []string
	for _, line := range lines {
		switch kind := line["type"]; kind {
		case "assistant", "user":
			entries = append(entries, kind.(string)+" "+contentOf(line))
		case "control_request":
			entries = append(entries, "asks "+line["request"].(object)["tool_name"].(string))
		case "result":
			entries = append(entries, "result "+reasonOf(line))
		}
		if line["subtype"] == "api_retry" {
			entries = append(entries, "retry")
		}
	}
	return entries
}

// contentOf names the block of a message, of which the CLI puts one in each line.
func contentOf(line object) string {
	message := line["message"].(object)
	blocks, many := message["content"].([]any)
	if !many {
		return "text"
	}
	block := blocks[0].(object)
	switch {
	case message["model"] == "<synthetic>":
		return "error"
	case block["type"] == "tool_result" && block["is_error"] == true:
		return "tool_error"
	case block["type"] == "tool_use":
		return "calls " + block["name"].(string)
	}
	return block["type"].(string)
}

// reasonOf is how a turn ended, whatever its subtype says.
func reasonOf(result object) string {
	reason, _ := result["terminal_reason"].(string)
	if status := result["api_error_status"]; status != nil {
		text, _ := json.Marshal(status)
		reason += " " + string(text)
	}
	return reason
}

// patience bounds every wait of these tests. It is no expectation of speed: the CLI needs
// seconds to start on a busy machine.
const patience = 180 * time.Second
