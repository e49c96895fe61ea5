package reducer

import (
	"slices"
	"testing"

	"agent-server/fixtures/vectors"
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is the fold written a second time, as plainly as can be: lists that are
// searched and changed in place, text that is copied, JSON by the plain encoder.
// Nothing of the real one's structure is in it, so what both agree on is neither
// a slip of the one nor of the other.
type model struct {
	SessionID       *string                  `json:"sessionId,omitzero"`
	NativeSessionID *string                  `json:"nativeSessionId,omitzero"`
	Harness         *protocol.HarnessID      `json:"harness,omitzero"`
	Model           *string                  `json:"model,omitzero"`
	Resumed         *bool                    `json:"resumed,omitzero"`
	Timeline        []any                    `json:"timeline"`
	Turns           []*Turn                  `json:"turns"`
	Permissions     []*Permission            `json:"permissions"`
	Usage           *Usage                   `json:"usage,omitzero"`
	Totals          Totals                   `json:"totals"`
	TotalCost       *protocol.Number         `json:"totalCost,omitzero"`
	Errors          []ErrorEntry             `json:"errors"`
	Ended           *Ended                   `json:"ended,omitzero"`
	UnknownEvents   []*protocol.UnknownEvent `json:"unknownEvents"`
	ToolInputJSON   map[string]string        `json:"toolInputJson"`

	changes []Change
}

type modelMessage struct {
	Kind string `json:"kind"`
	*Message
}

type modelCompaction struct {
	Kind string `json:"kind"`
	*Compaction
}

// json spells the model; order and presence are those of struct and tags.
func (m *model) json(t rapid.TB) string {
	raw, err := json.Marshal(m, json.Deterministic(true), loose, json.WithMarshalers(json.JoinMarshalers(
		json.MarshalFunc(func(p protocol.Part) ([]byte, error) { return protocol.AppendPartState(nil, p), nil }),
		json.MarshalFunc(func(e *protocol.UnknownEvent) ([]byte, error) { return protocol.AppendEventState(nil, e), nil }),
	)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (m *model) message(id string) *Message {
	for _, e := range m.Timeline {
		if x, ok := e.(modelMessage); ok && x.MessageID == id {
			return x.Message
		}
	}
	return nil
}

func (m *model) compaction(id string) *Compaction {
	for _, e := range m.Timeline {
		if x, ok := e.(modelCompaction); ok && x.CompactionID == id {
			return x.Compaction
		}
	}
	return nil
}

func (m *model) turn(id string) *Turn {
	for _, t := range m.Turns {
		if t.TurnID == id {
			return t
		}
	}
	return nil
}

func (m *model) permission(id string) *Permission {
	for _, p := range m.Permissions {
		if p.RequestID == id {
			return p
		}
	}
	return nil
}

func partIn(m *Message, id string) int {
	return slices.IndexFunc(m.Parts, func(p protocol.Part) bool { return p.Head().ID == id })
}

func (m *model) changed(c Change) { m.changes = append(m.changes, c) }

// fold folds one event in place and gives the changes.
func (m *model) fold(ev protocol.Event) []Change {
	m.changes = nil
	switch e := ev.(type) {
	case *protocol.SessionCreated:
		m.SessionID, m.NativeSessionID, m.Harness = &e.SessionID, &e.NativeSessionID, &e.Harness
		if e.Model != nil {
			m.Model = e.Model
		}
		if e.Resumed != nil {
			m.Resumed = e.Resumed
		}
		m.changed(Change{Kind: SessionMetaUpdated})
	case *protocol.SessionEnded:
		m.Ended = &Ended{e.Reason, e.Timestamp}
		m.changed(Change{Kind: SessionEnded})
	case *protocol.SessionUsage:
		m.foldUsage(e)
	case *protocol.SessionCompaction:
		m.foldCompaction(e)
	case *protocol.TurnStarted:
		if m.turn(e.TurnID) == nil {
			m.Turns = append(m.Turns, &Turn{TurnID: e.TurnID, Status: TurnActive, StartedAt: e.Timestamp})
			m.changed(Change{Kind: TurnUpdated, TurnID: e.TurnID})
		}
	case *protocol.TurnEnded:
		m.foldTurnEnded(e)
	case *protocol.MessageStarted:
		if m.message(e.MessageID) == nil {
			m.open(&Message{e.MessageID, e.SessionID, e.TurnID, e.OutputIndex, e.Role, e.ParentToolCallID, e.Model, nil, e.Timestamp, nil})
		}
	case *protocol.MessagePart:
		m.foldPart(e)
	case *protocol.MessagePartDelta:
		m.foldDelta(e)
	case *protocol.MessageEnded:
		if x := m.message(e.MessageID); x != nil && x.EndedAt == nil {
			x.EndedAt = &e.Timestamp
			m.changed(Change{Kind: MessageEnded, MessageID: e.MessageID})
		}
	case *protocol.PermissionRequested:
		if m.permission(e.RequestID) == nil {
			m.Permissions = append(m.Permissions, &Permission{e.RequestID, e.TurnID, e.Title, e.ToolCall, e.Options, e.Timestamp, nil, nil})
			m.changed(Change{Kind: PermissionUpdated, RequestID: e.RequestID})
		}
	case *protocol.PermissionResolved:
		m.resolve(m.permission(e.RequestID), e.Outcome, e.Timestamp)
	case *protocol.ErrorEvent:
		m.foldError(e)
	case *protocol.UnknownEvent:
		m.UnknownEvents = append(m.UnknownEvents, e)
		m.changed(Change{Kind: UnknownRecorded})
	}
	return m.changes
}

func (m *model) foldUsage(e *protocol.SessionUsage) {
	u := &Usage{e.Used, e.Size, e.Cost, e.Timestamp}
	if m.Usage != nil && u.Size == nil {
		u.Size = m.Usage.Size
	}
	if m.Usage != nil && u.Cost == nil {
		u.Cost = m.Usage.Cost
	}
	m.Usage = u
	m.changed(Change{Kind: UsageUpdated})
}

func (m *model) foldCompaction(e *protocol.SessionCompaction) {
	k := m.compaction(e.CompactionID)
	if k == nil {
		k = &Compaction{CompactionID: e.CompactionID, Timestamp: e.Timestamp}
		m.Timeline = append(m.Timeline, modelCompaction{"compaction", k})
	}
	k.TurnID, k.Status = e.TurnID, e.Status
	if e.Trigger != nil {
		k.Trigger = e.Trigger
	}
	if e.PreTokens != nil {
		k.PreTokens = e.PreTokens
	}
	if e.PostTokens != nil {
		k.PostTokens = e.PostTokens
	}
	if e.Summary != nil {
		k.Summary = e.Summary
	}
	if e.AbstractsIDs != nil {
		k.AbstractsIDs = e.AbstractsIDs
	}
	m.changed(Change{Kind: CompactionUpserted, CompactionID: e.CompactionID})
}

func (m *model) open(x *Message) {
	m.Timeline = append(m.Timeline, modelMessage{"message", x})
	m.changed(Change{Kind: MessageUpserted, MessageID: x.MessageID, TurnID: x.TurnID})
}

func (m *model) foldPart(e *protocol.MessagePart) {
	if m.message(e.MessageID) == nil {
		m.open(&Message{e.MessageID, e.SessionID, e.TurnID, e.OutputIndex, protocol.RoleAssistant, nil, nil, nil, e.Timestamp, nil})
	}
	x, id := m.message(e.MessageID), e.Part.Head().ID
	if i := partIn(x, id); i >= 0 {
		x.Parts[i] = e.Part
	} else {
		x.Parts = append(x.Parts, e.Part)
	}
	m.changed(Change{Kind: PartUpserted, MessageID: e.MessageID, PartID: id, OutputIndex: e.OutputIndex, PartIndex: e.PartIndex})
	if tool, ok := e.Part.(*protocol.ToolPart); ok {
		if t := m.turn(e.TurnID); t != nil && t.EndedAt != nil && !tool.State.Status().Terminal() {
			m.closeTools(e.TurnID, *t.EndedAt)
		}
		delete(m.ToolInputJSON, id)
	}
}

func (m *model) foldDelta(e *protocol.MessagePartDelta) {
	var text string
	switch d := e.Delta.(type) {
	case *protocol.TextDelta:
		text = d.Text
	case *protocol.ReasoningDelta:
		text = d.Text
	case *protocol.ToolInputDelta:
		m.ToolInputJSON[e.PartID] += d.Input
		m.changed(Change{Kind: DeltaBuffered, PartID: e.PartID})
		return
	}
	x := m.message(e.MessageID)
	if x == nil || partIn(x, e.PartID) < 0 {
		return
	}
	i := partIn(x, e.PartID)
	switch p := x.Parts[i].(type) {
	case *protocol.TextPart:
		c := *p
		c.Text += text
		x.Parts[i] = &c
	case *protocol.ReasoningPart:
		c := *p
		c.Text += text
		x.Parts[i] = &c
	default:
		return
	}
	m.changed(Change{Kind: PartUpserted, MessageID: e.MessageID, PartID: e.PartID, OutputIndex: e.OutputIndex, PartIndex: e.PartIndex})
}

func (m *model) resolve(p *Permission, o protocol.PermissionOutcome, at int64) {
	if p != nil && p.Outcome == nil {
		p.Outcome, p.ResolvedAt = &o, &at
		m.changed(Change{Kind: PermissionUpdated, RequestID: p.RequestID})
	}
}

func (m *model) foldError(e *protocol.ErrorEvent) {
	entry := ErrorEntry{e.Category, e.Message, e.Recoverable, e.Timestamp}
	if e.TurnID != nil && m.turn(*e.TurnID) != nil {
		m.turn(*e.TurnID).Errors = append(m.turn(*e.TurnID).Errors, entry)
		m.changed(Change{Kind: TurnUpdated, TurnID: *e.TurnID})
		return
	}
	m.Errors = append(m.Errors, entry)
	m.changed(Change{Kind: SessionMetaUpdated})
}

func (m *model) foldTurnEnded(e *protocol.TurnEnded) {
	t := m.turn(e.TurnID)
	if t == nil {
		t = &Turn{TurnID: e.TurnID, StartedAt: e.Timestamp}
		m.Turns = append(m.Turns, t)
	}
	if t.EndedAt != nil {
		return
	}
	t.Status, t.StopReason, t.FinishReason, t.Tokens, t.Cost, t.Error, t.EndedAt =
		TurnOver, e.StopReason, e.FinishReason, e.Tokens, e.Cost, e.Error, &e.Timestamp
	m.changed(Change{Kind: TurnUpdated, TurnID: e.TurnID})
	for _, p := range m.Permissions {
		if p.TurnID == e.TurnID {
			m.resolve(p, protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}, e.Timestamp)
		}
	}
	m.count(e)
	m.closeTools(e.TurnID, e.Timestamp)
}

func (m *model) count(e *protocol.TurnEnded) {
	add := func(total **protocol.Number, n *protocol.Number) {
		if n != nil && *total != nil {
			*total = new(**total + *n)
		} else if n != nil {
			*total = n
		}
	}
	if u := e.Tokens; u != nil {
		m.Totals.Input += u.Input
		m.Totals.Output += u.Output
		if u.Reasoning != nil {
			m.Totals.Reasoning += *u.Reasoning
		}
		if c := u.Cache; c != nil {
			m.Totals.Cache.Read += c.Read
			m.Totals.Cache.Write += c.Write
			add(&m.Totals.Cache.WriteEphemeral5m, c.WriteEphemeral5m)
			add(&m.Totals.Cache.WriteEphemeral1h, c.WriteEphemeral1h)
		}
	}
	add(&m.TotalCost, e.Cost)
	if e.Tokens != nil || e.Cost != nil {
		m.changed(Change{Kind: UsageUpdated})
	}
}

func (m *model) closeTools(turnID string, at int64) {
	for _, e := range m.Timeline {
		x, ok := e.(modelMessage)
		if !ok || x.TurnID != turnID {
			continue
		}
		for i, p := range x.Parts {
			tool, ok := p.(*protocol.ToolPart)
			if !ok || tool.State.Status().Terminal() {
				continue
			}
			c := *tool
			c.State = m.cancelled(tool, at)
			x.Parts[i] = &c
			m.changed(Change{Kind: PartUpserted, MessageID: x.MessageID, PartID: tool.ID, OutputIndex: x.OutputIndex, PartIndex: float64(i)})
		}
	}
}

func (m *model) cancelled(tool *protocol.ToolPart, at int64) protocol.ToolState {
	if s, ok := tool.State.(*protocol.InProgressState); ok {
		return &protocol.CancelledState{Input: s.Input, Time: protocol.Span{Start: s.Time.Start, End: at}, Meta: s.Meta}
	}
	s := tool.State.(*protocol.PendingState)
	c := &protocol.CancelledState{Input: protocol.Object("{}"), Time: protocol.Span{Start: at, End: at}, Meta: s.Meta}
	partial := s.PartialInput
	if partial == "" {
		partial = m.ToolInputJSON[tool.ID]
	}
	if partial != "" {
		meta := map[string]jsontext.Value{}
		if s.Meta != nil && json.Unmarshal(s.Meta, &meta, loose) != nil {
			panic("a _meta that is no object")
		}
		meta[protocol.MetaPartialInput] = protocol.AppendString(nil, partial)
		c.Meta, _ = json.Marshal(meta, json.Deterministic(true), loose)
	}
	return c
}

// newModel is the empty conversation.
func newModel() *model { return &model{ToolInputJSON: map[string]string{}} }

// checkModel folds a stream both ways and compares after every event.
func checkModel(t rapid.TB, events []protocol.Event) *Conversation {
	t.Helper()
	var c *Conversation
	m := newModel()
	for i, ev := range events {
		next, changes := ReduceWithChanges(c, ev)
		if diff := cmp.Diff(m.fold(ev), changes); diff != "" {
			t.Fatalf("changes of event %d, %s (-model +fold):\n%s", i, ev.Type(), diff)
		}
		c = next
	}
	if diff := cmp.Diff(canonical(t, []byte(m.json(t))), canonical(t, c.AppendJSON(nil))); diff != "" {
		t.Fatalf("state (-model +fold):\n%s", diff)
	}
	return c
}

// The model itself is held to the reference; else its agreement would say little.
func TestModelFollowsReference(t *testing.T) {
	t.Parallel()
	for _, v := range vectors.Shared(t) {
		m := newModel()
		for i, ev := range decodeAll(t, v.Events) {
			if diff := cmp.Diff(canonical(t, v.Changes[i]), canonical(t, appendChanges(m.fold(ev)))); diff != "" {
				t.Fatalf("seed %d, changes of event %d (-reference +model):\n%s", v.Seed, i, diff)
			}
		}
		if diff := cmp.Diff(canonical(t, v.State), canonical(t, []byte(m.json(t)))); diff != "" {
			t.Errorf("seed %d, state (-reference +model):\n%s", v.Seed, diff)
		}
	}
}

// Members come in the order of the specification: the plain encoder writes them
// in the order of the tags, and the hand-written one must write the same bytes.
func TestEncoderFollowsTags(t *testing.T) {
	t.Parallel()
	for _, f := range vectorFiles(t) {
		if f.name == "close-keeps-meta" {
			continue // the model sorts the members of a _meta that it adds to
		}
		m := newModel()
		events := f.events(t)
		for _, ev := range events {
			m.fold(ev)
		}
		if diff := cmp.Diff(m.json(t), string(foldAll(nil, events).AppendJSON(nil))); diff != "" {
			t.Errorf("%s (-tags +fold):\n%s", f.name, diff)
		}
	}
}
