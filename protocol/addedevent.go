package protocol

// The event types added to the base travel as unknown ones: every reducer treats
// them alike. Here they are written in their canonical form, and read by whoever
// knows them: leniently, a body that does not fit stays unknown.

// AddedEvent is an event of a type added to the base.
type AddedEvent interface {
	// Unknown is the event as it travels.
	Unknown() *UnknownEvent
}

// Unknown implements AddedEvent.
func (e *TurnQueued) Unknown() *UnknownEvent {
	raw := appendText(nil, `{"type":"turn.queued","sessionId":`, e.SessionID)
	raw = appendText(raw, `,"turnId":`, e.TurnID)
	raw = appendInt(raw, `,"position":`, e.Position)
	return added(TypeTurnQueued, e.SessionID, appendTail(raw, e.Timestamp, e.Meta))
}

// Input is the turn's input, which a server of ours keeps on the event; "" from any
// other.
func (e TurnQueued) Input() Input {
	r := &reading{}
	if o, ok := r.open(e.Meta); ok {
		if raw := o.find(MetaInput); raw != nil {
			if in := anInput(r, raw); len(r.faults) == 0 {
				return in
			}
		}
	}
	return TextInput("")
}

// Unknown implements AddedEvent.
func (e *TurnUnqueued) Unknown() *UnknownEvent {
	raw := appendText(nil, `{"type":"turn.unqueued","sessionId":`, e.SessionID)
	raw = appendText(raw, `,"turnId":`, e.TurnID)
	raw = appendText(raw, `,"reason":`, e.Reason)
	raw = appendInput(append(raw, `,"input":`...), e.Input)
	return added(TypeTurnUnqueued, e.SessionID, appendTail(raw, e.Timestamp, e.Meta))
}

// Unknown implements AddedEvent.
func (e *SessionUpdated) Unknown() *UnknownEvent {
	raw := appendText(nil, `{"type":"session.updated","sessionId":`, e.SessionID)
	raw = appendOptText(raw, `,"title":`, e.Title)
	raw = appendOptText(raw, `,"mode":`, e.Mode)
	raw = appendOptList(raw, `,"modes":`, e.Modes, AppendRaw)
	raw = appendOptList(raw, `,"commands":`, e.Commands, AppendRaw)
	raw = appendOptText(raw, `,"model":`, e.Model)
	raw = appendOptInt(raw, `,"backgroundTasks":`, e.BackgroundTasks)
	return added(TypeSessionUpdated, e.SessionID, appendTail(raw, e.Timestamp, e.Meta))
}

// added wraps an added event as the decoder would.
func added(kind EventType, session string, raw Object) *UnknownEvent {
	return &UnknownEvent{Kind: kind, SessionID: &session, Raw: raw}
}

// appendInput appends an input as it stands in params.
func appendInput(dst []byte, in Input) []byte {
	if in.IsText {
		return AppendString(dst, in.Text)
	}
	return appendList(dst, "", in.Items, appendItem)
}

// ReadTurnQueued reads a turn.queued event; false where ev is none.
func ReadTurnQueued(ev Event) (TurnQueued, bool) {
	return readAdded(ev, TypeTurnQueued, func(o *object) TurnQueued {
		return TurnQueued{
			SessionID: need(o, "sessionId", aString), TurnID: need(o, "turnId", aString),
			Position: need(o, "position", aPositive), Timestamp: need(o, "timestamp", aTimestamp), Meta: o.meta(),
		}
	})
}

// ReadTurnUnqueued reads a turn.unqueued event; false where ev is none.
func ReadTurnUnqueued(ev Event) (TurnUnqueued, bool) {
	return readAdded(ev, TypeTurnUnqueued, func(o *object) TurnUnqueued {
		return TurnUnqueued{
			SessionID: need(o, "sessionId", aString), TurnID: need(o, "turnId", aString),
			Reason: need(o, "reason", aWord[string]), Input: need(o, "input", anInput),
			Timestamp: need(o, "timestamp", aTimestamp), Meta: o.meta(),
		}
	})
}

// ReadSessionUpdated reads a session.updated event; false where ev is none.
func ReadSessionUpdated(ev Event) (SessionUpdated, bool) {
	return readAdded(ev, TypeSessionUpdated, func(o *object) SessionUpdated {
		return SessionUpdated{
			SessionID: need(o, "sessionId", aString), Title: maybe(o, "title", aString), Mode: maybe(o, "mode", aString),
			Modes: orZero(o, "modes", someObjects), Commands: orZero(o, "commands", someObjects), Model: maybe(o, "model", aString),
			BackgroundTasks: maybe(o, "backgroundTasks", aNatural), Timestamp: need(o, "timestamp", aTimestamp), Meta: o.meta(),
		}
	})
}

var someObjects = listOf(aFreeObject)

// readAdded reads an unknown event as one of an added type.
func readAdded[T any](ev Event, kind EventType, read func(*object) T) (T, bool) {
	var none T
	u, is := ev.(*UnknownEvent)
	if !is || u.Kind != kind {
		return none, false
	}
	r := &reading{}
	value := r.begin(u.Raw)
	if value == nil {
		return none, false
	}
	o, ok := r.open(value)
	if !ok {
		return none, false
	}
	if v := read(&o); len(r.faults) == 0 {
		return v, true
	}
	return none, false
}
