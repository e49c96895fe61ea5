package demoagent

import (
	"bytes"
	"context"
	"slices"
)

// hang waits for a cancel at a chosen place: after some text, before anything
// was sent, inside a tool; or, hard, for nothing that a client can do.
func hang(ctx context.Context, t *turn) error {
	how := append(t.arguments(), "text")[0]
	var err error
	switch how {
	case "text":
		err = t.say(ctx, "Hanging ", "until cancelled.")
	case "silent":
	case "tool":
		err = t.hangInTool(ctx)
	case "hard":
		return t.hangHard(ctx)
	default:
		return rpcErrorf(codeInvalidParams, "usage: %s, got %q", t.script.usage, how)
	}
	if err != nil {
		return err
	}
	<-ctx.Done()
	return errCancelled
}

// hangInTool leaves a tool at work, for a cancel to find.
func (t *turn) hangInTool(ctx context.Context) error {
	if err := t.openTool(ctx, t.commandTool("sleep infinity")); err != nil {
		return err
	}
	return t.runTool(ctx)
}

// hangHard ends with Run's context only, which in a process that ignores its
// signals does not end either.
func (t *turn) hangHard(ctx context.Context) error {
	t.agent.opts.IgnoreSignals()
	if err := t.say(ctx, "Hanging ", "until killed."); err != nil {
		return err
	}
	<-t.agent.ended
	return errCancelled
}

// crash ends the process in the middle of a turn, after what it said is out.
func crash(ctx context.Context, t *turn) error {
	code, err := t.number(0, 3, 0, 255)
	if err != nil {
		return err
	}
	if err := t.say(ctx, "Crashing ", "now."); err != nil {
		return err
	}
	t.agent.warn("demo agent: crashing with exit code %d, as asked", code)
	t.agent.opts.Exit(code)
	return errExited
}

// failPrompt answers the prompt with an error, which is how a failing model
// looks from outside.
func failPrompt(_ context.Context, t *turn) error {
	_, message := splitPrompt(t.text)
	if message == "" {
		message = "the demo fails on request"
	}
	return &rpcError{Code: codeInternal, Message: message, Data: errorData{Script: "error"}}
}

// errorData tells that an error was asked for.
type errorData struct {
	// Script is error.
	Script string `json:"script"`
}

// noiseLines is what stands before each word's line of the noise script. Only
// the first is a message; it is one that no client knows.
var noiseLines = [][]string{
	{`{"jsonrpc":"2.0","method":"_demo/log","params":{"level":"info"}}`, "=== demo agent: a banner ===", ""},
	{"\x1b[31merror:\x1b[0m not one, only red", "\x1b]0;a window title\x07", "\r"},
	{"bad UTF-8: \xff\xfe\xc3(", "{\"bad\":\"UTF-8 in JSON \xff\"}", "{\"cut\":"},
	{"42", `"a string"`, "null", "[]", `[{"jsonrpc":"2.0"}]`, "{}", `{"level":"info","msg":"a log line"}`},
	{"   \t", "\x00\x01\x02"},
}

// noise says five words in lines that are in order, with lines between them that
// are not. The third begins with an escape sequence and the fourth ends in CRLF.
func noise(ctx context.Context, t *turn) error {
	words := []string{"Five ", "clean ", "words ", "survive ", "noise."}
	for i, word := range words {
		if ctx.Err() != nil {
			return errCancelled
		}
		for _, line := range noiseLines[i] {
			t.agent.out.write([]byte(line + "\n"))
		}
		line := t.line(t.chunk(kindMessage, word))
		switch i {
		case 2:
			line = slices.Concat([]byte("\x1b]0;demo\x07\x1b[0m"), line)
		case 3:
			line = append(bytes.TrimSuffix(line, []byte("\n")), "\r\n"...)
		}
		t.agent.out.write(line)
	}
	return nil
}
