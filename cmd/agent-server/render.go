package main

import (
	"fmt"
	"strings"

	"agent-server/protocol"
	"agent-server/reducer"
)

// renderer shows a session by folding it: the answer goes to stdout, everything
// else is talk. With json set it prints the envelopes instead. One goroutine uses
// it.
type renderer struct {
	*screen
	json bool
	// resuming: a native session was asked for.
	resuming bool

	conv *reducer.Conversation
	buf  []byte
	// speaker says how each message is shown.
	speaker map[string]speaker
	// shown counts the bytes of each part's text that were shown.
	shown map[place]int
	// status is what the last card of each tool said.
	status map[place]protocol.ToolStatus
	// last is the part whose text was written last.
	last place
}

// place is a part: the same id may stand in two messages.
type place struct{ message, part string }

// speaker says whose message it is.
type speaker int

const (
	// agent: the answer.
	agent speaker = iota
	// subagent: talk.
	subagent
	// user: not shown; who runs a turn knows what was asked.
	user
)

func newRenderer(s *screen, json, resuming bool) *renderer {
	return &renderer{screen: s, json: json, resuming: resuming, speaker: map[string]speaker{},
		shown: map[place]int{}, status: map[place]protocol.ToolStatus{}}
}

// envelope shows one event.
func (r *renderer) envelope(env protocol.Envelope) {
	if r.json {
		r.buf = append(protocol.AppendEnvelope(r.buf[:0], env), '\n')
		r.data(r.buf)
		return
	}
	var changes []reducer.Change
	r.conv, changes = reducer.ReduceWithChanges(r.conv, env.Event)
	for _, ch := range changes {
		r.change(ch, env.Event)
	}
	switch ev := env.Event.(type) {
	case *protocol.SessionCreated:
		r.created(ev)
	case *protocol.ErrorEvent:
		r.fault(ev)
	case *protocol.TurnEnded:
		r.turnEnded(ev)
	}
}

// change shows what the fold says has changed.
func (r *renderer) change(ch reducer.Change, ev protocol.Event) {
	switch ch.Kind {
	case reducer.MessageUpserted:
		r.speaker[ch.MessageID] = r.speakerOf(ch.MessageID)
	case reducer.CompactionUpserted:
		r.compaction(ev)
	case reducer.PartUpserted:
		r.part(place{ch.MessageID, ch.PartID}, ev)
	}
}

func (r *renderer) speakerOf(message string) speaker {
	m, _ := r.conv.Message(message)
	switch {
	case m.ParentToolCallID != nil:
		return subagent
	case m.Role == protocol.RoleUser:
		return user
	}
	return agent
}

// part shows what is new in one. A delta is shown as it came: the part itself is
// not copied for each.
func (r *renderer) part(at place, ev protocol.Event) {
	if r.speaker[at.message] == user {
		return
	}
	if d, ok := ev.(*protocol.MessagePartDelta); ok {
		r.delta(at, d.Delta)
		return
	}
	part, _ := r.conv.Part(at.message, at.part)
	switch p := part.(type) {
	case *protocol.TextPart:
		r.rest(at, p.Text, r.say)
	case *protocol.ReasoningPart:
		r.rest(at, p.Text, r.think)
	case *protocol.ToolPart:
		r.tool(at, p)
	case *protocol.ImagePart:
		r.once(at, "image "+p.MimeType)
	case *protocol.FilePart:
		r.once(at, "file "+p.MimeType)
	case *protocol.UnknownPart:
		r.once(at, "part of type "+string(p.Type()))
	}
}

func (r *renderer) delta(at place, d protocol.Delta) {
	switch d := d.(type) {
	case *protocol.TextDelta:
		r.shown[at] += len(d.Text)
		r.say(at, d.Text)
	case *protocol.ReasoningDelta:
		r.shown[at] += len(d.Text)
		r.think(at, d.Text)
	}
}

// rest shows what of a snapshot the deltas have not shown.
func (r *renderer) rest(at place, text string, show func(place, string)) {
	if n := r.shown[at]; n < len(text) {
		r.shown[at] = len(text)
		show(at, text[n:])
	}
}

// say is text: a sub-agent's is talk, not the answer. Each part begins a line.
func (r *renderer) say(at place, text string) {
	if r.speaker[at.message] == subagent {
		r.think(at, text)
		return
	}
	if at != r.last {
		r.out.fresh()
		r.last = at
	}
	r.answer(text)
}

func (r *renderer) think(at place, text string) {
	if at != r.last {
		r.talk.fresh()
		r.last = at
	}
	r.aside(text)
}

// once names what a terminal cannot show.
func (r *renderer) once(at place, what string) {
	if r.shown[at] == 0 {
		r.shown[at] = 1
		r.remark("[" + what + "]")
	}
}

// created names the native session, which is what --resume takes.
func (r *renderer) created(ev *protocol.SessionCreated) {
	if r.resuming && ev.Resumed != nil && !*ev.Resumed {
		r.line(r.style.red, "! the session could not be resumed: this is a new one, without its context")
	}
	r.remark(fmt.Sprintf("session %s of %s", ev.NativeSessionID, ev.Harness))
}

func (r *renderer) compaction(ev protocol.Event) {
	if k, ok := ev.(*protocol.SessionCompaction); ok {
		r.remark("compaction of the context: " + strings.ReplaceAll(string(k.Status), "_", " "))
	}
}

func (r *renderer) fault(ev *protocol.ErrorEvent) {
	text := fmt.Sprintf("! %s: %s", ev.Category, ev.Message)
	if ev.Recoverable {
		text += " (it goes on)"
	}
	r.line(r.style.red, text)
}

// turnEnded says how, unless it ended as one hopes or its error was shown.
func (r *renderer) turnEnded(ev *protocol.TurnEnded) {
	if ev.StopReason != protocol.StopEndTurn && ev.Error == nil {
		r.remark("turn ended: " + string(ev.StopReason))
	}
	var spent []string
	if t := ev.Tokens; t != nil {
		spent = append(spent, fmt.Sprintf("tokens: %.0f in, %.0f out", t.Input, t.Output))
		if t.Cache != nil {
			spent = append(spent, fmt.Sprintf("cache: %.0f read, %.0f written", t.Cache.Read, t.Cache.Write))
		}
	}
	if ev.Cost != nil {
		spent = append(spent, fmt.Sprintf("cost: $%.4f", *ev.Cost))
	}
	if len(spent) > 0 {
		r.remark(strings.Join(spent, "; "))
	}
}
