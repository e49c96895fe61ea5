package acp

import (
	"strconv"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// cancel interrupts the turn. The answers to open requests follow the cancel, so
// that the agent knows why they are what they are.
func (t *translator) cancel() {
	if !t.running() || t.turn.answered != nil {
		return // or the answer is there: the turn is as good as over
	}
	t.turn.cancelled = true
	t.tell("session/cancel", sessionRef{t.session})
	t.cancelAsks()
}

// promptResult is the answer to a prompt.
type promptResult struct {
	// StopReason is end_turn, max_tokens, max_turn_requests, refusal or
	// cancelled; a failed turn is an error answer.
	StopReason text `json:"stopReason"`
	// Usage is what the turn cost; many agents leave it out.
	Usage jsontext.Value `json:"usage"`
	// Meta is where some of those put it instead.
	Meta jsontext.Value `json:"_meta"`
}

// prompted takes the answer to the prompt: the turn's end.
func (t *translator) prompted(m rpcline.Message) {
	if !t.running() || t.turn.own {
		return
	}
	t.served = true
	if t.taken(m) {
		t.turn.loop = true
		return
	}
	t.ends(t.ending(m))
}

// ends ends the turn, at once or after the agent's grace.
func (t *translator) ends(end harness.Finished) {
	if t.agent.Quirks.Grace > 0 {
		t.turn.answered = &end
		t.cancelAsks()
		t.out.Timers = append(t.out.Timers, harness.Timer{Name: graceTimer, After: t.agent.Quirks.Grace})
		return
	}
	t.finish(end)
}

// graceTimer bounds the time from the prompt's answer to the turn's end.
const graceTimer = "grace"

// endGrace ends a turn whose answer has been there for a while, if there is one.
func (t *translator) endGrace() {
	if t.turn != nil && t.turn.answered != nil {
		t.finish(*t.turn.answered)
	}
}

// finish ends the turn.
func (t *translator) finish(end harness.Finished) {
	t.closePart()
	if t.spoils(end) {
		t.out.Process = harness.Stop
	}
	t.leave(end.Reason == protocol.StopCancelled)
	end.Cost = t.spent.sinceBegin()
	t.emit(end)
}

// spoils says whether the agent's process is of no more use behind a turn that ended so.
func (t *translator) spoils(end harness.Finished) bool {
	q := t.agent.Quirks
	return q.LeavesTools && end.Reason == protocol.StopCancelled && t.toolRuns() || q.LosesNext && end.Reason == protocol.StopError
}

// leave lets go of the turn. What it leaves open is closed as far as anybody knows.
func (t *translator) leave(cancelled bool) {
	t.endTools(cancelled)
	t.cancelAsks()
	t.fenced = fence{up: cancelled, ids: t.turn.ids}
	t.turn = nil
	t.speech = speech{n: t.speech.n}
}

// ending is how the turn ended. An agent that was asked to cancel may answer
// with the error that this caused: that is the cancel.
func (t *translator) ending(m rpcline.Message) harness.Finished {
	switch {
	case m.Error == nil:
		return t.resultEnding(read[promptResult](m.Result))
	case m.Error.Code == rpcline.CodeCancelled || t.turn.cancelled:
		return harness.Finished{Reason: protocol.StopCancelled, Raw: strconv.FormatInt(m.Error.Code, 10)}
	}
	e := t.failure(m.Error, "")
	return harness.Finished{Reason: protocol.StopError, Raw: strconv.FormatInt(m.Error.Code, 10), Error: &e}
}

// resultEnding is the end that a result tells. All-zero figures mean unknown;
// together with a cancel they also tell an interrupted turn from one that had
// ended by itself.
func (t *translator) resultEnding(r promptResult) harness.Finished {
	tokens, zero := tokensOf(r)
	end := harness.Finished{Reason: protocol.StopReason(r.StopReason), Raw: string(r.StopReason), Tokens: tokens}
	switch {
	case t.turn.cancelled && zero:
		end.Reason = protocol.StopCancelled
	case t.agent.Quirks.ErrorText && t.turn.errorText != "" && tokens == nil && end.Reason == protocol.StopEndTurn:
		end.Reason = protocol.StopError
		end.Error = &protocol.TurnError{Category: textCategory(t.turn.errorText), Message: t.turn.errorText}
	case !end.Reason.Clean():
		end.Reason = protocol.StopError
		end.Error = &protocol.TurnError{
			Category: protocol.CategoryInternal, Message: "the agent ended the turn without a known reason",
		}
	}
	return end
}
