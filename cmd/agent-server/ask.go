package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agent-server/client"
	"agent-server/protocol"
)

// asker asks for permissions, one after another; answers are lines of stdin.
// Where nobody can be asked any more, it refuses.
//
//	? Edit demo.txt
//	    path: demo.txt
//	  1) Allow [allow_once]
//	  2) Reject [reject_once]
//	  choose: 1
//
// Its reader starts with the first question and ends with stdin, or between two
// lines once the asker is closed: a read that waits cannot be taken back. Where
// lines mean something beside questions, converse starts it. Safe for concurrent
// use.
type asker struct {
	*screen
	// in are the lines of stdin. One of 64 KiB is no answer: it ends them.
	in *bufio.Scanner
	// terminal is stdin where a person types there; nil where it is a file or a
	// pipe, whose lines wait for their questions.
	terminal *os.File
	// answers counts those on their way.
	answers sync.WaitGroup

	mu sync.Mutex
	// wanted wakes the reader: there is a question, or there will be none.
	wanted *sync.Cond
	// reading: the reader runs. ended: it has; stdin is over. closed: nothing is
	// asked any more.
	reading, ended, closed bool
	// queue are the questions without an answer; the first is on the screen.
	queue []question
	// other is given lines while nothing is asked, by the reader, and over is called at
	// stdin's end; nil: lines wait for their question. stale are the options of a question that has just been
	// answered elsewhere: a line may have been meant for it.
	other func(line string)
	over  func()
	stale []protocol.PermissionOption
}

// question is one request and what its answer goes to.
type question struct {
	ev *protocol.PermissionRequested
	// answer may take as long as the gateway does: it is called beside the rest.
	answer func(protocol.PermissionOutcome)
}

// newAsker asks on a screen and reads answers from in, which it finds out to be a
// terminal or not. It reads nothing before the first question: stdin may be meant
// for the shell.
func newAsker(in io.Reader, s *screen) *asker {
	a := &asker{in: bufio.NewScanner(in), screen: s}
	if f, ok := in.(*os.File); ok && isTerminal(f) {
		a.terminal = f
	}
	a.wanted = sync.NewCond(&a.mu)
	return a
}

// converse reads from now on: lines that answer no question go to other, and over,
// which must not wait, is called when stdin has ended. A question is then nobody's to refuse: others may be
// there who answer it.
func (a *asker) converse(other func(line string), over func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.other, a.over = other, over
	a.begin()
}

// begin starts the one reader, or wakes it. Called under the lock.
func (a *asker) begin() {
	if !a.reading {
		a.reading = true
		go a.read()
	}
	a.wanted.Signal()
}

// put asks a question; answer is called once, on a goroutine of its own, unless
// the question is withdrawn. Several wait for each other, in the order in which
// they came: a screen can ask one thing at a time.
func (a *asker) put(ev *protocol.PermissionRequested, answer func(protocol.PermissionOutcome)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.queue = append(a.queue, question{ev, answer})
	if len(a.queue) == 1 {
		a.prompt()
	}
	if a.ended {
		a.nobody()
		return
	}
	a.begin()
}

// question puts one that a gateway asks, and hands the answer to it; events go on
// being shown meanwhile. That the answer came too late is no fault:
// permission.resolved says what counts.
func (a *asker) question(ctx context.Context, c *client.Client, ev *protocol.PermissionRequested) {
	a.put(ev, func(o protocol.PermissionOutcome) {
		err := untilAnswered(func() error {
			_, err := c.Respond(ctx, ev.SessionID, ev.RequestID, o)
			return err
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, client.ErrClosed) {
			a.line("", "agent-server: answering a permission request: "+err.Error())
		}
	})
}

// withdraw forgets a question that was resolved otherwise: by a cancel, by the
// turn's end, or by our own answer, after which it is none of ours any more.
func (a *asker) withdraw(requestID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.queue, func(q question) bool { return q.ev.RequestID == requestID })
	if i < 0 {
		return
	}
	gone := a.queue[i]
	a.queue = slices.Delete(a.queue, i, i+1)
	if i == 0 {
		a.stale = gone.ev.Options
		a.remark("  no longer asked")
		a.next()
	}
}

// close forgets what is still asked and waits for the answers on their way.
func (a *asker) close() {
	a.mu.Lock()
	a.queue, a.closed = nil, true
	a.wanted.Signal()
	a.mu.Unlock()
	a.answers.Wait()
}

// next shows the question that is first now.
func (a *asker) next() {
	if len(a.queue) > 0 {
		a.prompt()
	}
}

