package demoagent

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The shapes of ACP v1 as its schema has them, written down a second time and
// apart from the agent's own types: a member that is renamed there by mistake
// is unknown here. A pointer or a slice marks an optional member.
type (
	acpLine struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  string         `json:"method"`
		Params  jsontext.Value `json:"params"`
		Result  jsontext.Value `json:"result"`
		Error   *acpError      `json:"error"`
	}
	acpError struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	acpNotification struct {
		SessionID string         `json:"sessionId"`
		Update    jsontext.Value `json:"update"`
	}
	acpPermission struct {
		SessionID string      `json:"sessionId"`
		ToolCall  acpToolCall `json:"toolCall"`
		Options   []struct {
			OptionID string `json:"optionId"`
			Name     string `json:"name"`
			Kind     string `json:"kind"`
		} `json:"options"`
	}
	acpChunk struct {
		SessionUpdate string         `json:"sessionUpdate"`
		MessageID     *string        `json:"messageId"`
		Content       acpBlock       `json:"content"`
		Meta          jsontext.Value `json:"_meta"`
	}
	acpBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	acpPlan struct {
		SessionUpdate string `json:"sessionUpdate"`
		Entries       []struct {
			Content  string `json:"content"`
			Priority string `json:"priority"`
			Status   string `json:"status"`
		} `json:"entries"`
	}
	acpCompaction struct {
		SessionUpdate string    `json:"sessionUpdate"`
		CompactionID  string    `json:"compactionId"`
		Status        string    `json:"status"`
		Content       *acpBlock `json:"content"`
	}
	acpUsageUpdate struct {
		SessionUpdate string `json:"sessionUpdate"`
		Used          int    `json:"used"`
		Size          int    `json:"size"`
	}
	acpToolCall struct {
		SessionUpdate string           `json:"sessionUpdate"`
		ToolCallID    string           `json:"toolCallId"`
		Title         *string          `json:"title"`
		Name          *string          `json:"name"`
		Kind          *string          `json:"kind"`
		Status        *string          `json:"status"`
		Content       []acpToolContent `json:"content"`
		Locations     []struct {
			Path string `json:"path"`
			Line *int   `json:"line"`
		} `json:"locations"`
		RawInput  jsontext.Value `json:"rawInput"`
		RawOutput jsontext.Value `json:"rawOutput"`
		Meta      jsontext.Value `json:"_meta"`
	}
	acpToolContent struct {
		Type    string    `json:"type"`
		Content *acpBlock `json:"content"`
		Path    *string   `json:"path"`
		OldText *string   `json:"oldText"`
		NewText *string   `json:"newText"`
	}
	acpPromptResponse struct {
		StopReason string `json:"stopReason"`
		Usage      *struct {
			InputTokens  int `json:"inputTokens"`
			OutputTokens int `json:"outputTokens"`
			TotalTokens  int `json:"totalTokens"`
		} `json:"usage"`
	}
)

// strict reads value into shape and fails the test on a member it does not have.
func strict[T any](t *testing.T, value jsontext.Value) T {
	t.Helper()
	var shape T
	if err := json.Unmarshal(value, &shape, json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("%s: %v", value, err)
	}
	return shape
}

// oneOf fails the test on a word that the protocol does not have.
func oneOf(t *testing.T, what, got string, words ...string) {
	t.Helper()
	if !slices.Contains(words, got) {
		t.Errorf("%s is %q, not one of %q", what, got, words)
	}
}

// TestShapes: every line in the dialogues has a shape that the protocol has. The
// lines of the noise script that are to be skipped are left out.
func TestShapes(t *testing.T) {
	t.Parallel()
	lines := agentLines(t)
	if len(lines) < 100 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, line := range lines {
		w := strict[acpLine](t, jsontext.Value(line))
		oneOf(t, "jsonrpc", w.JSONRPC, "2.0")
		switch w.Method {
		case "session/update":
			checkUpdate(t, strict[acpNotification](t, w.Params).Update)
		case "session/request_permission":
			checkPermission(t, strict[acpPermission](t, w.Params))
		case "$/cancel_request", "_demo/log":
		case "":
			checkAnswer(t, w)
		default:
			t.Errorf("unknown method in %s", line)
		}
	}
}

