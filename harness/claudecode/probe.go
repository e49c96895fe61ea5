package claudecode

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A flood of text is a flood of lines that differ in their text alone. The probe
// recognizes them without the decoder: a fixed beginning, then members in
// whatever order the model's server wrote them. It accepts less than the decoder
// does, never more, and means the same by it: what it does not recognize, down to
// the last byte of the line, is left to the decoder. A fuzz test ties the two.

// growth is what a content_block_delta line says: which block grows, by what.
type growth struct {
	// index is the block's place in its message.
	index int
	// kind is the delta's type; other where the block does not grow by it.
	kind blockKind
	// literal is the JSON string, quotes included; it shares the line's bytes.
	literal []byte
}

// deltaKinds says for each delta type which blocks grow by it.
var deltaKinds = map[string]blockKind{
	"text_delta":       textBlock,
	"thinking_delta":   thinkingBlock,
	"input_json_delta": toolBlock,
}

const deltaHead = `{"type":"stream_event","event":{`

// probe reads a delta line of the main agent; false where it is anything else,
// or might be.
func probe(line []byte) (growth, bool) {
	if !bytes.HasPrefix(line, []byte(deltaHead)) {
		return growth{}, false
	}
	p := prober{b: line, i: len(deltaHead)}
	g := p.event()
	p.envelope()
	return g, !p.failed && p.i == len(line)
}

// prober walks a line. After a failure its place means nothing, and stays.
type prober struct {
	b      []byte
	i      int
	failed bool
}

// event reads the members of the event object, its brace open, to its end.
func (p *prober) event() growth {
	var g growth
	var index, delta, typed bool
	for {
		switch name := p.name(); string(name) {
		case "index":
			p.once(&index)
			g.index = p.small()
		case "delta":
			p.once(&delta)
			g.kind, g.literal = p.delta()
		case "type":
			p.once(&typed)
			p.expect(`"content_block_delta"`)
		default:
			p.failed = true
		}
		if !p.more() {
			break
		}
	}
	p.failed = p.failed || !index || !delta || !typed
	return g
}

// delta reads the delta object: its type and one string.
func (p *prober) delta() (blockKind, []byte) {
	var kind, said blockKind
	var literal []byte
	p.expect("{")
	for range 2 {
		switch name := p.name(); string(name) {
		case "type":
			kind = deltaKinds[string(inside(p.literal()))]
		case "text":
			said, literal = textBlock, p.literal()
		case "thinking":
			said, literal = thinkingBlock, p.literal()
		case "partial_json":
			said, literal = toolBlock, p.literal()
		default:
			p.failed = true
		}
		if !p.more() {
			break
		}
	}
	// A third member, two of one name, or a type without its text end here too.
	p.failed = p.failed || kind == otherBlock || kind != said || p.b[p.i-1] != '}'
	return kind, literal
}

// envelope reads what follows the event in the line: members that are strings or
// null, among them neither a second type or event nor a sub-agent's id.
func (p *prober) envelope() {
	for p.more() {
		name := string(p.name())
		switch {
		case p.failed:
		case p.i < len(p.b) && p.b[p.i] == 'n':
			p.expect("null")
		default:
			p.literal()
			p.failed = p.failed || name == "parent_tool_use_id"
		}
		p.failed = p.failed || name == "type" || name == "event" || name == "subtype" || name == "abandoned_blocks"
	}
}

// once fails on the second sight of a member.
func (p *prober) once(seen *bool) {
	p.failed = p.failed || *seen
	*seen = true
}

// expect reads exactly s.
func (p *prober) expect(s string) {
	if p.failed || len(p.b)-p.i < len(s) || string(p.b[p.i:p.i+len(s)]) != s {
		p.failed = true
		return
	}
	p.i += len(s)
}

// more reads a comma and says true, or a closing brace and says false.
func (p *prober) more() bool {
	if p.failed || p.i >= len(p.b) {
		p.failed = true
		return false
	}
	c := p.b[p.i]
	p.i++
	p.failed = c != ',' && c != '}'
	return c == ','
}

// name reads a member's name and the colon; names with escapes fail.
func (p *prober) name() []byte {
	from := p.i + 1
	p.expect(`"`)
	p.plain()
	to := p.i
	p.expect(`":`)
	if p.failed {
		return nil
	}
	return p.b[from:to]
}

// small reads an integer of one to three digits as JSON spells it.
func (p *prober) small() int {
	from, n := p.i, 0
	for p.i < len(p.b) && p.b[p.i] >= '0' && p.b[p.i] <= '9' && p.i-from < 4 {
		n = 10*n + int(p.b[p.i]-'0')
		p.i++
	}
	digits := p.i - from
	if digits == 0 || digits > 3 || digits > 1 && p.b[from] == '0' {
		p.failed = true
	}
	return n
}

// literal reads a JSON string and gives it with its quotes; nil on failure.
func (p *prober) literal() []byte {
	from := p.i
	p.expect(`"`)
	for !p.failed {
		p.plain()
		switch {
		case p.i >= len(p.b) || p.b[p.i] < ' ':
			p.failed = true
		case p.b[p.i] == '"':
			p.i++
			return p.b[from:p.i]
		default:
			p.escape()
		}
	}
	return nil
}

// plain passes the bytes of a string that stand for themselves, eight at a time.
func (p *prober) plain() {
	b, i := p.b, p.i
	for ; i+8 <= len(b); i += 8 {
		if marks := special(binary.LittleEndian.Uint64(b[i:])); marks != 0 {
			p.i = i + bits.TrailingZeros64(marks)/8
			return
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	p.i = i
}

// special marks in the high bits of a word's bytes those that do not stand for
// themselves in a string. x-1 borrows into the bytes above a zero, so that marks
// above the lowest mean nothing.
func special(w uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & high
}

// escape passes one escape.
func (p *prober) escape() {
	if p.i+1 >= len(p.b) {
		p.failed = true
		return
	}
	c := p.b[p.i+1]
	p.i += 2
	if c != 'u' {
		p.failed = bytes.IndexByte([]byte(`"\/bfnrt`), c) < 0
		return
	}
	for range 4 {
		if p.i >= len(p.b) || !isHex(p.b[p.i]) {
			p.failed = true
			return
		}
		p.i++
	}
}

// isHex says whether c is a hexadecimal digit.
func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// inside is a literal without its quotes; nil stays nil.
func inside(literal []byte) []byte {
	if len(literal) < 2 {
		return nil
	}
	return literal[1 : len(literal)-1]
}
