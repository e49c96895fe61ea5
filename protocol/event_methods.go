package protocol

// The methods of Event, one block a type. They are written out, not embedded,
// so that every struct lists its members in the order of the wire.

func (*SessionCreated) event() {}

// Type is TypeSessionCreated.
func (*SessionCreated) Type() EventType { return TypeSessionCreated }

// Session is the sessionId.
func (e *SessionCreated) Session() string { return e.SessionID }

// Turn is "": the event belongs to no turn.
func (*SessionCreated) Turn() string { return "" }

// Time is the timestamp.
func (e *SessionCreated) Time() int64 { return e.Timestamp }

func (*SessionEnded) event() {}

// Type is TypeSessionEnded.
func (*SessionEnded) Type() EventType { return TypeSessionEnded }

// Session is the sessionId.
func (e *SessionEnded) Session() string { return e.SessionID }

// Turn is "": the event belongs to no turn.
func (*SessionEnded) Turn() string { return "" }

// Time is the timestamp.
func (e *SessionEnded) Time() int64 { return e.Timestamp }

func (*SessionUsage) event() {}

// Type is TypeSessionUsage.
func (*SessionUsage) Type() EventType { return TypeSessionUsage }

// Session is the sessionId.
func (e *SessionUsage) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *SessionUsage) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *SessionUsage) Time() int64 { return e.Timestamp }

func (*SessionCompaction) event() {}

// Type is TypeSessionCompaction.
func (*SessionCompaction) Type() EventType { return TypeSessionCompaction }

// Session is the sessionId.
func (e *SessionCompaction) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *SessionCompaction) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *SessionCompaction) Time() int64 { return e.Timestamp }

func (*TurnStarted) event() {}

// Type is TypeTurnStarted.
func (*TurnStarted) Type() EventType { return TypeTurnStarted }

// Session is the sessionId.
func (e *TurnStarted) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *TurnStarted) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *TurnStarted) Time() int64 { return e.Timestamp }

func (*TurnEnded) event() {}

// Type is TypeTurnEnded.
func (*TurnEnded) Type() EventType { return TypeTurnEnded }

// Session is the sessionId.
func (e *TurnEnded) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *TurnEnded) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *TurnEnded) Time() int64 { return e.Timestamp }

func (*MessageStarted) event() {}

// Type is TypeMessageStarted.
func (*MessageStarted) Type() EventType { return TypeMessageStarted }

// Session is the sessionId.
func (e *MessageStarted) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *MessageStarted) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *MessageStarted) Time() int64 { return e.Timestamp }

func (*MessagePart) event() {}

// Type is TypeMessagePart.
func (*MessagePart) Type() EventType { return TypeMessagePart }

// Session is the sessionId.
func (e *MessagePart) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *MessagePart) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *MessagePart) Time() int64 { return e.Timestamp }

func (*MessagePartDelta) event() {}

// Type is TypeMessagePartDelta.
func (*MessagePartDelta) Type() EventType { return TypeMessagePartDelta }

// Session is the sessionId.
func (e *MessagePartDelta) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *MessagePartDelta) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *MessagePartDelta) Time() int64 { return e.Timestamp }

func (*MessageEnded) event() {}

// Type is TypeMessageEnded.
func (*MessageEnded) Type() EventType { return TypeMessageEnded }

// Session is the sessionId.
func (e *MessageEnded) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *MessageEnded) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *MessageEnded) Time() int64 { return e.Timestamp }

func (*PermissionRequested) event() {}

// Type is TypePermissionRequested.
func (*PermissionRequested) Type() EventType { return TypePermissionRequested }

// Session is the sessionId.
func (e *PermissionRequested) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *PermissionRequested) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *PermissionRequested) Time() int64 { return e.Timestamp }

func (*PermissionResolved) event() {}

// Type is TypePermissionResolved.
func (*PermissionResolved) Type() EventType { return TypePermissionResolved }

// Session is the sessionId.
func (e *PermissionResolved) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *PermissionResolved) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *PermissionResolved) Time() int64 { return e.Timestamp }

func (*ErrorEvent) event() {}

// Type is TypeError.
func (*ErrorEvent) Type() EventType { return TypeError }

// Session is the sessionId, "" when absent.
func (e *ErrorEvent) Session() string { return deref(e.SessionID) }

// Turn is the turnId, "" when absent.
func (e *ErrorEvent) Turn() string { return deref(e.TurnID) }

// Time is the timestamp.
func (e *ErrorEvent) Time() int64 { return e.Timestamp }

func (*Raw) event() {}

// Type is TypeRaw.
func (*Raw) Type() EventType { return TypeRaw }

// Session is the sessionId.
func (e *Raw) Session() string { return e.SessionID }

// Turn is the turnId.
func (e *Raw) Turn() string { return e.TurnID }

// Time is the timestamp.
func (e *Raw) Time() int64 { return e.Timestamp }

func (*UnknownEvent) event() {}

// Type is the event's own type word.
func (e *UnknownEvent) Type() EventType { return e.Kind }

// Session is the sessionId, "" when absent or no string.
func (e *UnknownEvent) Session() string { return deref(e.SessionID) }

// Turn is "": nothing is read out of an unknown event.
func (*UnknownEvent) Turn() string { return "" }

// Time is 0: nothing is read out of an unknown event.
func (*UnknownEvent) Time() int64 { return 0 }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
