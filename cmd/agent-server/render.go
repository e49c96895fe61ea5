package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"agent-server/echo"
	"agent-server/protocol"
	"agent-server/reducer"
)

// ANSI styles; "" where colour is off.
type styles struct{ dim, bold, red, green, reset string }

var coloured = styles{dim: "\x1b[2m", bold: "\x1b[1m", red: "\x1b[31m", green: "\x1b[32m", reset: "\x1b[0m"}

// colourFor says how to style a file: colour only on a terminal, and never with
// NO_COLOR set.
func colourFor(f *os.File) styles {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return styles{}
	}
	return coloured
}

// renderer shows a session by folding it: the answer goes to out, everything
// else to talk. With json set it prints the envelopes instead.
type renderer struct {
	json  bool
	out   io.Writer
	talk  io.Writer
	style styles

	mu     sync.Mutex
	conv   *reducer.Conversation
	count  int
	shown  map[string]int
	status map[string]protocol.ToolStatus
	// outOpen, talkOpen: the last line of that file has no newline yet.
	outOpen, talkOpen bool
}

func newRenderer(json bool) *renderer {
	return &renderer{json: json, out: os.Stdout, talk: os.Stderr, style: colourFor(os.Stderr),
		shown: map[string]int{}, status: map[string]protocol.ToolStatus{}}
}

// envelope shows one event.
func (r *renderer) envelope(env protocol.Envelope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.json {
		_, _ = r.out.Write(append(protocol.AppendEnvelope(nil, env), '\n'))
		return
	}
	var changes []reducer.Change
	r.conv, changes = reducer.ReduceWithChanges(r.conv, env.Event)
	for _, ch := range changes {
		r.change(ch, env.Event)
	}
	switch ev := env.Event.(type) {
	case *protocol.ErrorEvent:
		r.line(r.style.red, fmt.Sprintf("! %s: %s", ev.Category, ev.Message))
	case *protocol.TurnEnded:
		r.turnEnded(ev)
	}
}

// change shows what the fold says has changed.
func (r *renderer) change(ch reducer.Change, ev protocol.Event) {
	if ch.Kind != reducer.PartUpserted {
		return
	}
	if _, mine := echo.TurnOf(ch.MessageID); mine {
		return
	}
	if d, ok := ev.(*protocol.MessagePartDelta); ok {
		// The fold took it; the part itself is not copied for each delta.
		r.delta(d)
		return
	}
	part, _ := r.conv.Part(ch.MessageID, ch.PartID)
	switch p := part.(type) {
	case *protocol.TextPart:
		r.text(p.ID, p.Text)
	case *protocol.ReasoningPart:
		r.reasoning(p.ID, p.Text)
	case *protocol.ToolPart:
		r.tool(p)
	}
}

func (r *renderer) delta(d *protocol.MessagePartDelta) {
	switch x := d.Delta.(type) {
	case *protocol.TextDelta:
		r.shown[d.PartID] += len(x.Text)
		r.answer(x.Text)
	case *protocol.ReasoningDelta:
		r.shown[d.PartID] += len(x.Text)
		r.aside(x.Text)
	}
}

// text shows what of a snapshot the deltas have not shown.
func (r *renderer) text(id, text string) {
	if n := r.shown[id]; n < len(text) {
		r.shown[id] = len(text)
		r.answer(text[n:])
	}
}

func (r *renderer) reasoning(id, text string) {
	if n := r.shown[id]; n < len(text) {
		r.shown[id] = len(text)
		r.aside(text[n:])
	}
}

func (r *renderer) answer(s string) {
	if s == "" {
		return
	}
	r.closeTalk()
	fmt.Fprint(r.out, s)
	r.outOpen = !strings.HasSuffix(s, "\n")
}

func (r *renderer) aside(s string) {
	if s == "" {
		return
	}
	r.closeOut()
	fmt.Fprint(r.talk, r.style.dim+s+r.style.reset)
	r.talkOpen = !strings.HasSuffix(s, "\n")
}

// line is a whole line of talk.
func (r *renderer) line(style, s string) {
	r.closeOut()
	r.closeTalk()
	fmt.Fprintln(r.talk, style+s+r.style.reset)
}

func (r *renderer) closeOut() {
	if r.outOpen {
		fmt.Fprintln(r.out)
		r.outOpen = false
	}
}

func (r *renderer) closeTalk() {
	if r.talkOpen {
		fmt.Fprintln(r.talk)
		r.talkOpen = false
	}
}

// tool shows a card whenever a call's status has changed.
func (r *renderer) tool(p *protocol.ToolPart) {
	status := p.State.Status()
	if status == protocol.ToolPending || r.status[p.ID] == status {
		return
	}
	r.status[p.ID] = status
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
		r.line(r.style.dim, "- "+toolName(p)+" (cancelled)")
	}
}

func toolName(p *protocol.ToolPart) string {
	if p.Title != nil && *p.Title != "" && *p.Title != p.ToolName {
		return p.ToolName + ": " + *p.Title
	}
	return p.ToolName
}

// resultLines is how much of a tool's result is shown.
const resultLines = 12

func (r *renderer) result(p *protocol.ToolPart) {
	text := strings.TrimRight(reducer.ToolResultText(p), "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if i == resultLines {
			r.line(r.style.dim, fmt.Sprintf("  … %d more lines", len(lines)-i))
			return
		}
		r.line(r.style.dim, "  "+l)
	}
}

func (r *renderer) turnEnded(ev *protocol.TurnEnded) {
	if ev.StopReason == protocol.StopEndTurn {
		return
	}
	if ev.Error == nil {
		r.line(r.style.dim, "turn ended: "+string(ev.StopReason))
	}
}

// remark is talk of our own.
func (r *renderer) remark(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line(r.style.dim, s)
}

// fresh closes open lines, so that a question starts on its own.
func (r *renderer) fresh() { r.end() }

// end closes the last line.
func (r *renderer) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeOut()
	r.closeTalk()
}
