package main

import (
	"fmt"
	"strings"

	"agent-server/protocol"
	"agent-server/reducer"
)

// resultLines is how much of a tool's result is shown, and twice that of a diff: a
// screen should still hold what was asked and answered. All of it is in --json.
const resultLines = 12

// tool shows a card whenever a call's status has changed: what it is about to do,
// then what came of it. A pending call has no input yet, and nothing to say.
func (r *renderer) tool(at place, p *protocol.ToolPart) {
	status := p.State.Status()
	if status == protocol.ToolPending || r.status[at] == status {
		return
	}
	r.status[at] = status
	switch status {
	case protocol.ToolInProgress:
		r.line(r.style.bold, "* "+toolName(p))
	case protocol.ToolCompleted:
		r.line(r.style.green, "+ "+toolName(p))
		r.result(p)
	case protocol.ToolFailed:
		r.line(r.style.red, "x "+toolName(p))
		r.result(p)
	case protocol.ToolCancelled:
		r.remark("- " + toolName(p) + " (cancelled)")
	}
}

// toolName is the harness's name of a tool, with the call's title if it says more.
func toolName(p *protocol.ToolPart) string {
	if p.Title != nil && *p.Title != "" && *p.Title != p.ToolName {
		return oneLine(p.ToolName + ": " + *p.Title)
	}
	return oneLine(p.ToolName)
}

// oneLine keeps a name from looking like several lines of ours.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ⏎ ") }

// result shows the diffs of a call, and what the model read of it. Other content
// is for display too, but its text is in that already, and a terminal shows no
// images.
func (r *renderer) result(p *protocol.ToolPart) {
	if done, ok := p.State.(*protocol.CompletedState); ok {
		for _, c := range done.Content {
			if d, ok := c.(*protocol.DiffContent); ok {
				r.diff(d)
			}
		}
	}
	text := strings.TrimRight(reducer.ToolResultText(p), "\n")
	if text == "" {
		return
	}
	for _, l := range clipLines(strings.Split(text, "\n"), resultLines) {
		r.remark("  " + l)
	}
}

// diff shows one file's change, the counts first: they are right also where the
// lines are cut.
func (r *renderer) diff(d *protocol.DiffContent) {
	old := ""
	if d.OldText != nil {
		old = *d.OldText
	}
	lines := difference(old, d.NewText)
	added, removed := 0, 0
	for _, l := range lines {
		switch l[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	r.remark(fmt.Sprintf("  %s: %d added, %d removed", d.Path, added, removed))
	for _, l := range clipLines(lines, 2*resultLines) {
		r.line(r.diffStyle(l), "  "+l)
	}
}

// diffStyle colours a line by its mark.
func (r *renderer) diffStyle(line string) string {
	switch line[0] {
	case '+':
		return r.style.green
	case '-':
		return r.style.red
	}
	return r.style.dim
}

// clipLines cuts a list and says how much of it is missing. The list itself stays
// as it is: others hold it.
func clipLines(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], fmt.Sprintf("… %d more lines", len(lines)-n))
}

// diffContext is how many unchanged lines stand around a change.
const diffContext = 2

// difference gives what has changed between two texts, a line each, marked by its
// first byte: ' ', '-' or '+'.
//
// It takes equal lines off both ends and calls the rest changed: one stretch, which
// is what an edit is. Two edits far apart come out as one long stretch, correct
// though not the shortest. The cost is one pass, where a shortest difference can
// cost the product of both lengths, and a harness chooses the texts.
func difference(old, new string) []string {
	a, b := textLines(old), textLines(new)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []string
	mark := func(m string, lines []string) {
		for _, l := range lines {
			out = append(out, m+l)
		}
	}
	mark(" ", a[max(head-diffContext, 0):head])
	mark("-", a[head:len(a)-tail])
	mark("+", b[head:len(b)-tail])
	mark(" ", a[len(a)-tail:min(len(a)-tail+diffContext, len(a))])
	return out
}

// textLines splits a text; the newline at its end begins no line. So a text with
// and one without it look alike here: what has changed is said by the tool.
func textLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
