package claudecode

import (
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// Sub-agents do not stream: each of their lines shows a part of its own, whose
// owner is the tool call that runs them. Their messages lie between the main
// agent's blocks, so which message the machine has open is kept track of: it ends
// one where the owner changes, and we where only the message does.

// onAssistant takes a finished block. What it holds is authoritative: it closes
// the part that streamed, or shows one that did not.
func (t *translator) onAssistant(line []byte) {
	s := object[spoken](line)
	m := object[message](s.Message)
	t.noteAgent(string(s.Agent), string(s.Parent))
	if !t.canSay(string(s.Parent)) {
		t.note("assistant line outside a turn", "")
		return
	}
	if m.Model == synthetic && (bool(s.IsAPIError) || s.Error != "") {
		t.fail(s)
		return
	}
	for _, c := range contents(m.Content) {
		t.say(c, m, s)
	}
	if s.Parent == "" && m.StopReason != "" && m.Model != synthetic {
		// Not streamed: the line alone has the whole usage.
		t.startRequest(string(m.Model), m.Usage)
		t.showGauge(nil)
	}
}

// synthetic is the model of lines that the CLI says in the model's place.
const synthetic = "<synthetic>"

// fail notes an API error for the turn's end. A sub-agent's comes back as its
// tool's result.
func (t *translator) fail(s spoken) {
	if s.Parent == "" {
		t.turn.failure = &failure{word: string(s.Error), status: float64(s.Status), kind: string(s.ErrorType), detail: string(s.APIError)}
	}
}

// say shows one block.
func (t *translator) say(c content, m message, s spoken) {
	switch c.Type {
	case "text":
		key := t.place(textBlock, c, m, s)
		t.emit(harness.PartSet{Part: key, Owner: string(s.Parent), Role: protocol.RoleAssistant,
			Value: &protocol.TextPart{Text: string(c.Text), State: protocol.StateDone}})
	case "thinking", "redacted_thinking":
		key := t.place(thinkingBlock, c, m, s)
		t.emit(harness.PartSet{Part: key, Owner: string(s.Parent), Role: protocol.RoleAssistant, Value: reasoningOf(c, s)})
	case "tool_use":
		if c.ID == "" {
			t.note("tool call without an id", word(string(c.Name)))
			return
		}
		t.place(toolBlock, c, m, s)
		t.showTool(c, string(s.Parent), &protocol.InProgressState{Input: inputOf(c)})
	default:
		t.note("unknown content block", word(string(c.Type)))
	}
}

// redacted marks thought that the provider has encrypted: there is none to read.
const redacted = `{"anthropic":{"redacted":true}}`

// reasoningOf is a thinking block as a part. The CLI says when it was over and
// how long it took, or nothing.
func reasoningOf(c content, s spoken) *protocol.ReasoningPart {
	p := &protocol.ReasoningPart{Text: string(c.Thinking), State: protocol.StateDone}
	if c.Type == "redacted_thinking" {
		p.ProviderMetadata = protocol.Object(redacted)
	}
	end, err := time.Parse(time.RFC3339, string(s.Timestamp))
	ms := end.UnixMilli()
	took := int64(s.ThinkingMS)
	if err == nil && took > 0 && took <= ms {
		p.Time = &protocol.OpenSpan{Start: ms - took, End: &ms}
	}
	return p
}

// place finds where a finished block stands, opening its message where none was,
// and gives its part's key.
func (t *translator) place(kind blockKind, c content, m message, s spoken) string {
	id := string(m.ID)
	if s.Parent != "" {
		t.enter(id, string(s.Parent))
		return t.nextKey(id)
	}
	if t.stream == nil || t.stream.id != id {
		model := string(m.Model)
		if model == synthetic {
			model = ""
		}
		t.openStream(id, model, false)
	}
	t.open = openMessage{id: id}
	if b := t.stream.match(kind, c); b != nil {
		t.release(b)
		b.whole = true
		return b.key
	}
	return t.nextKey(id)
}

// match is the streamed block that a finished one completes: the tool call of
// that id, else the first of the kind that was not completed, the last one first
// where it is still streaming.
func (m *said) match(kind blockKind, c content) *block {
	var found *block
	for i := range m.blocks {
		b := &m.blocks[i]
		switch {
		case b.kind != kind || b.whole:
		case kind == toolBlock && b.key != string(c.ID):
		case found == nil || i == len(m.blocks)-1:
			found = b
		}
	}
	return found
}

// nextKey is the key of a block that was not streamed: counted, and apart from
// those of streamed blocks.
func (t *translator) nextKey(message string) string {
	n := t.blocks[message]
	t.blocks[message] = n + 1
	return partKey(message+":whole", n)
}

// enter goes over to a sub-agent's message. The machine ends the open one where
// the owner changes; where it stays, only we know that another message begins.
func (t *translator) enter(message, owner string) {
	if t.open.owner == owner && t.open.id != message {
		t.emit(harness.MessageClosed{})
	}
	t.open = openMessage{message, owner}
}

// The notes that the CLI writes in the user's place when it is interrupted; no
// other mark tells them.
const (
	interruptNote     = "[Request interrupted by user]"
	interruptToolNote = "[Request interrupted by user for tool use]"
)

// onUser takes a line in the user's name. Little of it is the user's: mostly
// tool results, then notes of the CLI's own.
func (t *translator) onUser(line []byte) {
	s := object[spoken](line)
	t.noteAgent(string(s.Agent), string(s.Parent))
	if s.IsReplay {
		return
	}
	blocks := contents(object[message](s.Message).Content)
	if s.IsSynthetic {
		t.onSummary(blocks)
		return
	}
	results := 0
	for _, c := range blocks {
		if c.Type == "tool_result" {
			results++
		}
	}
	for i, c := range blocks {
		switch {
		case c.Type == "tool_result":
			if results != 1 {
				s.Structured = nil // whose it would be is not said
			}
			t.onToolResult(c, s)
		case c.Type != "text" || c.Text == interruptNote || c.Text == interruptToolNote:
		case s.Parent != "" && t.canSay(string(s.Parent)):
			t.showTask(partKey(string(s.UUID), i), string(c.Text), s)
		default:
			t.note("user line of no use", "")
		}
	}
}

// showTask shows what a sub-agent was told to do.
func (t *translator) showTask(key, task string, s spoken) {
	t.enter(string(s.UUID), string(s.Parent))
	t.emit(harness.PartSet{Part: key, Owner: string(s.Parent), Role: protocol.RoleUser,
		Value: &protocol.TextPart{Text: task, State: protocol.StateDone}})
}

// noteAgent remembers which tool call runs a sub-agent.
func (t *translator) noteAgent(agent, parent string) {
	if agent == "" || parent == "" || t.agents[agent] == parent {
		return
	}
	t.agents[agent] = parent
	t.nameAgent(parent, agent)
}
