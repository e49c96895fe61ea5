package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"agent-server/protocol"
)

// asker asks for permissions one after another; answers are lines of stdin. Its
// reader starts with the first question and ends with stdin or the process: a
// read of a terminal cannot be taken back.
type asker struct {
	in   io.Reader
	talk io.Writer

	mu      sync.Mutex
	reading bool
	ended   bool
	queue   []question
}

type question struct {
	ev     *protocol.PermissionRequested
	answer func(optionID string)
}

func newAsker(in io.Reader, talk io.Writer) *asker { return &asker{in: in, talk: talk} }

// put asks a question; answer is called once, unless it is withdrawn.
func (a *asker) put(ev *protocol.PermissionRequested, answer func(string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(ev.Options) == 0 {
		fmt.Fprintf(a.talk, "? %s: no option was offered; it stays open until the turn is cancelled\n", ev.Title)
		return
	}
	a.queue = append(a.queue, question{ev, answer})
	if a.ended {
		a.refuseAll()
		return
	}
	if len(a.queue) == 1 {
		a.prompt()
	}
	if !a.reading {
		a.reading = true
		go a.read()
	}
}

// withdraw forgets a question that was resolved elsewhere.
func (a *asker) withdraw(requestID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, q := range a.queue {
		if q.ev.RequestID == requestID {
			a.queue = append(a.queue[:i], a.queue[i+1:]...)
			if i == 0 && len(a.queue) > 0 {
				a.prompt()
			}
			return
		}
	}
}

// stop forgets every question.
func (a *asker) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = nil
}

// prompt shows the first question.
func (a *asker) prompt() {
	ev := a.queue[0].ev
	fmt.Fprintf(a.talk, "? %s\n", ev.Title)
	if ev.ToolCall != nil && len(ev.ToolCall.RawInput) > 2 {
		fmt.Fprintf(a.talk, "  %s\n", clip(string(ev.ToolCall.RawInput), 400))
	}
	for i, o := range ev.Options {
		fmt.Fprintf(a.talk, "  %d) %s [%s]\n", i+1, o.Name, o.Kind)
	}
	fmt.Fprint(a.talk, "  choose: ")
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func (a *asker) read() {
	lines := bufio.NewScanner(a.in)
	for lines.Scan() {
		a.line(strings.TrimSpace(lines.Text()))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.refuseAll()
}

func (a *asker) line(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return
	}
	q := a.queue[0]
	id, ok := choose(q.ev.Options, text)
	if !ok {
		fmt.Fprintf(a.talk, "  %q is none of them; a number, an option id or a kind\n  choose: ", text)
		return
	}
	a.queue = a.queue[1:]
	go q.answer(id)
	if len(a.queue) > 0 {
		a.prompt()
	}
}

// choose reads a number, an option id or a kind.
func choose(options []protocol.PermissionOption, text string) (string, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(options) {
		return options[n-1].OptionID, true
	}
	for _, o := range options {
		if text != "" && (text == o.OptionID || text == string(o.Kind)) {
			return o.OptionID, true
		}
	}
	return "", false
}

// refuseAll answers what is left where nobody can be asked any more.
func (a *asker) refuseAll() {
	for _, q := range a.queue {
		id, ok := rejection(q.ev.Options)
		if !ok {
			fmt.Fprintf(a.talk, "\n  nobody to ask, and no option refuses: %s stays open\n", q.ev.Title)
			continue
		}
		fmt.Fprintf(a.talk, "\n  nobody to ask: refused (%s)\n", q.ev.Title)
		go q.answer(id)
	}
	a.queue = nil
}

func rejection(options []protocol.PermissionOption) (string, bool) {
	for _, kind := range []protocol.PermissionKind{protocol.RejectOnce, protocol.RejectAlways} {
		for _, o := range options {
			if o.Kind == kind {
				return o.OptionID, true
			}
		}
	}
	return "", false
}
