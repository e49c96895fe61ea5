package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// The puppet is a harness of these tests with a real child process, the test
// binary itself. Its prompt is a script, steps joined by ";":
//
//	say TEXT      a text part        flood N SIZE  N deltas of SIZE bytes
//	open N SIZE   a flood that goes on
//	tick N US     N deltas, US µs apart, that say when they were written
//	env, argv     what it was given  pid           its process id
//	ask           asks, says the decision          wait [FILE]  until it is
//	                                               cancelled, and there is a FILE
//	mute          closes its stdout, lives on
//	end REASON    ends so
//	exit N        dies               deaf          never ends, hears nothing
//	panic         its translator panics            timer MS  says "rang" MS later
//	unregistered FILE  first of all: an interrupt lands once there is a FILE
//
// A script that comes to its end ends the turn. A stale line is ignored.
type puppet struct {
	id      protocol.HarnessID
	info    harness.Info
	faults  []protocol.Fault
	bad     error
	restart bool
	// once: its stdin is closed behind its first prompt.
	once bool
	// panics: so does Check; infoPanics: so does Info, while it is true.
	panics     bool
	infoPanics *atomic.Bool
}

// act is a line of the puppet, both ways.
type act struct {
	Op       string            `json:"op"`
	Text     string            `json:"text,omitzero"`
	N        int               `json:"n,omitzero"`
	Decision *harness.Decision `json:"decision,omitzero"`
}

func (p *puppet) Info() harness.Info {
	if p.infoPanics != nil && p.infoPanics.Load() {
		panic("the puppet's Info panics")
	}
	info := p.info
	info.ID = p.id
	info.Capabilities = protocol.AgentCapabilities{MultiTurn: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchUnsupported}
	return info
}

func (p *puppet) Check(protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) {
	if p.panics {
		panic("the puppet's Check panics")
	}
	return p.faults, []harness.Diagnostic{{Message: "a remark of the puppet"}}
}

func (p *puppet) Launch(l harness.Launch) (harness.Command, error) {
	return harness.Command{Args: []string{"--native", l.NativeID}, Env: []string{"PUPPET=1"}, StdinOnce: p.once}, p.bad
}

func (p *puppet) New(l harness.Launch, _ func() string) harness.Translator {
	return &hand{p: p, native: l.NativeID + l.Resume, resumed: l.Resume != ""}
}

// hand is what the puppet hangs on: its translator.
type hand struct {
	p       *puppet
	native  string
	resumed bool
	parts   int
}

func (s *hand) Step(in harness.Input) harness.Output {
	switch in := in.(type) {
	case harness.Begin:
		return harness.Output{Updates: []harness.Update{harness.PromptWritten{}}, Stdin: line(act{Op: "prompt", Text: in.Input.Text})}
	case harness.Configure:
		if s.p.restart {
			return harness.Output{Process: harness.Restart}
		}
	case harness.Cancel:
		return harness.Output{Stdin: line(act{Op: "cancel"})}
	case harness.Resolve:
		return harness.Output{Stdin: line(act{Op: "resolve", Decision: &in.Verdict.Decision})}
	case harness.Expired:
		return harness.Output{Updates: append(s.say("rang"), harness.Finished{Reason: protocol.StopEndTurn})}
	}
	return harness.Output{}
}

func line(a act) []byte {
	b, _ := json.Marshal(a)
	return append(b, '\n')
}

func (s *hand) Line(native []byte) harness.Output {
	var a act
	if json.Unmarshal(native, &a) != nil {
		return harness.Output{Diagnostics: []harness.Diagnostic{{Message: "noise"}}}
	}
	switch a.Op {
	case "created":
		return harness.Output{Updates: []harness.Update{harness.Created{NativeID: s.native, Resumed: s.resumed}}}
	case "registered":
		return harness.Output{Updates: []harness.Update{harness.Registered{}}}
	case "say":
		return harness.Output{Updates: s.say(a.Text)}
	case "open":
		s.parts++
		return harness.Output{Updates: []harness.Update{harness.PartOpened{Part: strconv.Itoa(s.parts), Kind: protocol.PartText}}}
	case "delta":
		return harness.Output{Updates: []harness.Update{harness.TextAppended{Part: strconv.Itoa(s.parts), Text: a.Text}}}
	case "close":
		return harness.Output{Updates: []harness.Update{s.full("")}} // as it was streamed
	case "ask":
		return harness.Output{Updates: []harness.Update{harness.Asked{Request: a.Text, Call: "call-" + a.Text, Name: "Bash", RawInput: protocol.Object(`{"command":"ls"}`)}}}
	case "timer":
		return harness.Output{Timers: []harness.Timer{{Name: "t", After: time.Duration(a.N) * time.Millisecond}}}
	case "done":
		return harness.Output{Updates: []harness.Update{harness.Finished{Reason: protocol.StopReason(a.Text)}}}
	case "panic":
		panic("the puppet's translator panics")
	}
	return harness.Output{}
}

