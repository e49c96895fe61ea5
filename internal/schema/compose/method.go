package compose

import (
	"reflect"
	"strings"

	"agent-server/protocol"
)

// method is one method of the wire; the table below has a row for each.
type method struct {
	name string
	// title is the name of its definitions: TurnStart for turn/start.
	title string
	// summary is one line; text is what else a caller should know.
	summary, text string
	// params is nil where they are ignored; result is nil for an empty object.
	params, result reflect.Type
	// errors are the codes it answers with, besides those that any line can meet.
	errors []protocol.Code
	// examples are calls that succeed; the first is the simplest.
	examples []example
}

// everyLine are the codes that any line can be answered with, whatever its method.
var everyLine = []protocol.Code{protocol.CodeParseError, protocol.CodeInvalidRequest, protocol.CodeMethodNotFound}

// methods is the table. A method of package protocol without a row fails a test.
func methods() []method {
	return []method{initializeMethod(), turnStartMethod(), turnCancelMethod(), permissionRespondMethod(),
		eventsReplayMethod(), sessionCloseMethod(), shutdownMethod(), sessionListMethod(), sessionSnapshotMethod(),
		sessionSubscribeMethod(), sessionUnsubscribeMethod(), harnessListMethod()}
}

// initializeMethod: its answer says what the other methods can do here.
func initializeMethod() method {
	return method{
		name: protocol.MethodInitialize, title: "Initialize",
		summary: "Agree on a version, and ask for additions.",
		text: "Until it is called the connection is that of a client of the base, which already receives every event. " +
			"A second call sets the connection's capabilities anew.",
		params: reflect.TypeFor[protocol.InitializeParams](), result: reflect.TypeFor[protocol.InitializeResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeProtocolVersionMismatch, protocol.CodeInternalError},
		examples: initializeExamples(),
	}
}

// turnStartMethod lists its errors in the order in which a server looks for them: what
// is refused first says what the next try will meet.
func turnStartMethod() method {
	return method{
		name: protocol.MethodTurnStart, title: "TurnStart",
		summary: "Start a turn: a prompt and all that follows until turn.ended.",
		text: "The answer is a quick acknowledgement; it comes before the turn's first event. A call with the same pair of ids and " +
			"the same content is acknowledged again and starts nothing. A session belongs to the harness of its first turn.",
		params: reflect.TypeFor[protocol.TurnStartParams](), result: reflect.TypeFor[protocol.TurnStartResult](),
		errors: []protocol.Code{protocol.CodeInvalidParams, protocol.CodeShuttingDown, protocol.CodeHarnessNotAvailable,
			protocol.CodeSessionClosing, protocol.CodeTurnConflict, protocol.CodeTurnActive, protocol.CodeOverloaded,
			protocol.CodeInternalError},
		examples: turnStartExamples(),
	}
}

// turnCancelMethod has three outcomes and no error of its own: a cancel that comes too
// late is no fault of the caller.
func turnCancelMethod() method {
	return method{
		name: protocol.MethodTurnCancel, title: "TurnCancel",
		summary: "Cancel the turn that runs, or a named one and no other.",
		text: "An unknown session has no turn. Open permissions are resolved as cancelled before the answer; " +
			"message.ended and turn.ended come after it.",
		params: reflect.TypeFor[protocol.TurnCancelParams](), result: reflect.TypeFor[protocol.TurnCancelResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeInternalError},
		examples: turnCancelExamples(),
	}
}

// permissionRespondMethod: whether an answer counted is its result, since two clients
// may answer at once and neither is wrong.
func permissionRespondMethod() method {
	return method{
		name: protocol.MethodPermissionRespond, title: "PermissionRespond",
		summary: "Answer a permission request.",
		text:    "The first answer counts. permission.resolved comes before the answer to this call.",
		params:  reflect.TypeFor[protocol.PermissionRespondParams](), result: reflect.TypeFor[protocol.PermissionRespondResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeInternalError},
		examples: permissionRespondExamples(),
	}
}

// eventsReplayMethod: here alone an unknown session is an error, since an empty answer
// would claim that there was nothing.
func eventsReplayMethod() method {
	return method{
		name: protocol.MethodEventsReplay, title: "EventsReplay",
		summary: "Read a session's events again, from a seq on.",
		text:    "Beyond the head there are none, and both numbers say where it is.",
		params:  reflect.TypeFor[protocol.EventsReplayParams](), result: reflect.TypeFor[protocol.EventsReplayResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeUnknownSession, protocol.CodeInternalError},
		examples: eventsReplayExamples(),
	}
}

// sessionCloseMethod: closing what is closed is no error, but closing over a running
// turn is.
func sessionCloseMethod() method {
	return method{
		name: protocol.MethodSessionClose, title: "SessionClose",
		summary: "End a session; its log stays.",
		text:    "session.ended comes before the answer. The id may be used again: seq then goes on.",
		params:  reflect.TypeFor[protocol.SessionCloseParams](), result: reflect.TypeFor[protocol.SessionCloseResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeSessionClosing, protocol.CodeTurnActive, protocol.CodeInternalError},
		examples: sessionCloseExamples(),
	}
}

