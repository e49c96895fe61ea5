package main

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// styles are ANSI sequences; "" where colour is off.
type styles struct{ dim, bold, red, green, reset string }

// coloured is what every terminal of the last thirty years understands.
var coloured = styles{dim: "\x1b[2m", bold: "\x1b[1m", red: "\x1b[31m", green: "\x1b[32m", reset: "\x1b[0m"}

// colourFor says how to style a file: colour only on a terminal, and never with
// NO_COLOR set.
func colourFor(f *os.File) styles {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(f) {
		return styles{}
	}
	return coloured
}

// isTerminal says whether a person may be at the other end.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// screen is stdout and stderr as one reader sees them. Safe for concurrent use.
//
// Where both are the same lines, talk begins on a fresh one; where stdout is a
// file or a pipe of its own, nothing but the answer goes into it.
type screen struct {
	out, talk *pane
	// style is of talk alone: the answer is never coloured, it may be data.
	style styles
	// shared: out and talk are one terminal or one file.
	shared bool
}

// newScreen looks at what the two files are. Talk is made harmless wherever it
// goes: a log is read on a terminal later.
func newScreen(out, talk *os.File) *screen {
	return &screen{out: newPane(out, isTerminal(out)), talk: newPane(talk, true), style: colourFor(talk),
		shared: isTerminal(out) && isTerminal(talk) || sameFile(out, talk)}
}

// sameFile says whether two files were redirected to one place, as 2>&1 does in
// the log of a CI job.
func sameFile(a, b *os.File) bool {
	x, xerr := a.Stat()
	y, yerr := b.Stat()
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// data writes bytes to stdout as they are.
func (s *screen) data(b []byte) { s.out.write(string(b)) }

// answer is the harness's text, as it is; only a terminal is spared what steers it.
func (s *screen) answer(text string) {
	if text != "" {
		s.talk.fresh()
		s.out.write(text)
	}
}

// aside is talk that streams, as reasoning does. Each piece is styled by itself,
// so that whatever is written between two pieces has its own style.
func (s *screen) aside(text string) {
	if text != "" {
		s.clear()
		s.talk.styled(s.style.dim, text, s.style.reset)
	}
}

// line is a whole line of talk.
func (s *screen) line(style, text string) {
	s.clear()
	s.talk.line(style, text, s.style.reset)
}

// remark is a line of our own, or one that matters less than the rest.
func (s *screen) remark(text string) { s.line(s.style.dim, text) }

// ask is talk whose line stays open for an answer.
func (s *screen) ask(text string) {
	s.clear()
	s.talk.styled("", text, "")
}

// clear makes room for talk. Where stdout is its own file it is left alone: the
// answer there must not depend on what was said beside it.
func (s *screen) clear() {
	if s.shared {
		s.out.freshIfFree()
	}
}

// end closes the last lines.
func (s *screen) end() {
	s.out.fresh()
	s.talk.fresh()
}

// pane is one of the two files. A write that fails is the last one.
//
// Each has a lock of its own: a reader that takes nothing of one must not hold up
// the other, on which the way out is told.
type pane struct {
	// harmless: a person reads it on a terminal, which must not be steered by
	// what a harness says.
	harmless bool
	// failed is closed when a write has failed.
	failed chan struct{}

	mu sync.Mutex
	w  io.Writer
	// err is why the last write failed; nil: none did.
	err error
	// open: the last line has no newline yet.
	open bool
}

// newPane writes to w.
func newPane(w io.Writer, harmless bool) *pane {
	return &pane{w: w, harmless: harmless, failed: make(chan struct{})}
}

// write appends text.
func (p *pane) write(text string) { p.styled("", text, "") }

// styled appends text between two sequences.
func (p *pane) styled(style, text, reset string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(style, text, reset)
}

// line appends a whole line, on a fresh one, with nothing of another between.
func (p *pane) line(style, text, reset string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshen()
	p.put(style, strings.TrimRight(text, "\n"), reset)
	p.freshen()
}

// put appends; called under the lock. Each call is one write of the file.
func (p *pane) put(style, text, reset string) {
	if p.harmless {
		text = harmless(text)
	}
	if style == "" {
		reset = ""
	}
	p.raw(style + text + reset)
	if text != "" {
		p.open = !strings.HasSuffix(text, "\n")
	}
}

// raw is the one place that writes. A reader that has gone away is told of once:
// whoever watches failed ends the run.
func (p *pane) raw(text string) {
	if p.err != nil {
		return
	}
	if _, err := io.WriteString(p.w, text); err != nil {
		p.err = err
		close(p.failed)
	}
}

// fresh closes an open line.
func (p *pane) fresh() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freshen()
}

// typed notes that the reader has ended the line, by the newline that a terminal
// echoes.
func (p *pane) typed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = false
}

// freshIfFree is fresh, unless somebody is writing: talk does not wait for a
// stdout that nobody reads.
func (p *pane) freshIfFree() {
	if p.mu.TryLock() {
		defer p.mu.Unlock()
		p.freshen()
	}
}

// freshen is fresh under the lock.
func (p *pane) freshen() {
	if p.open {
		p.raw("\n")
		p.open = false
	}
}

// fault is why the last write failed; nil: none did.
func (p *pane) fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// harmless shows control characters instead of sending them: an escape sequence
// in a tool's output could else move the cursor and forge a question, or hide the
// end of a command that consent is asked for. Colours that a harness means well go
// with the rest.
func harmless(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n") // an end of line on some systems, and no threat
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case !steers(r):
			return r
		case r < 0x20:
			return 0x2400 + r // its control picture
		}
		return utf8.RuneError
	}, text)
}

// steers says whether a terminal acts on a character: C0 but newline and tab,
// DEL, C1, and what turns the direction of writing.
func steers(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
