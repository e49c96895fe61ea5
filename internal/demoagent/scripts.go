package demoagent

import (
	"context"
	"strconv"
	"strings"
)

// script is one way to spend a turn.
type script struct {
	name  string // the prompt's first word
	usage string // the name and its arguments, as [Help] prints them
	does  string // what it shows, in a few words
	// run sends the turn's updates. ctx ends at a cancel. The error is nil,
	// errCancelled, errExited, or the *rpcError that answers the prompt.
	run func(ctx context.Context, t *turn) error
}

// scripts in the order of [Help]; the package comment has the same table.
var scripts = []script{
	{"flood", "flood N [bytes]", "N text deltas as fast as the reader takes them (16 bytes each)", flood},
	{"deltas", "deltas N [µs]", "N text deltas, one each µs microseconds (1000)", deltas},
	{"think", "think", "thoughts, then text", think},
	{"tool", "tool", "a tool that reads and needs no permission", readTool},
	{"ask", "ask", "a tool that needs permission", askTool},
	{"edit", "edit", "an edit shown as a diff, with permission; writes no file", editTool},
	{"fail", "fail", "a tool that fails", failTool},
	{"plan", "plan", "a plan whose steps get done", plan},
	{"big", "big BYTES", "a tool whose output is that long", big},
	{"subagent", "subagent", "a tool that runs a sub-agent, with a tool and a text of its own", subagent},
	{"background", "background [ms]", "ends, and speaks again by itself ms milliseconds later (300)", background},
	{"compact", "compact", "a compaction, if the client shows them, then text", compact},
	{"hang", "hang [how]", "waits until cancelled; how: text, silent, tool, hard", hang},
	{"slow-cancel", "slow-cancel [ms]", "waits until cancelled, and ms milliseconds more (3000)", slowCancel},
	{"crash", "crash [code]", "some text, a line on stderr, then the process exits (3)", crash},
	{"noise", "noise", "banners, escape codes and bad UTF-8 between its lines", noise},
	{"error", "error [message]", "the prompt request is answered with an error", failPrompt},
}

// The scripts that run others would refer to the table from within it.
func init() {
	scripts = append(scripts, script{"sequence", "sequence a; b; c", "several of these prompts, one after the other", sequence})
}

// chooseScript goes by the first word. Every other prompt is explained to.
func chooseScript(prompt string) script {
	first, _ := splitPrompt(prompt)
	for _, s := range scripts {
		if s.name == first {
			return s
		}
	}
	return script{run: explain}
}

// splitPrompt separates the first word from the rest.
func splitPrompt(prompt string) (first, rest string) {
	prompt = strings.TrimSpace(prompt)
	end := strings.IndexAny(prompt, " \t\r\n")
	if end < 0 {
		return prompt, ""
	}
	return prompt[:end], strings.TrimSpace(prompt[end:])
}

// arguments are the words after the script's name.
func (t *turn) arguments() []string {
	_, rest := splitPrompt(t.text)
	return strings.Fields(rest)
}

// number reads argument i, which has to lie in [low, high]. An absent one is
// fallback, and an error when fallback is out of range. Bad numbers fail the
// prompt rather than the count of somebody's measurement.
func (t *turn) number(i, fallback, low, high int) (int, error) {
	n, word := fallback, "nothing"
	if args := t.arguments(); i < len(args) {
		word = args[i]
		var err error
		if n, err = strconv.Atoi(word); err != nil {
			n = low - 1
		}
	}
	if n < low || n > high {
		return 0, rpcErrorf(codeInvalidParams, "usage: %s: want a number from %d to %d, got %s", t.script.usage, low, high, word)
	}
	return n, nil
}

// Help is the list of the prompts that the demo understands, a line each,
// without a newline at its end.
func Help() string {
	lines := make([]string, len(scripts))
	for i, s := range scripts {
		pad := strings.Repeat(" ", len("slow-cancel [ms]  ")-len([]rune(s.usage)))
		lines[i] = s.usage + pad + s.does
	}
	return strings.Join(lines, "\n")
}

// explain answers a prompt that names no script.
func explain(ctx context.Context, t *turn) error {
	pieces := []string{"This is the demo agent. ", "It runs no model: the first word of a prompt chooses what it does.\n\n"}
	if t.session.resumed {
		t.session.resumed = false
		pieces = append(pieces, "The session is resumed, but the demo remembers nothing of it.\n\n")
	}
	return t.say(ctx, append(pieces, strings.SplitAfter(Help(), "\n")...)...)
}
