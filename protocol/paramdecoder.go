package protocol

// The params decoders report every fault at once, paths dotted, for
// ErrInvalidParams. No faults: the params are good.

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
	return &ClientCapabilities{OpenHarnesses: maybe(&o, "openHarnesses", aBool)}
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
	return SessionCloseParams{SessionID: need(&o, "sessionId", aString)}
}
