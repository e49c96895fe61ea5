package codexappserver

import (
	"strconv"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
)

// Text streams in deltas and then comes whole. The whole is the truth, with one
// exception that was seen: reasoning may end empty after having streamed. So an end
// never takes back what was shown. What the deltas lack of the whole the session
// machine adds; where they contradict it, it shows the whole as another part.
//
// Ids of messages are the provider's and unique in a turn at best, so that a part's
// key holds thread and turn as well.

// speech is the message being said at top level. Codex does not say where messages
// begin, only which items there are: a message is what the model thought, then
// said, then called. Anything said after that begins the next.
type speech struct {
	// open is true while a message is; n counts those so far.
	open bool
	n    int
	// said and called tell what the message holds beside thoughts.
	said, called bool
}

// speechPart is a text or reasoning part on its way.
type speechPart struct {
	// key is its native key; "" before it is shown.
	key  string
	kind protocol.PartType
	// suffix tells the sections of one item apart.
	suffix string
	// done is true once it was closed.
	done bool
}

// place makes room for something of a kind at top level.
func (t *translator) place(kind protocol.PartType, owner string) {
	if owner != "" {
		return // the machine gives a sub-agent's words a message of their own
	}
	s := &t.speech
	begins := !s.open || s.called && kind != protocol.PartTool || s.said && (kind == protocol.PartText || kind == protocol.PartReasoning)
	if begins {
		*s = speech{open: true, n: s.n + 1}
		t.emit(harness.MessageOpened{Message: "message-" + strconv.Itoa(s.n), Model: t.modelNow()})
	}
	s.said = s.said || kind == protocol.PartText
	s.called = s.called || kind == protocol.PartTool
}

// modelNow is the model that the turn runs on; "" where Codex has named none.
func (t *translator) modelNow() string {
	if t.turn == nil {
		return ""
	}
	return t.defaults.turnModel(t.turn.in.Config)
}

// key is a part's native key: the provider's ids are unique in a turn at best.
func (p params) key(suffix string) string {
	return string(p.ThreadID) + "/" + string(p.TurnID) + "/" + string(p.ItemID) + suffix
}

// say adds text to a part, showing it first where it was not.
func (t *translator) say(part *speechPart, kind protocol.PartType, key, owner, text string) {
	if text == "" || part.done {
		return
	}
	if part.key == "" {
		t.place(kind, owner)
		part.key, part.kind = key, kind
		t.emit(harness.PartOpened{Part: key, Kind: kind, Owner: owner})
	}
	t.emit(harness.TextAppended{Part: part.key, Text: text})
}

// finish closes a part with its whole text; "" leaves it as it was streamed. One
// that never streamed is shown whole.
func (t *translator) finish(part *speechPart, kind protocol.PartType, key, owner, text string, meta protocol.Object) {
	if part.done || part.key == "" && text == "" {
		return
	}
	if part.key == "" {
		t.place(kind, owner)
		part.key, part.kind = key, kind
	}
	part.done = true
	t.emit(harness.PartSet{Part: part.key, Owner: owner, Value: whole(part.kind, text, meta)})
}

// whole is a part's last state.
func whole(kind protocol.PartType, text string, meta protocol.Object) protocol.Part {
	head := protocol.PartHead{Meta: meta}
	if kind == protocol.PartReasoning {
		return &protocol.ReasoningPart{PartHead: head, Text: text, State: protocol.StateDone}
	}
	return &protocol.TextPart{PartHead: head, Text: text, State: protocol.StateDone}
}

// streaming are the parts of an item that are shown and not closed, in order.
func (it *item) streaming() []*speechPart {
	var parts []*speechPart
	for _, part := range append([]*speechPart{&it.text}, it.sections...) {
		if part.key != "" && !part.done {
			parts = append(parts, part)
		}
	}
	return parts
}

