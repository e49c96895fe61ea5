package session

import (
	"fmt"
	"unicode/utf8"

	"agent-server/protocol"
)

// DefaultMaxEventBytes is what a text that may be cut holds at most: 8 MiB.
const DefaultMaxEventBytes = 8 << 20

// What a tool has printed can be as long as a disk. Of it, and of raw lines, no
// more than Options.MaxEventBytes goes into an event, and the event says so; what
// was said to or by somebody (text, reasoning, a tool's input, images, files) is
// never cut.

// fit is a tool part whose texts fit; the same one, where they did anyhow.
func (m *Machine) fit(p *protocol.ToolPart) *protocol.ToolPart {
	c := cutter{max: m.maxEvent()}
	state := c.state(p.State)
	if c.field == "" {
		return p
	}
	cut := *p
	cut.State, cut.Meta = state, withMember(p.Meta, protocol.MetaTruncated, c.mark())
	return &cut
}

// fitRaw is a line's value that fits, and the _meta that says what was cut: then
// it is a string, the beginning of the line.
func (m *Machine) fitRaw(line []byte) (data, meta protocol.Object) {
	c := cutter{max: m.maxEvent()}
	if len(line) <= c.max {
		return append(protocol.Object(nil), line...), nil
	}
	data = protocol.AppendString(nil, c.text("data", string(line)))
	return data, withMember(nil, protocol.MetaTruncated, c.mark())
}

func (m *Machine) maxEvent() int {
	if m.o.MaxEventBytes > 0 {
		return m.o.MaxEventBytes
	}
	return DefaultMaxEventBytes
}

// cutter cuts texts, and remembers the longest that it has cut.
type cutter struct {
	max   int
	field string
	bytes int
}

// state is a tool's state with its texts cut; what it was is not changed.
func (c *cutter) state(s protocol.ToolState) protocol.ToolState {
	switch s := s.(type) {
	case *protocol.CompletedState:
		cut := *s
		cut.Output = c.text("output", s.Output)
		cut.Content = c.content(s.Content)
		return &cut
	case *protocol.FailedState:
		cut := *s
		cut.Error = c.text("error", s.Error)
		return &cut
	}
	return s
}

// content is the list with its texts cut.
func (c *cutter) content(list []protocol.ToolContent) []protocol.ToolContent {
	if list == nil {
		return nil
	}
	cut := append([]protocol.ToolContent{}, list...)
	for i, item := range list {
		if t, ok := item.(*protocol.TextContent); ok {
			cut[i] = &protocol.TextContent{Text: c.text(fmt.Sprintf("content.%d.text", i), t.Text), Meta: t.Meta}
		}
	}
	return cut
}

// text is s, cut at a rune where it is too long.
func (c *cutter) text(field, s string) string {
	if len(s) <= c.max {
		return s
	}
	if len(s) > c.bytes {
		c.field, c.bytes = field, len(s)
	}
	end := c.max
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// mark says which text was cut, the longest of several, and how long it was.
func (c *cutter) mark() protocol.Object {
	return protocol.Encode(struct {
		Field string `json:"field"`
		Bytes int    `json:"bytes"`
	}{c.field, c.bytes})
}
