package client

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"agent-server/eventlog"
	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/session"
)

// kind is which server a simulated world has.
type kind struct {
	name string
	// base: no additions. durable: the log outlives a host. lossy: the log lets old
	// turns go. drops: single messages are lost without the link's end.
	base, durable, lossy, drops bool
}

// kinds are all of them; seeds take turns.
var kinds = []kind{
	{name: "durable host, restarted", durable: true},
	{name: "pruned log", lossy: true, durable: true},
	{name: "ephemeral host, dying", drops: true},
	{name: "base server, dying", base: true},
	{name: "messages lost one by one", durable: true, drops: true},
}

// host is a server: the real session machine, a real log, and what a gateway does of
// wire and order, without its processes, clocks and sockets.
type host struct {
	w        *world
	instance int
	log      *eventlog.Memory
	m        *session.Machine
	fold     reducer.Folded
	running  int64
	turns    int64
	// script is what the process of generation gen will still write.
	gen    int
	script []string
	timers map[session.TimerID]int64
	tokens session.Token
	owed   map[session.Token]func(session.Answer)
}

// parrot is the harness: its prompt says what it will do, word by word.
type parrot struct{}

func (parrot) Info() harness.Info {
	return harness.Info{ID: protocol.HarnessClaudeCode, Capabilities: protocol.AgentCapabilities{MultiTurn: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchUnsupported}}
}
func (parrot) Check(protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) { return nil, nil }
func (parrot) Launch(harness.Launch) (harness.Command, error)                    { return harness.Command{}, nil }
func (parrot) New(harness.Launch, func() string) harness.Translator              { return &beak{} }

// beak is the parrot's translator.
type beak struct{ parts int }

func (b *beak) Step(in harness.Input) harness.Output {
	switch in := in.(type) {
	case harness.Begin:
		return harness.Output{Updates: []harness.Update{harness.PromptWritten{}, harness.Registered{}}, Stdin: []byte(in.Input.Text + "\n")}
	case harness.Cancel:
		return harness.Output{Updates: []harness.Update{harness.Finished{Reason: protocol.StopCancelled}}}
	}
	return harness.Output{}
}

func (b *beak) Line(line []byte) harness.Output {
	word, text, _ := strings.Cut(string(line), " ")
	part := fmt.Sprint("p", b.parts)
	switch word {
	case "open":
		b.parts++
		return harness.Output{Updates: []harness.Update{harness.PartOpened{Part: fmt.Sprint("p", b.parts), Kind: protocol.PartText}}}
	case "delta":
		return harness.Output{Updates: []harness.Update{harness.TextAppended{Part: part, Text: text}}}
	case "close":
		return harness.Output{Updates: []harness.Update{harness.PartSet{Part: part, Value: &protocol.TextPart{State: protocol.StateDone}}}}
	case "done":
		return harness.Output{Updates: []harness.Update{harness.Finished{Reason: protocol.StopEndTurn}}}
	}
	return harness.Output{}
}

// newHost begins a host, on a log that is new or was left to it.
func newHost(w *world, log *eventlog.Memory, fold reducer.Folded, turns int64) *host {
	w.instances++
	h := &host{w: w, instance: w.instances, log: log, fold: fold, turns: turns, timers: map[session.TimerID]int64{}, owed: map[session.Token]func(session.Answer){}}
	if log == nil {
		o := eventlog.MemoryOptions{}
		if w.kind.lossy {
			o.MaxSessionBytes = 6 << 10
		}
		h.log = eventlog.NewMemory(o)
	}
	h.mend()
	info, err := h.log.Open("s")
	if err != nil && !errors.Is(err, eventlog.ErrPruned) {
		w.fail("opening the log: %v", err)
	}
	var admissions []session.Admission
	for _, a := range info.Admissions {
		admissions = append(admissions, session.Admission{TurnID: a.TurnID, Hash: a.Hash})
	}
	var seed [32]byte
	seed[0], seed[1] = byte(w.seed), byte(w.instances)
	h.m = session.New(session.Options{SessionID: "s", Harness: parrot{}, Seed: seed, NextSeq: info.NextSeq, HashKey: []byte("key"), Admissions: admissions, IdleTimeout: -1})
	return h
}