// say is a whole text part.
func (s *hand) say(text string) []harness.Update {
	s.parts++
	return []harness.Update{s.full(text)}
}

func (s *hand) full(text string) harness.Update {
	return harness.PartSet{Part: strconv.Itoa(s.parts), Value: &protocol.TextPart{Text: text, State: protocol.StateDone}}
}

// playPuppet is the child's main.
func playPuppet() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	tell := func(a act) {
		if a.Op == "flush" {
			_ = out.Flush()
			return
		}
		_, _ = out.Write(line(a))
	}
	hear := func() act {
		_ = out.Flush()
		var a act
		if !in.Scan() {
			os.Exit(0)
		}
		_ = json.Unmarshal(in.Bytes(), &a)
		return a
	}
	tell(act{Op: "created"})
	for {
		if a := hear(); a.Op == "prompt" {
			perform(a.Text, tell, hear)
			_ = out.Flush()
		}
	}
}

// perform plays one prompt.
func perform(prompt string, tell func(act), hear func() act) {
	if !strings.HasPrefix(prompt, "unregistered") {
		tell(act{Op: "registered"})
	}
	for _, step := range strings.Split(prompt, ";") {
		words := strings.Fields(step)
		if len(words) == 0 {
			continue
		}
		if end := performStep(words, tell, hear); end != "" {
			tell(act{Op: "done", Text: end})
			return
		}
	}
	tell(act{Op: "done", Text: "end_turn"})
}

// appears waits for a file.
func appears(path string) {
	for _, err := os.Stat(path); err != nil; _, err = os.Stat(path) {
		time.Sleep(time.Millisecond)
	}
}

// tick says n times when it says so, in ns since the epoch.
func tick(n int, every time.Duration, tell func(act)) {
	tell(act{Op: "open"})
	beat := time.NewTicker(every)
	defer beat.Stop()
	for range n {
		<-beat.C
		tell(act{Op: "delta", Text: fmt.Sprintf("%d ", time.Now().UnixNano())})
		tell(act{Op: "flush"})
	}
	tell(act{Op: "close"})
}

// performStep plays one step; it gives a reason where the turn ends by it.
func performStep(words []string, tell func(act), hear func() act) (end string) {
	n := 0
	if len(words) > 1 {
		n, _ = strconv.Atoi(words[1])
	}
	switch words[0] {
	case "say":
		tell(act{Op: "say", Text: strings.Join(words[1:], " ")})
	case "flood", "open":
		size, _ := strconv.Atoi(words[2])
		tell(act{Op: "open"})
		for i := range n {
			tell(act{Op: "delta", Text: fmt.Sprintf("%0*d ", size-1, i)})
		}
		if words[0] == "flood" {
			tell(act{Op: "close"})
		}
	case "tick":
		us, _ := strconv.Atoi(words[2])
		tick(n, time.Duration(us)*time.Microsecond, tell)
	case "env":
		tell(act{Op: "say", Text: strings.Join(os.Environ(), "\n")})
	case "argv":
		tell(act{Op: "say", Text: strings.Join(os.Args, "\n")})
	case "pid":
		tell(act{Op: "say", Text: strconv.Itoa(os.Getpid())})
	case "ask":
		tell(act{Op: "ask", Text: "r" + strings.Join(words[1:], "")})
		for {
			switch a := hear(); a.Op {
			case "resolve":
				tell(act{Op: "say", Text: fmt.Sprint("decision ", int(*a.Decision))})
				return ""
			case "cancel":
				return "cancelled"
			}
		}
	case "unregistered":
		appears(words[1])
		tell(act{Op: "registered"})
		fallthrough
	case "wait":
		for hear().Op != "cancel" {
		}
		if words[0] == "wait" && len(words) > 1 {
			appears(words[1])
		}
		return "cancelled"
	case "deaf":
		tell(act{Op: "say", Text: "deaf"})
		for {
			hear() // until its input ends
		}
	case "end":
		return words[1]
	case "mute":
		_ = os.Stdout.Close()
		for {
			hear() // until its input ends
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "the puppet falls")
		os.Exit(n)
	case "panic", "timer":
		tell(act{Op: words[0], N: n})
		for {
			hear()
		}
	}
	return ""
}