// closeText closes what an item has streamed, as it was streamed.
func (t *translator) closeText(it *item) {
	for _, part := range it.streaming() {
		part.done = true
		t.emit(harness.PartSet{Part: part.key, Value: whole(part.kind, "", nil)})
	}
}

// abandonSpeech drops what the model was saying when Codex tries again: the answer
// comes once more, whole, under another id.
func (t *translator) abandonSpeech(thread string) {
	var keys []string
	for _, key := range t.order {
		it := t.items[key]
		if key.thread != thread || it.closed {
			continue
		}
		for _, part := range it.streaming() {
			part.done = true
			keys = append(keys, part.key)
		}
	}
	if len(keys) > 0 {
		t.emit(harness.Abandoned{Parts: keys})
		t.speech.open = t.speech.open && thread != t.thread
	}
}

// spoke takes a piece of a message, or of a plan that is written as one.
func (t *translator) spoke(p params) {
	if it := t.speaking(p, "agentMessage"); it != nil {
		t.say(&it.text, protocol.PartText, p.key(""), t.owner(string(p.ThreadID)), string(p.Delta))
	}
}

// speaking is the item that grows; it need not have been started.
func (t *translator) speaking(p params, kind string) *item {
	f := fields{Type: rpcline.Text(kind), ID: p.ItemID}
	it, _ := t.take(p, f)
	return it
}

// spokeAll takes a whole message.
func (t *translator) spokeAll(p params, it *item, f fields) {
	p.ItemID = f.ID
	var meta protocol.Object
	if f.Phase != "" {
		meta = protocol.Encode(map[string]string{"codex/phase": string(f.Phase)})
	}
	t.finish(&it.text, protocol.PartText, p.key(""), t.owner(string(p.ThreadID)), string(f.Text), meta)
}

// summarised takes a piece of a summary of the model's thoughts.
func (t *translator) summarised(p params) {
	t.think(p, "/summary-"+strconv.Itoa(int(p.Summary.Value)))
}

// thought takes a piece of the thoughts themselves.
func (t *translator) thought(p params) {
	t.think(p, "/content-"+strconv.Itoa(int(p.Content.Value)))
}

func (t *translator) think(p params, suffix string) {
	if it := t.speaking(p, "reasoning"); it != nil {
		t.say(it.section(suffix), protocol.PartReasoning, p.key(suffix), t.owner(string(p.ThreadID)), string(p.Delta))
	}
}

// section is one piece of an item's reasoning.
func (it *item) section(suffix string) *speechPart {
	for _, part := range it.sections {
		if part.suffix == suffix {
			return part
		}
	}
	part := &speechPart{suffix: suffix}
	it.sections = append(it.sections, part)
	return part
}

// thoughtAll takes all of the model's thoughts. Codex may send none at the end,
// though it streamed some: those stay.
func (t *translator) thoughtAll(p params, it *item, f fields) {
	p.ItemID = f.ID
	owner := t.owner(string(p.ThreadID))
	each := func(name string, texts []string) {
		for i, text := range texts {
			suffix := name + strconv.Itoa(i)
			t.finish(it.section(suffix), protocol.PartReasoning, p.key(suffix), owner, text, nil)
		}
	}
	each("/summary-", rpcline.Texts(f.Summary))
	each("/content-", rpcline.Texts(f.Content))
	t.closeText(it)
}

// userSaid shows what a sub-agent was told. Our own prompt was shown before it was
// sent.
func (t *translator) userSaid(p params, f fields) {
	owner := t.owner(string(p.ThreadID))
	if owner == "" {
		return
	}
	p.ItemID = f.ID
	for i, c := range rpcline.List[struct {
		Type rpcline.Text `json:"type"`
		Text rpcline.Text `json:"text"`
	}](f.Content) {
		if c.Type == "text" && c.Text != "" {
			t.emit(harness.PartSet{
				Part: p.key("/" + strconv.Itoa(i)), Owner: owner, Role: protocol.RoleUser,
				Value: whole(protocol.PartText, string(c.Text), nil),
			})
		}
	}
}
