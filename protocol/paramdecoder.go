package protocol

import "bytes"

// The params decoders report every fault at once, paths dotted, for
// ErrInvalidParams. No faults: the params are good.

// The closed words of the params beyond the base.
var (
	anEventsMode  = oneOf(EventsAll, EventsSubscribed)
	anIfBusy      = oneOf(BusyReject, BusyQueue, BusySteer)
	aSnapshotMode = oneOf(SnapshotAuto, SnapshotAlways, SnapshotNever)
)

// anyMeta reads the extension object of params. The base knows none there: what
// is no object is an unknown member, and ignored.
func anyMeta(_ *reading, raw []byte) Object {
	if raw[0] != '{' {
		return nil
	}
	return bytes.Clone(raw)
}

// decodeParams reads params that must be an object.
func decodeParams[T any](r *reading, raw []byte, read reader[T]) (T, []Fault) {
	if len(raw) == 0 {
		r.fault("must be an object")
	}
	var params T
	if len(raw) > 0 {
		if value := r.begin(raw); value != nil {
			params = read(r, value)
		}
	}
	return params, r.faults
}

// DecodeInitialize reads the params of initialize; absent and null are {}. A
// version other than ours is no fault of shape: its answer is
// ErrVersionMismatch.
func DecodeInitialize(raw []byte) (InitializeParams, []Fault) {
	if len(raw) == 0 || string(trim(raw)) == "null" {
		raw = []byte("{}")
	}
	return decodeParams(&reading{}, raw, initializeParams)
}

// initializeParams: a version of 3 is well-formed, one of 0 is not.
func initializeParams(r *reading, raw []byte) InitializeParams {
	o, ok := r.open(raw)
	if !ok {
		return InitializeParams{}
	}
	return InitializeParams{
		ProtocolVersion: need(&o, "protocolVersion", aPositive),
		Client:          orZero(&o, "client", aClientInfo),
		Capabilities:    orZero(&o, "capabilities", someCapabilities),
	}
}

// aClientInfo reads who asks.
func aClientInfo(r *reading, raw []byte) *ClientInfo {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &ClientInfo{Name: need(&o, "name", aString), Version: maybe(&o, "version", aString)}
}

// someCapabilities reads what is asked for beyond the base; a member of a later
// version is unknown, and ignored.
func someCapabilities(r *reading, raw []byte) *ClientCapabilities {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	mark := len(r.faults)
	c := &ClientCapabilities{
		OpenHarnesses: maybe(&o, "openHarnesses", aBool),
		ChainedSeq:    maybe(&o, "chainedSeq", aBool),
		Deltas:        maybe(&o, "deltas", aBool),
		Events:        orZero(&o, "events", anEventsMode),
	}
	if len(r.faults) == mark && c.Deltas != nil && !*c.Deltas && (c.ChainedSeq == nil || !*c.ChainedSeq) {
		// Without a chain every number must come, a filler for each delta.
		r.faultAt("deltas", "false needs chainedSeq")
	}
	return c
}

// DecodeTurnStart reads the params of turn/start. A harness id that known
// refuses is one of the faults; nil knows every id.
func DecodeTurnStart(raw []byte, known func(HarnessID) bool) (TurnStartParams, []Fault) {
	return decodeParams(&reading{harness: known}, raw, turnStartParams)
}

// turnStartParams: ids that are missing are minted by the caller, empty ones are a
// fault.
func turnStartParams(r *reading, raw []byte) TurnStartParams {
	o, ok := r.open(raw)
	if !ok {
		return TurnStartParams{}
	}
	return TurnStartParams{
		SessionID: maybe(&o, "sessionId", aFilled[string]),
		TurnID:    maybe(&o, "turnId", aFilled[string]),
		Input:     need(&o, "input", anInput),
		Config:    need(&o, "config", aRunConfig),
		IfBusy:    orZero(&o, "ifBusy", anIfBusy),
		Meta:      orZero(&o, "_meta", anyMeta),
	}
}

// DecodeTurnCancel reads the params of turn/cancel.
func DecodeTurnCancel(raw []byte) (TurnCancelParams, []Fault) {
	return decodeParams(&reading{}, raw, turnCancelParams)
}

