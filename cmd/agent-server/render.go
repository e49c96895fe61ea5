package main

import (
	"fmt"
	"strings"

	"agent-server/protocol"
	"agent-server/reducer"
)

// renderer shows a session by folding it: the answer goes to stdout, everything
// else is talk. With json set it prints the envelopes instead. One goroutine uses
// it. What it shows looks like this:
//
//	session demo-1 of demo         the native session
//	The demo pretends to think.    reasoning; what sub-agents say
//	* edit_file: Edit demo.txt     a tool begins
//	+ edit_file: Edit demo.txt     it has ended; x: it failed, -: it was cancelled
//	  demo.txt: 1 added, 1 removed
//	  -hello
//	  +hello, world
//	  edited                       what the model read of it
//	The demo wrote no file.        the answer, on stdout
//	! auth: no key                 an error
//	tokens: 1 in, 15 out           what the turn took
type renderer struct {
	*screen
	// json: envelopes are printed, and nothing is folded.
	json bool
	// resuming: a native session was asked for.
	resuming bool
	// prompts: what users say is shown too, but for turns of ours, whose prompt
	// stands on the screen already.
	prompts bool
	ours    func(turn string) bool

	// conv is the fold of all that was shown.
	conv *reducer.Conversation
	// buf is used again for each envelope that is printed.
	buf []byte
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

// The speakers. The zero value is who speaks where nothing is known yet.
const (
	// agent: the answer.
	agent speaker = iota
	// subagent: talk.
	subagent
	// user: not shown to who runs a turn, and knows what was asked.
	user
)

// newRenderer begins with the empty conversation.
func newRenderer(s *screen, json, resuming bool) *renderer {
	return &renderer{screen: s, json: json, resuming: resuming, speaker: map[string]speaker{},
		shown: map[place]int{}, status: map[place]protocol.ToolStatus{}}
}

// envelope shows one event. The fold comes first: what is shown is what every
// other client would have after it, and not our own reading of the event.
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

// change shows what the fold says has changed. Ends of messages, permissions and
// usage show nothing here: the screen has them from elsewhere, or needs none.
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

// speakerOf is asked once a message, not once a delta: it reads the message.
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
// not copied for each, which would make a long answer cost its square.
func (r *renderer) part(at place, ev protocol.Event) {
	if r.speaker[at.message] == user {
		r.prompt(at)
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

// prompt shows what a user said, a line of its own.
func (r *renderer) prompt(at place) {
	m, _ := r.conv.Message(at.message)
	if !r.prompts || r.ours(m.TurnID) {
		return
	}
	part, _ := r.conv.Part(at.message, at.part)
	switch p := part.(type) {
	case *protocol.TextPart:
		r.rest(at, p.Text, func(_ place, text string) { r.line(r.style.bold, "> "+text) })
	case *protocol.ImagePart:
		r.once(at, "image "+p.MimeType)
	case *protocol.FilePart:
		r.once(at, "file "+p.MimeType)
	}
}

// delta shows one piece of text, and counts it, so that the snapshot after it
// shows nothing twice. A tool's input is shown with its call.
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

// rest shows what of a snapshot the deltas have not shown: all of it, where none
// came. A law of the protocol says that a snapshot begins with what they said.
func (r *renderer) rest(at place, text string, show func(place, string)) {
	if n := r.shown[at]; n < len(text) {
		r.shown[at] = len(text)
		show(at, text[n:])
	}
}

// say is text: a sub-agent's is talk, not the answer, which whoever redirects
// stdout wants to find there alone. Each part begins a line: nothing in it says
// how it joins the one before.
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

// think is text that is no answer: reasoning, and what sub-agents say.
func (r *renderer) think(at place, text string) {
	if at != r.last {
		r.talk.fresh()
		r.last = at
	}
	r.aside(text)
}

// once names what a terminal cannot show. Later snapshots of it change nothing.
func (r *renderer) once(at place, what string) {
	if r.shown[at] == 0 {
		r.shown[at] = 1
		r.remark("[" + what + "]")
	}
}

// created names the native session, which is what --resume takes. That a session
// was not resumed is said loudly: the harness answers as if nothing had been said
// before, and that looks like a bad answer.
func (r *renderer) created(ev *protocol.SessionCreated) {
	if r.resuming && ev.Resumed != nil && !*ev.Resumed {
		r.line(r.style.red, "! the session could not be resumed: this is a new one, without its context")
	}
	r.remark(fmt.Sprintf("session %s of %s", ev.NativeSessionID, ev.Harness))
}

// compaction says why nothing else happens for a minute or two.
func (r *renderer) compaction(ev protocol.Event) {
	if k, ok := ev.(*protocol.SessionCompaction); ok {
		r.remark("compaction of the context: " + strings.ReplaceAll(string(k.Status), "_", " "))
	}
}

// fault is a line for each error event. The turn's own error is one of them: it
// precedes the turn's end, which therefore repeats nothing.
func (r *renderer) fault(ev *protocol.ErrorEvent) {
	text := fmt.Sprintf("! %s: %s", ev.Category, ev.Message)
	if ev.Recoverable {
		text += " (it goes on)"
	}
	r.line(r.style.red, text)
}

// turnEnded says how, unless it ended as one hopes or its error was shown; and
// what it took, as far as the harness tells.
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