// sessionListMethod: its pages may shift while sessions change; none that stays as it
// is will be missing.
func sessionListMethod() method {
	return method{
		name: protocol.MethodSessionList, title: "SessionList",
		summary: "List the sessions that the log holds, the one updated last first.",
		text:    "Sessions that are closed stand in it for as long as their log is held.",
		params:  reflect.TypeFor[protocol.SessionListParams](), result: reflect.TypeFor[protocol.SessionListResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeInternalError},
		examples: sessionListExamples(),
	}
}

// sessionSnapshotMethod gives the server's own fold, which is that of every client.
func sessionSnapshotMethod() method {
	return method{
		name: protocol.MethodSessionSnapshot, title: "SessionSnapshot",
		summary: "Read a session's state: the fold of its events up to a seq.",
		text:    "One consistent read. The state and the events after seq give the same as all events.",
		params:  reflect.TypeFor[protocol.SessionSnapshotParams](), result: reflect.TypeFor[protocol.SessionSnapshotResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeUnknownSession, protocol.CodeInternalError},
		examples: sessionSnapshotExamples(),
	}
}

// sessionSubscribeMethod is how a cursor is moved; what cannot be served is said.
func sessionSubscribeMethod() method {
	return method{
		name: protocol.MethodSessionSubscribe, title: "SessionSubscribe",
		summary: "Receive a session's events from a cursor on.",
		text: "The events after the answer's seq follow it, then events/synced. It moves the cursor of this connection: the only way " +
			"in which an event comes twice on one. A cursor that cannot be served gives a snapshot, or an error where none is wanted.",
		params: reflect.TypeFor[protocol.SessionSubscribeParams](), result: reflect.TypeFor[protocol.SessionSubscribeResult](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeUnknownSession, protocol.CodeSeqUnavailable, protocol.CodeInternalError},
		examples: sessionSubscribeExamples(),
	}
}

// sessionUnsubscribeMethod: to stop what does not run is no error.
func sessionUnsubscribeMethod() method {
	return method{
		name: protocol.MethodSessionUnsubscribe, title: "SessionUnsubscribe",
		summary:  "Receive no more events of a session on this connection.",
		text:     "The session itself goes on; another subscribe begins where it says.",
		params:   reflect.TypeFor[protocol.SessionUnsubscribeParams](),
		errors:   []protocol.Code{protocol.CodeInvalidParams, protocol.CodeInternalError},
		examples: []example{{name: "enough", params: protocol.SessionUnsubscribeParams{SessionID: someSession}}},
	}
}

// harnessListMethod: initialize names what is available; this also says why the others
// are not.
func harnessListMethod() method {
	return method{
		name: protocol.MethodHarnessList, title: "HarnessList",
		summary:  "List every harness that is configured: available or why not, where, which version.",
		text:     "In order of registration. An executable is asked for its version once, as long as it is the same file, and in a bounded time; nothing of it is asked of a network. What a harness does not tell without one is left out.",
		result:   reflect.TypeFor[protocol.HarnessListResult](),
		errors:   []protocol.Code{protocol.CodeInternalError},
		examples: harnessListExamples(),
	}
}

// shutdownMethod ignores its params and has nothing to say but that it was heard.
func shutdownMethod() method {
	return method{
		name: protocol.MethodShutdown, title: "Shutdown",
		summary:  "Stop the server once its turns have ended.",
		text:     "Answered at once, again and again. Until the transports close, everything but turn/start is served.",
		errors:   []protocol.Code{protocol.CodeInternalError},
		examples: []example{{name: "stop", result: struct{}{}}},
	}
}

// notification is one that the server sends; the table below has a row for each.
type notification struct {
	name string
	// title is the name of its definition: Event for event.
	title string
	// summary is one line; text is what else a client should know.
	summary, text string
	params        reflect.Type
	// example is one of its params.
	exampleName string
	example     any
}

// notifications is the table. One of package protocol without a row fails a test.
func notifications() []notification {
	return []notification{
		{protocol.NotificationEvent, "Event", "One event of a session.",
			"A connection receives the events of every session, in the order of seq, unless it asked for those that it subscribes to.",
			reflect.TypeFor[protocol.Envelope](), "text as it streams", anEnvelope()},
		{protocol.NotificationSynced, "EventsSynced", "A subscription has caught up.",
			"It follows session/subscribe, once the head of that moment has been passed.",
			reflect.TypeFor[protocol.EventsSynced](), "caught up", protocol.EventsSynced{SessionID: someSession, Seq: 12}},
		{protocol.NotificationLagged, "EventsLagged", "A session's events stop on this connection.",
			"Sent with chainedSeq only, where what follows lastSeq can no longer be served. Subscribe again.",
			reflect.TypeFor[protocol.EventsLagged](), "too far behind",
			protocol.EventsLagged{SessionID: someSession, LastSeq: 12, FirstAvailableSeq: 80}},
	}
}

// described is summary and text in one.
func (m method) described() string { return strings.TrimSpace(m.summary + " " + m.text) }

// described is summary and text in one.
func (n notification) described() string { return strings.TrimSpace(n.summary + " " + n.text) }