// mend appends the ends that a dead host owes.
func (h *host) mend() {
	next := h.fold.Seq + 1
	var stamped []session.Stamped
	say := func(ev protocol.Event) {
		stamped = append(stamped, session.Stamped{Seq: next, Event: ev})
		next++
	}
	for _, t := range h.fold.Conversation.Turns() {
		if t.Status != reducer.TurnActive {
			continue
		}
		for _, m := range reducer.ConversationMessages(h.fold.Conversation) {
			if m.TurnID != t.TurnID || m.EndedAt != nil {
				continue
			}
			for i, p := range m.Parts {
				if text, ok := p.(*protocol.TextPart); ok && text.State == protocol.StateStreaming {
					done := *text
					done.State = protocol.StateDone
					say(&protocol.MessagePart{SessionID: "s", TurnID: t.TurnID, MessageID: m.MessageID, OutputIndex: m.OutputIndex, PartIndex: protocol.Number(i), Part: &done, Timestamp: h.w.now})
				}
			}
			say(&protocol.MessageEnded{SessionID: "s", TurnID: t.TurnID, MessageID: m.MessageID, Timestamp: h.w.now})
		}
		say(&protocol.TurnEnded{SessionID: "s", TurnID: t.TurnID, StopReason: protocol.StopError, Error: &protocol.TurnError{Category: protocol.CategoryProcessExit, Message: "the host died"}, Timestamp: h.w.now})
	}
	h.append(nil, stamped)
}

// append stores events, folds them, and shows them to every connection.
func (h *host) append(admit *session.Admission, stamped []session.Stamped) (records []eventlog.Record) {
	if len(stamped) == 0 && admit == nil {
		return nil
	}
	for _, st := range stamped {
		switch ev := st.Event.(type) {
		case *protocol.TurnStarted:
			h.turns++
			h.running = h.turns
			h.w.begun(ev.TurnID)
		case *protocol.TurnEnded:
			h.running = 0
			h.w.over(ev.TurnID)
		}
		head := fmt.Appendf(nil, `%s{"sessionId":"s","seq":%d,"event":`, eventlog.Prefix, st.Seq)
		line := append(protocol.AppendEvent(bytes.Clone(head), st.Event), "}}\n"...)
		records = append(records, eventlog.Record{Seq: st.Seq, Line: line, EventAt: len(head), Durable: true, Turn: h.turns})
		h.fold, _ = reducer.FoldEnvelope(h.fold, protocol.Envelope{SessionID: "s", Seq: st.Seq, Event: st.Event})
	}
	b := eventlog.Batch{Records: records, Running: h.running}
	if admit != nil {
		b.Admission = &eventlog.Admission{TurnID: admit.TurnID, Hash: admit.Hash}
	}
	if err := h.log.Append("s", b); err != nil {
		h.w.fail("appending: %v", err)
	}
	return records
}

// step gives the machine an input and performs what comes out, in the order that it
// asks for.
func (h *host) step(in session.Input) {
	out := h.m.Step(h.w.now, in)
	records := h.append(out.Admit, out.Events)
	for _, a := range out.Acks {
		h.answer(a)
	}
	for _, c := range h.w.clients {
		for _, r := range records {
			c.send(h, message{env: must1(protocol.DecodeEnvelope(r.Envelope()))})
		}
	}
	for _, a := range out.Replies {
		h.answer(a)
	}
	if out.Stop != nil {
		h.script = nil
		h.w.later(func() { h.step(session.Exited{Gen: out.Stop.Gen}) }, h)
	}
	if out.Spawn != nil {
		h.gen, h.script = out.Spawn.Gen, nil
		h.w.later(func() { h.step(session.Spawned{Gen: out.Spawn.Gen}) }, h)
	}
	for prompt := range strings.Lines(string(out.Stdin)) {
		h.script = append(h.script, strings.Split(strings.TrimSpace(prompt), ";")...)
	}
	for _, t := range out.Timers {
		if delete(h.timers, t.ID); t.At > 0 {
			h.timers[t.ID] = t.At
		}
	}
}

// answer hands an answer to whom it is owed, once.
func (h *host) answer(a session.Answer) {
	to, ok := h.owed[a.Token]
	if !ok {
		h.w.fail("token %d is answered, and owed nothing", a.Token)
		return
	}
	delete(h.owed, a.Token)
	to(a)
}

