package acp

import (
	"bytes"

	"agent-server/protocol"
)

// A flood of text is a flood of lines that differ in their text alone. The probe
// recognises them without the decoder. It accepts less than the decoder does,
// never more, and means the same by it: what it does not recognise, down to the
// last byte of the line, is left to the decoder. A fuzz test ties the two.

// chunkHead is how the line of a text delta of a session begins, up to where
// speech and thought part.
func chunkHead(session string) []byte {
	head := protocol.AppendString([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`), session)
	return append(head, `,"update":{"sessionUpdate":"agent_`...)
}

const (
	speechKind  = `message_chunk",`
	thoughtKind = `thought_chunk",`
	contentHead = `"content":{"type":"text","text":`
	idHead      = `"messageId":`
	chunkTail   = `}}}`
)

// delta is what a line of text says. Its id, which may be empty, and its text as
// a literal share the line's bytes.
type delta struct {
	kind        protocol.PartType
	id, literal []byte
}

// probe reads a text delta of our session; false where the line is anything
// else, or might be.
func (t *translator) probe(line []byte) (d delta, ok bool) {
	if t.chunkHead == nil || !bytes.HasPrefix(line, t.chunkHead) {
		return d, false
	}
	p := prober{rest: line[len(t.chunkHead):]}
	d.kind = protocol.PartText
	if !p.take(speechKind) {
		d.kind = protocol.PartReasoning
		p.must(thoughtKind)
	}
	idFirst := p.take(idHead)
	if idFirst {
		d.id = p.name()
		p.must(",")
	}
	p.must(contentHead)
	d.literal = p.literal()
	p.must("}")
	if !idFirst && p.take(","+idHead) {
		d.id = p.name()
	}
	p.must(chunkTail)
	return d, !p.failed && len(p.rest) == 0
}

// prober walks a line.
type prober struct {
	rest   []byte
	failed bool
}

// take passes s if it comes next.
func (p *prober) take(s string) bool {
	if len(p.rest) < len(s) || string(p.rest[:len(s)]) != s {
		return false
	}
	p.rest = p.rest[len(s):]
	return true
}

// must passes s, or fails.
func (p *prober) must(s string) { p.failed = p.failed || !p.take(s) }

// name passes a string of printable ASCII without escapes, and gives its inside.
func (p *prober) name() []byte {
	literal := p.literal()
	if len(literal) < 2 {
		return nil
	}
	inside := literal[1 : len(literal)-1]
	for _, c := range inside {
		p.failed = p.failed || c == '\\' || c > '~'
	}
	return inside
}

// literal passes a JSON string and gives it with its quotes; nil on failure.
func (p *prober) literal() []byte {
	b := p.rest
	if len(b) == 0 || b[0] != '"' {
		p.failed = true
		return nil
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			p.rest = b[i+1:]
			return b[:i+1]
		case c < ' ':
			p.failed = true
			return nil
		case c == '\\':
			n := escapeLength(b[i:])
			if n == 0 {
				p.failed = true
				return nil
			}
			i += n - 1
		}
	}
	p.failed = true
	return nil
}

// escapeLength is the length of the escape that b begins with; 0 where it is
// none.
func escapeLength(b []byte) int {
	switch {
	case len(b) < 2:
		return 0
	case b[1] != 'u':
		if bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) < 0 {
			return 0
		}
		return 2
	case len(b) < 6:
		return 0
	}
	for _, c := range b[2:6] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return 0
		}
	}
	return 6
}