// prompt shows the first question with all that consent is asked for. The options
// are the harness's own, its words beside the kinds that we know: a name alone
// could say anything.
func (a *asker) prompt() {
	ev := a.queue[0].ev
	a.line(a.style.bold, "? "+oneLine(ev.Title))
	if ev.ToolCall != nil {
		for _, l := range inputLines(ev.ToolCall.RawInput) {
			a.line("", "    "+l)
		}
	}
	for i, o := range ev.Options {
		a.line("", fmt.Sprintf("  %d) %s [%s]", i+1, oneLine(o.Name), o.Kind))
	}
	if a.terminal != nil {
		// What was typed before the question was seen consents to nothing.
		forgetTyped(a.terminal)
	}
	if !a.ended {
		a.ask(invitation(ev.Options))
	}
}

// invitation is what an open line says before the answer.
func invitation(options []protocol.PermissionOption) string {
	if len(options) == 0 {
		return "  it offers no answer; an empty line refuses: "
	}
	return "  choose: "
}

// read takes lines until stdin ends, each for the question that is first then. It
// is the reader's goroutine. The lock is not held while it waits for a line.
func (a *asker) read() {
	for a.awaitQuestion() && a.in.Scan() {
		a.take(strings.TrimSpace(a.in.Text()))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.nobody()
	if a.over != nil {
		a.over()
	}
}

// awaitQuestion leaves stdin unread while nothing is asked and nobody else wants
// it; false: nobody will.
func (a *asker) awaitQuestion() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.queue) == 0 && !a.closed && a.other == nil {
		a.wanted.Wait()
	}
	return !a.closed
}

// take judges one line.
func (a *asker) take(text string) {
	a.mu.Lock()
	if len(a.queue) > 0 {
		a.judge(text)
		a.mu.Unlock()
		return
	}
	_, late := choose(a.stale, text)
	if text != "" {
		a.stale = nil
	}
	a.mu.Unlock()
	switch {
	case a.other == nil || text == "":
	case late:
		a.remark("  not sent: the question that it may have answered is gone; type it again to send it")
	default:
		a.other(text)
	}
}

// judge takes a line for the first question. A wrong one is asked again, for ever: a
// guess would be consent that nobody gave. Called under the lock.
func (a *asker) judge(text string) {
	q := a.queue[0]
	if len(q.ev.Options) == 0 && text == "" {
		a.reply(refusalOf(q.ev.Options), "refused")
		return
	}
	o, ok := choose(q.ev.Options, text)
	if !ok {
		a.line("", fmt.Sprintf("  %q is none of them: a number, an option id or a kind", text))
		a.ask(invitation(q.ev.Options))
		return
	}
	a.reply(protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: o.OptionID}, o.Name)
}

// reply answers the first question. A person has seen what was typed; in a
// transcript it is missing, and is written into it by the option's name.
func (a *asker) reply(outcome protocol.PermissionOutcome, said string) {
	q := a.queue[0]
	a.queue = a.queue[1:]
	if a.terminal != nil {
		a.talk.typed()
	} else {
		a.ask(oneLine(said) + "\n")
	}
	a.answers.Go(func() { q.answer(outcome) })
	a.next()
}

// nobody is what becomes of questions once stdin has ended. Called under the lock.
func (a *asker) nobody() {
	if a.other == nil {
		a.refuseAll()
		return
	}
	for _, q := range a.queue {
		a.remark("  nobody to ask here: left to others (" + oneLine(q.ev.Title) + ")")
	}
	a.queue = nil
}

// refuseAll answers what is left where nobody can be asked. No answer at all
// would hold the turn up for good.
func (a *asker) refuseAll() {
	for _, q := range a.queue {
		a.remark("  nobody to ask: refused (" + oneLine(q.ev.Title) + ")")
		a.answers.Go(func() { q.answer(refusalOf(q.ev.Options)) })
	}
	a.queue = nil
}

// choose reads a number, an option id or a kind, in this order: what the screen
// shows comes first. An id is for scripts that know the harness, a kind for those
// that know the protocol.
func choose(options []protocol.PermissionOption, text string) (protocol.PermissionOption, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], true
	}
	for _, o := range options {
		if text != "" && (text == o.OptionID || text == string(o.Kind)) {
			return o, true
		}
	}
	return protocol.PermissionOption{}, false
}

// refusalOf is the narrowest refusal that is offered; where none is, the request
// is cancelled, which every harness takes for a no.
func refusalOf(options []protocol.PermissionOption) protocol.PermissionOutcome {
	for _, kind := range []protocol.PermissionKind{protocol.RejectOnce, protocol.RejectAlways} {
		for _, o := range options {
			if o.Kind == kind {
				return protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: o.OptionID}
			}
		}
	}
	return protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}
}
