package verify

// Rule is the stable name of a law; it is what reports and exit codes go by.
type Rule string

// The rules of the base. Where a rule blames no event its index is -1.
const (
	// SchemaValid: the event, and the envelope around it, decode strictly. What
	// does not is judged by no other rule but the two of its seq and TimestampValid.
	SchemaValid Rule = "schema-valid"
	// TimestampValid: a known event's timestamp is a non-negative safe integer;
	// reported beside SchemaValid.
	TimestampValid Rule = "timestamp-valid"
	// SeqMonotonic: each seq is above the one before it.
	SeqMonotonic Rule = "seq-monotonic"
	// SessionCreatedOnce: at most one session.created since the last
	// turn.started of whatever turn, or since the stream's start.
	SessionCreatedOnce Rule = "session-created-once"
	// TurnStartedOnce: a turn starts once.
	TurnStartedOnce Rule = "turn-started-once"
	// MessageInTurn: message.started names a turn that was started. One that
	// does not is seen by no other rule.
	MessageInTurn Rule = "message-in-turn"
	// NoMessagesAfterTurnEnd: no message.started in an ended turn.
	NoMessagesAfterTurnEnd Rule = "no-messages-after-turn-end"
	// EchoFirst: a turn's first message is the user's, at outputIndex 0.
	EchoFirst Rule = "echo-first"
	// OutputIndexIncreases: within a turn each message's outputIndex is above
	// that of the one before it.
	OutputIndexIncreases Rule = "output-index-increases"
	// PartAddressStable: a part.id keeps its message and its partIndex.
	PartAddressStable Rule = "part-address-stable"
	// PartSelfDescribing: a part's id is not empty and its messageId is that of
	// its event.
	PartSelfDescribing Rule = "part-self-describing"
	// LatePartsAreTerminalTools: after turn.ended a part is a tool in a final
	// state, or of an unknown type.
	LatePartsAreTerminalTools Rule = "late-parts-are-terminal-tools"
	// EchoPartsDone: text and reasoning of a user message have state done.
	EchoPartsDone Rule = "echo-parts-done"
	// DeltaFollowsSnapshot: a snapshot of the delta's part came before it.
	DeltaFollowsSnapshot Rule = "delta-follows-snapshot"
	// BracketPairing: message.ended closes a message that was opened in its turn.
	BracketPairing Rule = "bracket-pairing"
	// TurnEndedPairs: turn.ended closes a turn that was started, and each turn
	// that was started ends (the index is that of its start).
	TurnEndedPairs Rule = "turn-ended-pairs"
	// TurnEndedOnce: a turn ends once.
	TurnEndedOnce Rule = "turn-ended-once"
	// MessagesClosedByTurnEnd: no message is open when its turn first ends.
	MessagesClosedByTurnEnd Rule = "messages-closed-by-turn-end"
	// ErrorCarriesInfo: a turn that ends with the word error says what error.
	ErrorCarriesInfo Rule = "error-carries-info"
	// PermissionResolvesOnce: a request is resolved at most once, and is
	// resolved after it was last asked (the index is that of that asking).
	PermissionResolvesOnce Rule = "permission-resolves-once"
	// ReducerTotal: the fold takes every event; where it does not, the two rules
	// below are not judged. Index -1.
	ReducerTotal Rule = "reducer-total"
	// ProjectionAgrees: each part of the fold is what the stream last said of it.
	// Index -1.
	ProjectionAgrees Rule = "projection-agrees"
	// ReducerIdempotent: snapshots, turn ends and answers delivered twice count
	// once. Index -1.
	ReducerIdempotent Rule = "reducer-idempotent"
)

// The rules beyond the base; they are off under Options.Base.
const (
	// SeqContiguous: no seq is left out; where an envelope carries prevSeq, the
	// chain is not broken instead.
	SeqContiguous Rule = "seq-contiguous"
	// PermissionBeforeTurnEnd: a request is asked and resolved before its turn
	// ends.
	PermissionBeforeTurnEnd Rule = "permission-before-turn-end"
	// MessageEndedOnce: a message ends once, unless it was opened again.
	MessageEndedOnce Rule = "message-ended-once"
	// DeltaConcatEqualsFinal: what a snapshot restates is what the deltas before
	// it have built.
	DeltaConcatEqualsFinal Rule = "delta-concat-equals-final"
	// RecoverableMeansContinues: what a turn fails of was announced by an error
	// of the same category and message, and not as recoverable.
	RecoverableMeansContinues Rule = "recoverable-means-continues"
	// EverythingStartedEnds: text and reasoning are done when their turn has
	// ended, a compaction reaches a final status, a queued turn is started or
	// unqueued, once (the index is that of the start, or of what comes once too
	// often). Turns, messages and
	// permissions have rules of their own; tools are ended by the fold.
	EverythingStartedEnds Rule = "everything-started-ends"
	// NoAskAfterCancel: no permission opens after an accepted cancel of its turn.
	NoAskAfterCancel Rule = "no-ask-after-cancel"
)

// Violation is one breach of a rule.
type Violation struct {
	// Rule is the rule's stable name.
	Rule Rule `json:"rule"`
	// Index is the position of the event it blames, counted from 0; -1: the
	// stream as a whole.
	Index int `json:"index"`
	// Message says what is wrong, for people; its wording may change.
	Message string `json:"message"`
}

// Rules lists every rule, those of the base first.
func Rules() []Rule {
	rules := make([]Rule, len(book))
	for i, e := range book {
		rules[i] = e.rule
	}
	return rules
}
