package reducer

import (
	"errors"
	"fmt"

	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A state is read by the plain decoder, by the tags of the types it is made of: it
// is read once a connection, not once an event. What stands in it was checked when
// it was folded, so it is held to its types and to ids that name one thing each,
// and to nothing else: a newer peer may save more than this version knows.

// savedState is the state as JSON, but for what has more than one shape: entries
// of the timeline and unknown events are read one by one.
type savedState struct {
	SessionID       *string            `json:"sessionId"`
	NativeSessionID string             `json:"nativeSessionId"`
	Harness         protocol.HarnessID `json:"harness"`
	Model           *string            `json:"model"`
	Resumed         *bool              `json:"resumed"`
	Timeline        []jsontext.Value   `json:"timeline"`
	Turns           []Turn             `json:"turns"`
	Permissions     []Permission       `json:"permissions"`
	Usage           *Usage             `json:"usage"`
	Totals          Totals             `json:"totals"`
	TotalCost       *protocol.Number   `json:"totalCost"`
	Errors          []ErrorEntry       `json:"errors"`
	Ended           *Ended             `json:"ended"`
	UnknownEvents   []jsontext.Value   `json:"unknownEvents"`
	ToolInputJSON   map[string]string  `json:"toolInputJson"`
}

// savedPart is a part inside a message; an unknown one in its wrapper.
type savedPart struct{ protocol.Part }

// UnmarshalJSON takes a wrapper as it is: its raw is the part's.
func (p *savedPart) UnmarshalJSON(raw []byte) (err error) {
	p.Part, err = protocol.DecodePartState(raw)
	return err
}

// savedMessage is a message with its parts.
type savedMessage struct {
	Message
	Parts []savedPart `json:"parts"`
}

// loose reads free objects as the decoder of events has let them pass.
var loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Load is the inverse of AppendJSON: the conversation that folds on from a
// snapshot as the one that was saved would. Unknown members are ignored. The
// error says what of it is no state.
func Load(raw []byte) (*Conversation, error) {
	var saved savedState
	if err := json.Unmarshal(raw, &saved, loose); err != nil {
		return nil, fmt.Errorf("loading a conversation: %w", err)
	}
	d := saved.loadSession()
	if err := errors.Join(
		loadEach("timeline", saved.Timeline, d.loadEntry),
		loadEach("turns", saved.Turns, d.loadTurn),
		loadEach("permissions", saved.Permissions, d.loadPermission),
		loadEach("unknownEvents", saved.UnknownEvents, d.loadUnknown),
	); err != nil {
		return nil, fmt.Errorf("loading a conversation: %w", err)
	}
	// The map's order means nothing: a table comes out the same in any.
	for id, input := range saved.ToolInputJSON {
		d.inputs = d.inputs.with(id, grown{}.plus(input))
	}
	return d.conversation(), nil
}

// loadEach loads the entries of one array, up to the first that is none.
func loadEach[T any](name string, list []T, load func(T) error) error {
	for i, x := range list {
		if err := load(x); err != nil {
			return fmt.Errorf("%s.%d: %w", name, i, err)
		}
	}
	return nil
}

// loadSession loads what stands beside the lists. The three ids come from one
// event, so one of them tells of all.
func (saved *savedState) loadSession() *state {
	d := &state{
		model:     saved.Model,
		resumed:   saved.Resumed,
		usage:     saved.Usage,
		totals:    saved.Totals,
		totalCost: saved.TotalCost,
		errors:    vectorOf(saved.Errors),
		ended:     saved.Ended,
	}
	if saved.SessionID != nil {
		d.session = &session{*saved.SessionID, saved.NativeSessionID, saved.Harness}
	}
	return d
}

// loadEntry loads one entry of the timeline.
func (d *state) loadEntry(raw jsontext.Value) error {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &head, loose); err != nil {
		return err
	}
	switch head.Kind {
	case "message":
		return d.loadMessage(raw)
	case "compaction":
		return d.loadCompaction(raw)
	}
	return fmt.Errorf("kind %q is none of an entry", head.Kind)
}

// loadMessage loads a message, and notes which of its tools are open.
func (d *state) loadMessage(raw jsontext.Value) error {
	var saved savedMessage
	if err := json.Unmarshal(raw, &saved, loose); err != nil {
		return err
	}
	if _, known := d.messages.get(saved.MessageID); known {
		return twice("message", saved.MessageID)
	}
	place := d.openMessage(saved.Message, nil)
	for _, p := range saved.Parts {
		d.upsert(place, p.Part)
	}
	return nil
}

// loadCompaction loads a compaction.
func (d *state) loadCompaction(raw jsontext.Value) error {
	var k Compaction
	if err := json.Unmarshal(raw, &k, loose); err != nil {
		return err
	}
	if _, known := d.compactions.get(k.CompactionID); known {
		return twice("compaction", k.CompactionID)
	}
	d.compactions = d.compactions.with(k.CompactionID, d.timeline.size)
	d.timeline = d.timeline.plus(item{compaction: &k})
	return nil
}

// loadTurn loads a turn.
func (d *state) loadTurn(t Turn) error {
	if _, known := d.turns.find(t.TurnID); known {
		return twice("turn", t.TurnID)
	}
	held := &turn{Turn: t, errors: vectorOf(t.Errors)}
	held.Errors = nil
	d.turns = d.turns.plus(held)
	return nil
}

// loadPermission loads a request, and notes whether it is open.
func (d *state) loadPermission(p Permission) error {
	if _, known := d.permissions.find(p.RequestID); known {
		return twice("request", p.RequestID)
	}
	if p.Outcome == nil {
		d.trackPermission(p.TurnID, d.permissions.list.size, true)
	}
	d.permissions = d.permissions.plus(&p)
	return nil
}

// loadUnknown loads an unknown event out of its wrapper.
func (d *state) loadUnknown(raw jsontext.Value) error {
	e, err := protocol.DecodeUnknownEventState(raw)
	if err != nil {
		return err
	}
	d.unknown = d.unknown.plus(e)
	return nil
}

// twice is the error for an id that no fold could have given to two things.
func twice(what, id string) error { return fmt.Errorf("a second %s %q", what, id) }

// vectorOf is the slice as a list.
func vectorOf[T any](s []T) vector[T] {
	var v vector[T]
	for _, x := range s {
		v = v.plus(x)
	}
	return v
}