func turnCancelParams(r *reading, raw []byte) TurnCancelParams {
	o, ok := r.open(raw)
	if !ok {
		return TurnCancelParams{}
	}
	return TurnCancelParams{
		SessionID: need(&o, "sessionId", aFilled[string]),
		TurnID:    maybe(&o, "turnId", aFilled[string]),
	}
}

// DecodePermissionRespond reads the params of permission/respond.
func DecodePermissionRespond(raw []byte) (PermissionRespondParams, []Fault) {
	return decodeParams(&reading{}, raw, permissionRespondParams)
}

// permissionRespondParams: empty ids are well-formed; they name no request.
func permissionRespondParams(r *reading, raw []byte) PermissionRespondParams {
	o, ok := r.open(raw)
	if !ok {
		return PermissionRespondParams{}
	}
	return PermissionRespondParams{
		SessionID: need(&o, "sessionId", aString),
		RequestID: need(&o, "requestId", aString),
		Outcome:   need(&o, "outcome", anOutcome),
	}
}

// DecodeEventsReplay reads the params of events/replay.
func DecodeEventsReplay(raw []byte) (EventsReplayParams, []Fault) {
	return decodeParams(&reading{}, raw, eventsReplayParams)
}

func eventsReplayParams(r *reading, raw []byte) EventsReplayParams {
	o, ok := r.open(raw)
	if !ok {
		return EventsReplayParams{}
	}
	return EventsReplayParams{
		SessionID: need(&o, "sessionId", aString),
		FromSeq:   need(&o, "fromSeq", aPositive),
		Limit:     maybe(&o, "limit", aPositive),
	}
}

// DecodeSessionClose reads the params of session/close.
func DecodeSessionClose(raw []byte) (SessionCloseParams, []Fault) {
	return decodeParams(&reading{}, raw, sessionCloseParams)
}

func sessionCloseParams(r *reading, raw []byte) SessionCloseParams {
	o, ok := r.open(raw)
	if !ok {
		return SessionCloseParams{}
	}
	return SessionCloseParams{SessionID: need(&o, "sessionId", aString), Force: maybe(&o, "force", aBool)}
}

// DecodeSessionList reads the params of session/list; absent ones are {}.
func DecodeSessionList(raw []byte) (SessionListParams, []Fault) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	return decodeParams(&reading{}, raw, sessionListParams)
}

func sessionListParams(r *reading, raw []byte) SessionListParams {
	o, ok := r.open(raw)
	if !ok {
		return SessionListParams{}
	}
	return SessionListParams{Limit: maybe(&o, "limit", aPositive), Cursor: maybe(&o, "cursor", aString)}
}

// DecodeSessionSnapshot reads the params of session/snapshot.
func DecodeSessionSnapshot(raw []byte) (SessionSnapshotParams, []Fault) {
	return decodeParams(&reading{}, raw, sessionSnapshotParams)
}

func sessionSnapshotParams(r *reading, raw []byte) SessionSnapshotParams {
	o, ok := r.open(raw)
	if !ok {
		return SessionSnapshotParams{}
	}
	return SessionSnapshotParams{SessionID: need(&o, "sessionId", aString)}
}

// DecodeSessionSubscribe reads the params of session/subscribe. Whether the log
// can serve the cursor is judged later.
func DecodeSessionSubscribe(raw []byte) (SessionSubscribeParams, []Fault) {
	return decodeParams(&reading{}, raw, sessionSubscribeParams)
}

func sessionSubscribeParams(r *reading, raw []byte) SessionSubscribeParams {
	o, ok := r.open(raw)
	if !ok {
		return SessionSubscribeParams{}
	}
	return SessionSubscribeParams{
		SessionID: need(&o, "sessionId", aString),
		AfterSeq:  maybe(&o, "afterSeq", aNatural),
		Snapshot:  orZero(&o, "snapshot", aSnapshotMode),
		Deltas:    maybe(&o, "deltas", aBool),
	}
}

// DecodeSessionUnsubscribe reads the params of session/unsubscribe.
func DecodeSessionUnsubscribe(raw []byte) (SessionUnsubscribeParams, []Fault) {
	return decodeParams(&reading{}, raw, sessionUnsubscribeParams)
}

func sessionUnsubscribeParams(r *reading, raw []byte) SessionUnsubscribeParams {
	o, ok := r.open(raw)
	if !ok {
		return SessionUnsubscribeParams{}
	}
	return SessionUnsubscribeParams{SessionID: need(&o, "sessionId", aString)}
}