// speak lets the process write its next line, or die.
func (h *host) speak(r *rand.Rand) {
	if len(h.script) == 0 {
		return
	}
	word := h.script[0]
	h.script = h.script[1:]
	if word == "crash" {
		h.script = nil
		h.step(session.Exited{Gen: h.gen, Status: harness.ExitStatus{Code: 3}})
		return
	}
	h.step(session.NativeLine{Gen: h.gen, Line: []byte(word)})
}

// serve takes a request of a client's link.
func (h *host) serve(c *simClient, req simRequest) {
	link := c.epoch
	reply := func(in input) {
		if c.epoch == link { // else nobody is there to be answered
			c.send(h, message{in: in, answers: req.id})
		}
	}
	if code := h.w.refusal(); code != 0 {
		if a, ok := req.action.(start); ok {
			reply(started{epoch: a.epoch, turn: *a.params.TurnID, err: &protocol.Error{Code: code, Message: "a passing fault"}})
			return
		}
	}
	switch a := req.action.(type) {
	case start:
		h.tokens++
		h.owed[h.tokens] = func(got session.Answer) {
			s := started{epoch: a.epoch, turn: *a.params.TurnID}
			if got.Err != nil {
				s.err = got.Err
			}
			reply(s)
		}
		in := session.StartTurn{Token: h.tokens, TurnID: *a.params.TurnID, Input: a.params.Input, Config: a.params.Config}
		if a.params.Config.Cwd == "" {
			in.Faults = []protocol.Fault{{Path: "config.cwd", Message: "no such directory"}}
		}
		h.step(in)
	case subscribe:
		h.subscribe(c, a, reply)
	case replay:
		first, last, ok := h.log.Range("s")
		if !ok {
			reply(replayed{epoch: a.epoch, err: protocol.ErrUnknownSession("s")})
			return
		}
		p := page{first: first, latest: last}
		for _, env := range h.read(max(a.from, first) - 1) {
			p.events = append(p.events, arrival{env: env})
		}
		reply(replayed{epoch: a.epoch, page: p})
	}
}

// subscribe is session/subscribe: a suffix, or a snapshot, then the marker.
func (h *host) subscribe(c *simClient, a subscribe, reply func(input)) {
	first, head, ok := h.log.Range("s")
	s := subscribed{epoch: a.epoch}
	after := a.params.AfterSeq
	switch {
	case !ok:
		s.err = protocol.ErrUnknownSession("s")
		reply(s)
		return
	case after != nil && *after > head:
		s.err = &protocol.Error{Code: protocol.CodeSeqUnavailable, Message: "beyond the head"}
		reply(s)
		return
	case after == nil || *after < first-1 || a.params.Snapshot == protocol.SnapshotAlways:
		s.result = protocol.SessionSubscribeResult{Mode: protocol.SubscribedSnapshot, Seq: h.fold.Seq, State: h.fold.Conversation.AppendJSON(nil)}
	default:
		s.result = protocol.SessionSubscribeResult{Mode: protocol.SubscribedSuffix, Seq: *after}
	}
	reply(s)
	for _, env := range h.read(s.result.Seq) {
		c.send(h, message{env: env})
	}
	reply(synced{head})
}

// read is everything after a seq; one read of the log need not give all.
func (h *host) read(after int64) (envs []protocol.Envelope) {
	for {
		records, err := h.log.Read("s", after, 1<<20)
		if err != nil {
			h.w.fail("reading after %d: %v", after, err)
		}
		if len(records) == 0 || err != nil {
			return envs
		}
		for _, r := range records {
			envs = append(envs, must1(protocol.DecodeEnvelope(r.Envelope())))
		}
		after = records[len(records)-1].Seq
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// rung is the timer that is due first, if one is.
func (h *host) rung() (first session.TimerID, ok bool) {
	for id, at := range h.timers {
		if at <= h.w.now && (!ok || at < h.timers[first] || at == h.timers[first] && id.Name < first.Name) {
			first, ok = id, true
		}
	}
	return first, ok
}

// startOf asks the machine for a turn that does nothing.
func startOf(token session.Token, turn string) session.Input {
	return session.StartTurn{Token: token, TurnID: turn, Input: protocol.TextInput("done"),
		Config: protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/"}}
}
