package reducer

import "agent-server/protocol"

// ChangeKind says what kind of thing a fold has changed.
type ChangeKind string

// The kinds of changes, each with the members that a change of it has.
const (
	MessageUpserted    ChangeKind = "message-upserted"     // MessageID, TurnID
	PartUpserted       ChangeKind = "part-upserted"        // MessageID, PartID, OutputIndex, PartIndex
	MessageEnded       ChangeKind = "message-ended"        // MessageID
	DeltaBuffered      ChangeKind = "delta-buffered"       // PartID
	TurnUpdated        ChangeKind = "turn-updated"         // TurnID
	CompactionUpserted ChangeKind = "compaction-upserted"  // CompactionID
	PermissionUpdated  ChangeKind = "permission-updated"   // RequestID
	UsageUpdated       ChangeKind = "usage-updated"        // –: the gauge, or the totals
	SessionMetaUpdated ChangeKind = "session-meta-updated" // –: session.created, or an error without a turn
	SessionEnded       ChangeKind = "session-ended"        // –
	UnknownRecorded    ChangeKind = "unknown-event-recorded"
)

// Change is one thing that a fold has changed: enough to know what to draw again,
// not what it now looks like; that is read from the conversation. Members that do not belong to its
// kind are zero.
type Change struct {
	// Kind says which of the other members are set.
	Kind ChangeKind
	// MessageID is the message that changed, or that the part stands in.
	MessageID string
	// PartID is the part that changed, or whose input was extended.
	PartID string
	// TurnID is the turn that changed, or that the message belongs to.
	TurnID string
	// CompactionID is the compaction that changed.
	CompactionID string
	// RequestID is the permission request that changed.
	RequestID string
	// OutputIndex is the event's, whatever the message's; of a tool that the fold
	// itself closes, the message's.
	OutputIndex protocol.Number
	// PartIndex is the event's, whatever the part's place; of a tool that the fold
	// itself closes, its place in the message.
	PartIndex protocol.Number
}

// Kinds are told by their words on the wire, in kebab case, as everywhere in the
// protocol's changes.

// AppendJSON appends the change as an object with exactly the members of its kind.
func (c Change) AppendJSON(dst []byte) []byte {
	dst = appendText(append(dst, '{'), "kind", string(c.Kind))
	switch c.Kind {
	case MessageUpserted:
		dst = appendText(appendText(dst, "messageId", c.MessageID), "turnId", c.TurnID)
	case PartUpserted:
		dst = appendText(appendText(dst, "messageId", c.MessageID), "partId", c.PartID)
		dst = appendNumber(appendNumber(dst, "outputIndex", c.OutputIndex), "partIndex", c.PartIndex)
	case MessageEnded:
		dst = appendText(dst, "messageId", c.MessageID)
	case DeltaBuffered:
		dst = appendText(dst, "partId", c.PartID)
	case TurnUpdated:
		dst = appendText(dst, "turnId", c.TurnID)
	case CompactionUpserted:
		dst = appendText(dst, "compactionId", c.CompactionID)
	case PermissionUpdated:
		dst = appendText(dst, "requestId", c.RequestID)
	}
	return append(dst, '}')
}

// MarshalJSON is AppendJSON into a buffer of its own. It never fails.
func (c Change) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// recorder collects the changes of one fold. A nil recorder collects nothing, so
// that Reduce does not pay for what it throws away.
type recorder struct{ changes []Change }

// add records a change.
func (r *recorder) add(c Change) {
	if r != nil {
		r.changes = append(r.changes, c)
	}
}

// part records that a part was set or has grown.
func (r *recorder) part(messageID, partID string, output, part protocol.Number) {
	if r != nil {
		r.add(Change{Kind: PartUpserted, MessageID: messageID, PartID: partID, OutputIndex: output, PartIndex: part})
	}
}

// buffered records that a tool's input has grown.
func (r *recorder) buffered(partID string) {
	if r != nil {
		r.add(Change{Kind: DeltaBuffered, PartID: partID})
	}
}

// turn records that a turn has changed.
func (r *recorder) turn(turnID string) { r.add(Change{Kind: TurnUpdated, TurnID: turnID}) }

// permission records that a permission request has changed.
func (r *recorder) permission(requestID string) {
	r.add(Change{Kind: PermissionUpdated, RequestID: requestID})
}
