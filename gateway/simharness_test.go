package gateway

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"agent-server/harness"
	"agent-server/harness/process"
	"agent-server/protocol"
)

// parrot is the simulation's harness: its prompt says, word by word, what its process
// will do, one word each time that the world lets it speak.
//
//	open, delta TEXT, close   a text part        flood N      N deltas
//	ask     asks, and waits for the answer       hang         waits for a cancel
//	crash   dies                                 done         ends the turn
type parrot struct{}

func (parrot) Info() harness.Info {
	return harness.Info{ID: protocol.HarnessClaudeCode, Capabilities: protocol.AgentCapabilities{MultiTurn: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchUnsupported}}
}
func (parrot) Check(protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) { return nil, nil }
func (parrot) Launch(l harness.Launch) (harness.Command, error) {
	return harness.Command{Args: []string{l.NativeID + l.Resume}}, nil
}
func (parrot) New(l harness.Launch, _ func() string) harness.Translator {
	return &beak{native: l.NativeID + l.Resume, resumed: l.Resume != ""}
}

// beak is the parrot's translator.
type beak struct {
	native  string
	resumed bool
	parts   int
}

func (b *beak) Step(in harness.Input) harness.Output {
	switch in := in.(type) {
	case harness.Begin:
		return harness.Output{Updates: []harness.Update{harness.PromptWritten{}}, Stdin: []byte("prompt " + in.Input.Text + "\n")}
	case harness.Cancel:
		return harness.Output{Stdin: []byte("cancel\n")}
	case harness.Resolve:
		return harness.Output{Stdin: fmt.Appendf(nil, "resolve %s %d\n", in.Request, in.Verdict.Decision)}
	}
	return harness.Output{}
}

func (b *beak) Line(line []byte) harness.Output {
	word, text, _ := strings.Cut(string(line), " ")
	return harness.Output{Updates: b.updates(word, text)}
}

func (b *beak) updates(word, text string) []harness.Update {
	part := fmt.Sprint("p", b.parts)
	switch word {
	case "created":
		return []harness.Update{harness.Created{NativeID: b.native, Resumed: b.resumed}}
	case "registered":
		return []harness.Update{harness.Registered{}}
	case "open":
		b.parts++
		return []harness.Update{harness.PartOpened{Part: fmt.Sprint("p", b.parts), Kind: protocol.PartText}}
	case "delta":
		return []harness.Update{harness.TextAppended{Part: part, Text: text}}
	case "close":
		return []harness.Update{harness.PartSet{Part: part, Value: &protocol.TextPart{State: protocol.StateDone}}}
	case "ask":
		return []harness.Update{harness.Asked{Request: text, Call: "call-" + text, Name: "Bash", RawInput: protocol.Object(`{"command":"` + text + `"}`)}}
	case "done":
		return []harness.Update{harness.Finished{Reason: protocol.StopEndTurn}}
	case "cancelled":
		return []harness.Update{harness.Finished{Reason: protocol.StopCancelled}}
	}
	return nil
}

// actor is the parrot's process: it lives in the simulation, and does the next thing of
// its script when the world says so.
type actor struct {
	// lines are what it writes next, exits its end, from within; stopped and killed are
	// closed from without.
	lines           chan string
	exits           chan process.Status
	stopped, killed chan struct{}
	stop, kill      sync.Once
	// slow is how long it takes to end once it is told to.
	slow time.Duration
	// number makes what it asks distinct.
	number int

	mu sync.Mutex
	// unread is stdin that it has not looked at.
	unread string
	script []string
	// asking is the request that it waits for; "": none. dying: its end has begun.
	asking string
	asked  int
	dying  bool
}

func newActor(number int, slow time.Duration) *actor {
	return &actor{lines: make(chan string), exits: make(chan process.Status), stopped: make(chan struct{}), killed: make(chan struct{}),
		slow: slow, number: number, script: []string{"created"}}
}

// Write implements running.
func (a *actor) Write(lines []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dying {
		return process.ErrClosed
	}
	a.unread += string(lines)
	return nil
}

func (a *actor) CloseStdin() {}
func (a *actor) Stop()       { a.stop.Do(func() { close(a.stopped) }) }
func (a *actor) Kill()       { a.kill.Do(func() { close(a.killed) }) }
func (a *actor) Dying() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.dying }

// live is the process: its lines, then its one exit.
func (a *actor) live(sink process.Sink) {
	for {
		select {
		case line := <-a.lines:
			sink.Line([]byte(line))
			continue
		case st := <-a.exits:
			sink.Exited(a.end(st))
		case <-a.stopped:
			select {
			case <-time.After(a.slow):
			case <-a.killed:
			}
			sink.Exited(a.end(process.Status{Stopped: true}))
		case <-a.killed:
			sink.Exited(a.end(process.Status{Code: -1, Signal: "killed", Stopped: true}))
		}
		return
	}
}

// end is its last state.
func (a *actor) end(st process.Status) process.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dying, st.Unread, a.script, a.asking = true, int64(len(a.unread)), nil, ""
	return st
}

// hear reads stdin.
func (a *actor) hear() {
	for line := range strings.Lines(a.unread) {
		word, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch request, _, _ := strings.Cut(text, " "); {
		case word == "prompt":
			a.script = append(append(a.script, "registered"), strings.Split(text, ";")...)
		case word == "cancel":
			a.script, a.asking = []string{"cancelled"}, ""
		case word == "resolve" && request == a.asking:
			a.asking = ""
		}
	}
	a.unread = ""
}

// word takes what it does next; "": nothing, it waits or has ended.
func (a *actor) word() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hear(); len(a.script) == 0 || a.asking != "" || a.dying {
		return ""
	}
	word, rest := a.script[0], a.script[1:]
	kind, text, _ := strings.Cut(word, " ")
	var n int
	_, _ = fmt.Sscan(text, &n)
	switch {
	case kind == "hang":
		return ""
	case kind == "ask":
		a.asked++
		a.asking = fmt.Sprintf("r%d-%d", a.number, a.asked)
		word = "ask " + a.asking
	case kind == "flood":
		word = fmt.Sprintf("delta %0100d", n)
		if n > 1 {
			rest = append([]string{fmt.Sprint("flood ", n-1)}, rest...)
		}
	}
	a.script = rest
	return word
}

// speak does the next thing; false: there is none.
func (a *actor) speak() bool {
	switch word := a.word(); word {
	case "":
		return false
	case "crash":
		a.die(3)
	default:
		select {
		case a.lines <- word:
		default: // it is being stopped
		}
	}
	return true
}

// die ends it by itself.
func (a *actor) die(code int) {
	select {
	case a.exits <- process.Status{Code: code}:
	default:
	}
}
