package demoagent

import "context"

// updateParams are those of a session/update notification.
type updateParams struct {
	// SessionID is the session that the update is about.
	SessionID string `json:"sessionId"`
	// Update is a chunk, a toolCall or a contextUpdate.
	Update any `json:"update"`
}

// textBlock is the only kind of content the demo sends.
type textBlock struct {
	// Type is text.
	Type string `json:"type"`
	// Text is never empty in a chunk.
	Text string `json:"text"`
}

func newText(text string) textBlock { return textBlock{Type: "text", Text: text} }

// The two kinds of message a turn is made of.
const (
	kindMessage = "agent_message_chunk"
	kindThought = "agent_thought_chunk"
)

// chunk is a piece of a message; a new message id begins a new message.
type chunk struct {
	// Update is kindMessage or kindThought.
	Update string `json:"sessionUpdate"`
	// MessageID is unique in the session.
	MessageID string `json:"messageId"`
	// Content is what to append to the message.
	Content textBlock `json:"content"`
	// Meta names the call whose sub-agent says it; absent at top level.
	Meta *ofSubagent `json:"_meta,omitzero"`
}

// contextUpdate tells how full the context is, which is not what a turn cost.
type contextUpdate struct {
	// Update is usage_update.
	Update string `json:"sessionUpdate"`
	// Used is tokens, of all turns so far, and at most Size.
	Used int `json:"used"`
	// Size is tokens.
	Size int `json:"size"`
}

// contextSize is the size of a context that the demo does not have, in tokens.
const contextSize = 200_000

// line encodes an update of this turn's session.
func (t *turn) line(update any) []byte {
	return encode(outgoing{
		JSONRPC: "2.0",
		Method:  "session/update",
		Params:  updateParams{SessionID: t.session.id, Update: update},
	})
}

// send writes an update at once.
func (t *turn) send(update any) { t.agent.out.write(t.line(update)) }

// say sends text, a delta each piece.
func (t *turn) say(ctx context.Context, pieces ...string) error {
	return t.stream(ctx, kindMessage, pieces)
}

// think sends thought, a delta each piece.
func (t *turn) think(ctx context.Context, pieces ...string) error {
	return t.stream(ctx, kindThought, pieces)
}

// stream looks for a cancel before each piece, so that at most the one that is
// being written comes after it.
func (t *turn) stream(ctx context.Context, kind string, pieces []string) error {
	for _, piece := range pieces {
		if ctx.Err() != nil {
			return errCancelled
		}
		t.send(t.chunk(kind, piece))
	}
	return nil
}

// chunk makes one delta of the open message, or of a new one.
func (t *turn) chunk(kind, text string) chunk {
	if t.message.kind != kind {
		t.message = openMessage{kind: kind, id: t.session.ids.next(idPrefix[kind])}
	}
	t.output += len(text)
	return chunk{Update: kind, MessageID: t.message.id, Content: newText(text)}
}

// idPrefix gives thoughts their own id space, as other agents do.
var idPrefix = map[string]string{kindMessage: "msg", kindThought: "thought"}

// reportContext tells the context's fill before the turn's end.
func (t *turn) reportContext() {
	t.agent.mu.Lock()
	used := t.session.used + t.usage().TotalTokens
	t.agent.mu.Unlock()
	t.send(contextUpdate{Update: "usage_update", Used: min(used, contextSize), Size: contextSize})
}
