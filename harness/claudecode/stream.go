package claudecode

import (
	"strconv"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// One answer of the model comes as message_start; for each block a
// content_block_start, its deltas, an assistant line with the whole of it, and a
// content_block_stop; then message_delta and message_stop. The assistant line has
// no index: it completes the block that streams. What was streamed of a block that
// gets no such line stays, unless the CLI takes it back.

// blockKind is what a block of a message is.
type blockKind int

const (
	// otherBlock is one that is not shown, or not while it streams.
	otherBlock blockKind = iota
	textBlock
	thinkingBlock
	toolBlock
)

// said is a top-level message that is being said.
type said struct {
	// id is the API's.
	id string
	// blocks are those of the message, by their index.
	blocks []block
	// streamed is true where its blocks came as stream events.
	streamed bool
	// over is true after its message_stop.
	over bool
}

// block is one block of a streamed message.
type block struct {
	kind blockKind
	// key is the part's, or the tool call's id.
	key string
	// held is the escape of half a surrogate pair that the next delta completes.
	held string
	// whole is true once the assistant line with all of it came.
	whole bool
}

// mostBlocks bounds what one message may make us remember.
const mostBlocks = 4096

// onStreamEvent takes the main agent's stream. A sub-agent's has not been seen;
// its complete lines tell the same.
func (t *translator) onStreamEvent(line []byte) {
	e := object[event](line)
	if e.Parent != "" || t.turn == nil {
		return
	}
	a := object[apiEvent](e.Event)
	switch a.Type {
	case "message_start":
		t.onMessageStart(a)
	case "content_block_start":
		t.onBlockStart(a)
	case "content_block_delta":
		t.onDelta(a)
	case "message_delta":
		t.endRequest(a.Usage)
	case "message_stop":
		t.onMessageStop(e.Abandoned)
	case "content_block_stop", "ping", "error":
		// A block ends with its assistant line; one that gets none ends with its
		// message, which may take it back.
	default:
		t.note("unknown stream event", word(string(a.Type)))
	}
}

// onMessageStart opens a message, and notes what its request puts into the window.
func (t *translator) onMessageStart(a apiEvent) {
	m := object[message](a.Message)
	t.openStream(string(m.ID), string(m.Model), true)
	t.startRequest(string(m.Model), m.Usage)
}

// openStream starts a top-level message. One that was cut short, of which no end
// was seen, is superseded by it.
func (t *translator) openStream(id, model string, streamed bool) {
	t.settleCompaction()
	if t.stream != nil && t.stream.streamed && !t.stream.over {
		t.releaseAll()
		t.abandon(0, false)
	}
	t.stream = &said{id: id, streamed: streamed}
	t.open = openMessage{id: id}
	t.emit(harness.MessageOpened{Message: id, Model: model})
}

// onBlockStart opens a block. Blocks come in the order of their indices; one that
// does not is left to its complete line.
func (t *translator) onBlockStart(a apiEvent) {
	if t.stream == nil || int(a.Index) != len(t.stream.blocks) || len(t.stream.blocks) >= mostBlocks {
		t.note("stream block out of order", "")
		return
	}
	c := object[content](a.Block)
	t.stream.blocks = append(t.stream.blocks, block{})
	b := &t.stream.blocks[len(t.stream.blocks)-1]
	b.key = partKey(t.stream.id, int(a.Index))
	switch c.Type {
	case "text":
		b.kind = textBlock
		t.openPart(b, protocol.PartText, c.Text)
	case "thinking":
		b.kind = thinkingBlock
		t.openPart(b, protocol.PartReasoning, c.Thinking)
	case "tool_use":
		if c.ID == "" {
			return // its line will tell
		}
		b.kind, b.key = toolBlock, string(c.ID)
		t.open = openMessage{id: t.stream.id}
		t.showTool(c, "", &protocol.PendingState{})
	}
}

// openPart opens a part that streams; a block may begin with some of its text.
func (t *translator) openPart(b *block, kind protocol.PartType, begun text) {
	t.open = openMessage{id: t.stream.id}
	t.emit(harness.PartOpened{Part: b.key, Kind: kind})
	if begun != "" {
		t.emit(harness.TextAppended{Part: b.key, Text: string(begun)})
	}
}

// partKey is the native key of a block that has no id of its own.
func partKey(message string, index int) string {
	return message + ":" + strconv.Itoa(index)
}

// onDelta is what the probe does, by the decoder.
func (t *translator) onDelta(a apiEvent) {
	d := object[apiDelta](a.Delta)
	g := growth{index: int(a.Index), kind: deltaKinds[string(d.Type)]}
	switch g.kind {
	case textBlock:
		g.literal = d.Text
	case thinkingBlock:
		g.literal = d.Thinking
	case toolBlock:
		g.literal = d.PartialJSON
	default:
		return // a signature, a citation
	}
	if jsontext.Value(g.literal).Kind() == '"' {
		t.grow(g)
	}
}

// grow lets a block grow by a delta. One of a block that was never shown, or of
// another kind, changes nothing.
func (t *translator) grow(g growth) {
	if t.turn == nil || t.stream == nil || g.index < 0 || g.index >= len(t.stream.blocks) {
		return
	}
	b := &t.stream.blocks[g.index]
	if b.kind != g.kind || b.whole || t.stream.over {
		return // what is complete, or taken back, does not grow again
	}
	if more := b.take(g.literal); more != "" {
		t.append(b, more)
	}
}

// append shows what a block grew by.
func (t *translator) append(b *block, more string) {
	if b.kind == toolBlock {
		t.emit(harness.InputAppended{Call: b.key, Text: more})
	} else {
		t.emit(harness.TextAppended{Part: b.key, Text: more})
	}
}

// take gives the text of a literal, with the half of a surrogate pair held from
// the one before, and without one at its own end, which it holds.
func (b *block) take(literal []byte) string {
	if b.held != "" {
		literal = append([]byte(`"`+b.held), literal[1:]...)
		b.held = ""
	}
	if protocol.LoneHighSurrogateTail(literal) {
		cut := len(literal) - len(`\ud800"`)
		b.held = string(literal[cut : len(literal)-1])
		literal = append(append([]byte(nil), literal[:cut]...), '"')
	}
	return protocol.Unquote(literal)
}

// release shows a held half that stayed alone, as what the snapshot will hold.
func (t *translator) release(b *block) {
	if b.held != "" {
		b.held = ""
		t.append(b, "\uFFFD")
	}
}

// onMessageStop ends the message, or the blocks of it that the CLI takes back. If
// a sub-agent has spoken meanwhile its message is the one open, and stays so.
func (t *translator) onMessageStop(abandoned jsontext.Value) {
	if t.stream == nil {
		return
	}
	t.releaseAll()
	taken := object[struct {
		Message text    `json:"api_message_id"`
		From    *number `json:"from_block_index"`
	}](abandoned)
	isThis := taken.Message == "" || string(taken.Message) == t.stream.id
	t.stream.over = true
	if taken.From != nil && isThis && t.abandon(int(*taken.From), true) {
		return
	}
	if t.open.id == t.stream.id {
		t.open = openMessage{}
		t.emit(harness.MessageClosed{})
	}
}

// releaseAll is release for every block of the message.
func (t *translator) releaseAll() {
	for i := range t.stream.blocks {
		t.release(&t.stream.blocks[i])
	}
}

// abandon takes back the blocks from one index on; those of which a complete line
// came only where the CLI itself names them. It says whether there were any.
func (t *translator) abandon(from int, named bool) bool {
	var parts []string
	for i, b := range t.stream.blocks {
		if i >= from && b.kind != otherBlock && (named || !b.whole) {
			parts = append(parts, b.key)
			delete(t.calls, b.key)
		}
	}
	if len(parts) == 0 {
		return false
	}
	t.open = openMessage{}
	t.emit(harness.Abandoned{Parts: parts})
	return true
}