// agentLines are the agent's lines of all dialogues that are meant as messages.
func agentLines(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			said, ok := strings.CutPrefix(strings.TrimSpace(line), "< ")
			if unquoted, err := strconv.Unquote(said); err == nil {
				said = strings.TrimSpace(unquoted)
			}
			if ok && strings.HasPrefix(said, `{"jsonrpc"`) {
				lines = append(lines, said)
			}
		}
	}
	return lines
}

func checkUpdate(t *testing.T, update jsontext.Value) {
	t.Helper()
	var kind struct {
		SessionUpdate string `json:"sessionUpdate"`
	}
	if err := json.Unmarshal(update, &kind); err != nil {
		t.Errorf("%s: %v", update, err)
	}
	switch kind.SessionUpdate {
	case "agent_message_chunk", "agent_thought_chunk":
		chunk := strict[acpChunk](t, update)
		oneOf(t, "content type", chunk.Content.Type, "text")
		if chunk.MessageID == nil || chunk.Content.Text == "" {
			t.Errorf("a chunk without id or text: %s", update)
		}
	case "tool_call":
		call := strict[acpToolCall](t, update)
		if call.Title == nil || call.Kind == nil || call.Status == nil || call.RawInput == nil {
			t.Errorf("a tool call that says too little: %s", update)
		}
		checkToolCall(t, call)
	case "tool_call_update":
		checkToolCall(t, strict[acpToolCall](t, update))
	case "plan":
		for _, e := range strict[acpPlan](t, update).Entries {
			oneOf(t, "priority", e.Priority, "high", "medium", "low")
			oneOf(t, "plan status", e.Status, "pending", "in_progress", "completed")
		}
	case "compaction_update":
		oneOf(t, "compaction status", strict[acpCompaction](t, update).Status, "in_progress", "completed")
	case "compaction_summary_chunk":
		oneOf(t, "content type", strict[acpCompaction](t, update).Content.Type, "text")
	case "usage_update":
		if u := strict[acpUsageUpdate](t, update); u.Used > u.Size || u.Used <= 0 {
			t.Errorf("an impossible context: %s", update)
		}
	default:
		t.Errorf("unknown update %s", update)
	}
}

func checkToolCall(t *testing.T, call acpToolCall) {
	t.Helper()
	if call.ToolCallID == "" {
		t.Error("a tool call has no id")
	}
	if call.Kind != nil {
		oneOf(t, "tool kind", *call.Kind, "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
	}
	if call.Status != nil {
		oneOf(t, "tool status", *call.Status, "pending", "in_progress", "completed", "failed")
	}
	for _, c := range call.Content {
		isText := c.Type == "content" && c.Content != nil && c.Path == nil && c.NewText == nil
		isDiff := c.Type == "diff" && c.Content == nil && c.Path != nil && c.NewText != nil
		if !isText && !isDiff {
			t.Errorf("tool content is neither text nor diff: %+v", c)
		}
	}
}

func checkPermission(t *testing.T, p acpPermission) {
	t.Helper()
	checkToolCall(t, p.ToolCall)
	if p.ToolCall.SessionUpdate != "" || len(p.Options) == 0 {
		t.Errorf("a permission request with %+v", p)
	}
	for _, option := range p.Options {
		oneOf(t, "option kind", option.Kind, "allow_once", "allow_always", "reject_once", "reject_always")
	}
}

func checkAnswer(t *testing.T, w acpLine) {
	t.Helper()
	switch {
	case w.ID == nil:
		t.Error("an answer has no id")
	case (w.Result == nil) == (w.Error == nil):
		t.Errorf("an answer needs a result or an error: %+v", w)
	case w.Error != nil && (w.Error.Code >= 0 || w.Error.Message == ""):
		t.Errorf("an error with code %d and message %q", w.Error.Code, w.Error.Message)
	case w.Result != nil && strings.Contains(string(w.Result), "stopReason"):
		r := strict[acpPromptResponse](t, w.Result)
		oneOf(t, "stop reason", r.StopReason, "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
		if r.Usage == nil || r.Usage.TotalTokens != r.Usage.InputTokens+r.Usage.OutputTokens {
			t.Errorf("the usage does not add up: %s", w.Result)
		}
	}
}
