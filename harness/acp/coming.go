package acp

import (
	"slices"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// What version 2 of the protocol changes about a turn, as far as an agent may mix it
// into version 1: a prompt is answered at once, as taken, and a state tells the end;
// messages come whole as well as in chunks; a tool's content grows.

// taken says whether an answer to a prompt only says that the agent has it: its end is
// told by a state.
func (t *translator) taken(m rpcline.Message) bool {
	r := read[struct {
		StopReason text `json:"stopReason"`
		MessageID  text `json:"messageId"`
	}](m.Result)
	return m.Error == nil && r.StopReason == "" && r.MessageID != ""
}

// stateChanged takes what the agent says of its main loop. Only the end of a turn that
// was taken so is told by it; an idle that comes before any work is a greeting.
func (t *translator) stateChanged(raw jsontext.Value) {
	u := read[struct {
		State text `json:"state"`
	}](raw)
	switch {
	case t.turn == nil || !t.turn.loop:
		t.note("state of no turn that waits for it", word(string(u.State)))
	case u.State == "running" || u.State == "requires_action":
		t.turn.moved = true
	case u.State == "idle" && t.turn.moved:
		t.ends(t.resultEnding(read[promptResult](raw)))
	}
}

// whole takes a message in one piece. Of one that was streamed it is the last word
// while its part is open; else it says again what was shown.
func (t *translator) whole(kind protocol.PartType, raw jsontext.Value) {
	m := read[struct {
		ID      text           `json:"messageId"`
		Content jsontext.Value `json:"content"`
		Meta    jsontext.Value `json:"_meta"`
	}](raw)
	id, said := string(m.ID), ""
	for _, b := range list[content](m.Content) {
		if b.Type == "text" && b.Text.Kind() == '"' {
			said += protocol.Unquote(b.Text)
		}
	}
	s := &t.speech
	switch {
	case s.part != "" && s.id == id && s.kind == kind && said != "":
		t.emit(harness.PartSet{Part: s.part, Owner: s.owner, Value: final(kind, said)})
		s.part, s.held = "", nil
	case t.turn != nil && id != "" && slices.Contains(t.turn.ids, id):
		t.note("message that was shown already", "")
	default:
		t.say(kind, id, t.parent(m.Meta), protocol.AppendString(nil, said))
	}
}

// final is a part with its last text.
func final(kind protocol.PartType, said string) protocol.Part {
	if kind == protocol.PartReasoning {
		return &protocol.ReasoningPart{Text: said, State: protocol.StateDone}
	}
	return &protocol.TextPart{Text: said, State: protocol.StateDone}
}

// contentGrows takes a block that is added to a call's content; it is shown with the
// call's end.
func (t *translator) contentGrows(raw jsontext.Value) {
	u := read[struct {
		ID      text           `json:"toolCallId"`
		Content jsontext.Value `json:"content"`
	}](raw)
	tl := t.tools[string(u.ID)]
	if tl == nil {
		t.note("content of no open call", "")
		return
	}
	tl.content = append(tl.content, toolContent(append(append(jsontext.Value{'['}, u.Content...), ']'))...)
}
