package acp

import (
	"strconv"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// speech is the message being said and its open part. Agents do not say where
// messages begin: some put an id on each chunk, with thoughts in an id space of
// their own, others put none.
type speech struct {
	// open is true while a message is; n counts the keys made so far.
	open bool
	n    int
	// part is the key of the part that streams; "" between parts.
	part string
	// kind, id and owner are those of the last chunk of the message.
	kind      protocol.PartType
	id, owner string
	// texts, thoughts and tools say what the message holds so far; ended, that a
	// tool call has ended since it began.
	texts, thoughts, tools, ended bool
	// ids are those of the message's chunks, by kind.
	textID, thoughtID string
	// held is the escape of a high surrogate at the end of the part, kept until
	// its other half comes; nil otherwise.
	held []byte
}

// content is one content block that an agent sends.
type content struct {
	// Type is text, image, audio, resource_link or resource.
	Type text `json:"type"`
	// Text is kept as its literal: a chunk may end within a character.
	Text jsontext.Value `json:"text"`
	// Data is an image or a sound in base64.
	Data text `json:"data"`
	// MimeType is the media type; agents forget it.
	MimeType text `json:"mimeType"`
	// URI is where a link leads, or where an image can be had as well.
	URI text `json:"uri"`
	// Name is a link's, for people.
	Name text `json:"name"`
	// Resource is a file with its content.
	Resource jsontext.Value `json:"resource"`
}

// chunk takes a piece of a message.
func (t *translator) chunk(kind protocol.PartType, raw jsontext.Value) {
	c := read[struct {
		MessageID text           `json:"messageId"`
		Content   jsontext.Value `json:"content"`
		Meta      jsontext.Value `json:"_meta"`
	}](raw)
	b := read[content](c.Content)
	if b.Type == "text" {
		if b.Text.Kind() == '"' {
			t.say(kind, string(c.MessageID), t.parent(c.Meta), b.Text)
		}
		return
	}
	if part := b.part(); part != nil {
		t.show(string(c.MessageID), t.parent(c.Meta), part)
		return
	}
	t.note("content ignored", word(string(b.Type)))
}

// say takes a piece of text, given as its JSON literal; owner is the call whose
// sub-agent says it, "" at top level.
func (t *translator) say(kind protocol.PartType, id, owner string, literal []byte) {
	s := &t.speech
	if t.agent.Quirks.ErrorText && t.turn != nil {
		t.turn.errorText = ""
		if said := protocol.Unquote(literal); kind == protocol.PartText && strings.HasPrefix(said, "Error: ") {
			t.turn.errorText = said
		}
	}
	switch {
	case len(literal) <= len(`""`):
		return
	case !t.running() && t.idle(literal), !t.heard(id):
		t.note("text outside a turn is not shown", "")
		return
	case s.part == "" || s.kind != kind || s.id != id || s.owner != owner:
		t.openPart(kind, id, owner)
	}
	t.grow(literal)
}

// idle says whether text that comes outside a turn is nothing that anybody said.
func (t *translator) idle(literal []byte) bool {
	said, chatter := protocol.Unquote(literal), t.agent.Quirks.Chatter
	return strings.TrimSpace(said) == "" || chatter != "" && strings.HasPrefix(said, chatter)
}

// sayProbed is say of a text delta whose id still lies in its line: where it
// goes on with the open part, no copy is made.
func (t *translator) sayProbed(d delta) {
	s := &t.speech
	if s.part != "" && !t.agent.Quirks.ErrorText && s.owner == "" && s.kind == d.kind && s.id == string(d.id) && len(d.literal) > len(`""`) {
		t.grow(d.literal)
		return
	}
	t.say(d.kind, string(d.id), "", d.literal)
}

// grow adds text to the open part. Half a surrogate pair at its end waits for
// the other.
func (t *translator) grow(literal []byte) {
	s := &t.speech
	if s.held != nil {
		// Appending to the line itself would write into its owner's bytes.
		joined := append([]byte{'"'}, s.held...)
		literal = append(joined, literal[1:]...)
		s.held = nil
	}
	if protocol.LoneHighSurrogateTail(literal) {
		const escape = len(`\ud800`)
		cut := len(literal) - 1 - escape
		s.held = append([]byte(nil), literal[cut:cut+escape]...)
		literal = append(append([]byte(nil), literal[:cut]...), '"')
	}
	if said := protocol.Unquote(literal); said != "" {
		t.emit(harness.TextAppended{Part: s.part, Text: said})
	}
}

// openPart starts a streaming part, in the open message if it belongs there; a
// sub-agent's finds its place by its owner.
func (t *translator) openPart(kind protocol.PartType, id, owner string) {
	t.settleIn(kind, id, owner)
	s := &t.speech
	s.part = s.key("part")
	t.emit(harness.PartOpened{Part: s.part, Kind: kind, Owner: owner})
}

// settleIn finds the message that content stands in, and notes that it does.
func (t *translator) settleIn(kind protocol.PartType, id, owner string) {
	if owner == "" {
		t.place(kind, id)
	} else {
		t.closePart()
	}
	s := &t.speech
	s.kind, s.id, s.owner = kind, id, owner
	if kind == protocol.PartText {
		s.texts, s.textID = true, id
	} else {
		s.thoughts, s.thoughtID = true, id
	}
}

// show shows a part that is whole at once.
func (t *translator) show(id, owner string, part protocol.Part) {
	if !t.heard(id) {
		t.note("content outside a turn is not shown", "")
		return
	}
	t.settleIn(protocol.PartText, id, owner)
	t.emit(harness.PartSet{Part: t.speech.key("part"), Owner: owner, Value: part})
}

// place ends the open part and, where the next content begins a message of its
// own, the message.
func (t *translator) place(kind protocol.PartType, id string) {
	t.closePart()
	if t.speech.begins(kind, id) {
		t.openMessage(id)
	}
}

// begins says whether content of a kind begins a message.
//
// Without an id it does after the end of a tool call and where speech turns into
// thought or back. With one it does where the id is new to the message; but a
// first text may follow the thoughts that led to it, whose ids are of another
// space.
func (s *speech) begins(kind protocol.PartType, id string) bool {
	switch {
	case !s.open || s.owner != "":
		return true // what a sub-agent said is in a message of its own
	case id == "":
		return s.ended || s.kind != "" && s.kind != kind
	case id == s.textID || id == s.thoughtID:
		return false
	case kind == protocol.PartText:
		return s.texts || s.tools
	}
	return s.texts || s.thoughts || s.tools
}

// openMessage starts a message.
func (t *translator) openMessage(id string) {
	t.speech = speech{open: true, n: t.speech.n}
	if id == "" {
		id = t.speech.key("message")
	}
	t.emit(harness.MessageOpened{Message: id})
}

// key makes a native key for what the agent gave none.
func (s *speech) key(what string) string {
	s.n++
	return what + "-" + strconv.Itoa(s.n)
}

// closePart ends the part that streams, if one does.
func (t *translator) closePart() {
	s := &t.speech
	if s.part == "" {
		return
	}
	if s.held != nil {
		t.emit(harness.TextAppended{Part: s.part, Text: "\uFFFD"})
		s.held = nil
	}
	t.emit(harness.PartSet{Part: s.part, Owner: s.owner, Value: closed(s.kind)})
	s.part = ""
}

// closed is the value that closes a part with the text streamed so far.
func closed(kind protocol.PartType) protocol.Part {
	if kind == protocol.PartReasoning {
		return &protocol.ReasoningPart{State: protocol.StateDone}
	}
	return &protocol.TextPart{State: protocol.StateDone}
}

// toolSighted makes room for a new tool call: in the open message, unless one
// has ended in it already; a sub-agent's finds its place by its owner.
func (t *translator) toolSighted(owner string) {
	t.closePart()
	if owner != "" {
		t.speech.owner = owner
		return
	}
	if !t.speech.open || t.speech.ended || t.speech.owner != "" {
		t.openMessage("")
	}
	t.speech.tools = true
}

// part is a block that is no text as a part; nil where it is none that we know.
func (b content) part() protocol.Part {
	switch b.Type {
	case "image":
		if b.Data == "" && b.URI != "" {
			return &protocol.ImagePart{URL: new(string(b.URI)), MimeType: orElse(b.MimeType, "image/*")}
		}
		return &protocol.ImagePart{Data: new(string(b.Data)), MimeType: orElse(b.MimeType, "image/*")}
	case "audio":
		return &protocol.FilePart{Data: new(string(b.Data)), MimeType: orElse(b.MimeType, "audio/*")}
	case "resource_link":
		return &protocol.FilePart{
			URL: new(string(b.URI)), MimeType: orElse(b.MimeType, anyType), Filename: named(b.Name),
		}
	case "resource":
		return embeddedPart(b.Resource)
	}
	return nil
}

// anyType is the media type of what has none.
const anyType = "application/octet-stream"

// embeddedPart is a resource that came with its content: text is said as text.
func embeddedPart(raw jsontext.Value) protocol.Part {
	r := read[struct {
		URI      text           `json:"uri"`
		MimeType text           `json:"mimeType"`
		Text     jsontext.Value `json:"text"`
		Blob     text           `json:"blob"`
	}](raw)
	if r.Text.Kind() == '"' {
		return &protocol.TextPart{Text: protocol.Unquote(r.Text), State: protocol.StateDone}
	}
	if r.Blob == "" {
		return &protocol.FilePart{URL: new(string(r.URI)), MimeType: orElse(r.MimeType, anyType)}
	}
	return &protocol.FilePart{
		Data: new(string(r.Blob)), MimeType: orElse(r.MimeType, anyType), Filename: named(r.URI),
	}
}

// named is a name for people; nil where there is none.
func named(s text) *string {
	if s == "" {
		return nil
	}
	return new(string(s))
}

// orElse is s, or the other where s is "".
func orElse(s text, other string) string {
	if s == "" {
		return other
	}
	return string(s)
}
