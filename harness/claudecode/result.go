package claudecode

import (
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// A native turn has exactly one result, whatever became of it; prompts that the
// CLI merged would share one, which is why it is given one at a time.

// onResult takes the end of a native turn.
func (t *translator) onResult(line []byte) {
	o := object[outcome](line)
	switch {
	case t.turn == nil:
		t.note("result without a turn", "")
		t.spend(o)
	case !t.turn.written && !t.prompted:
		t.startupResult(o)
	case !t.isOurs(o):
		t.note("result of another prompt", "")
		t.pass(o)
	default:
		t.create(o.Session)
		end := t.endOf(o)
		t.pay(o)
		t.measure(o)
		t.end(end, answeredBy(o))
	}
}

// answeredBy are the prompts that a result answers.
func answeredBy(o outcome) []string {
	prompts := texts(o.Prompts)
	if o.Prompt != "" {
		prompts = append(prompts, string(o.Prompt))
	}
	return prompts
}

// isOurs says whether a result answers a prompt of the turn: by its prompt ids,
// and where it has none (an older CLI) by not having an origin of its own. A turn
// of the CLI's own has no prompt, and no other turn beside it.
func (t *translator) isOurs(o outcome) bool {
	prompts := answeredBy(o)
	if len(prompts) == 0 {
		return t.turn.woken || t.turn.written && o.Origin.Kind() != '{'
	}
	return t.turn.woken || t.turn.answers(prompts)
}

// pass takes the end of what the CLI did of its own accord while our prompt
// waited. What it cost is the turn's: nobody else would pay.
func (t *translator) pass(o outcome) {
	t.pay(o)
	t.measure(o)
	t.leaveMessages()
	t.turn.visited = false
	if t.turn.settled != "" {
		t.settle()
	}
}

// end ends the turn, unless a prompt that was written into it has no answer yet:
// the CLI goes on with that by itself.
func (t *translator) end(end harness.Finished, answered []string) {
	if !t.turn.hasMore(answered) {
		t.finish(end)
		return
	}
	t.settleNot()
	t.leaveMessages()
	t.turn.held, t.turn.failure = &end, nil
}

// startupResult takes a result from before the prompt: the CLI would not start.
// With a session to go on with that is what failed; were it something else, the
// fresh session would fail as well, and say so.
func (t *translator) startupResult(o outcome) {
	why := messageOf(o)
	if t.launch.Resume != "" {
		t.emit(harness.ResumeFailed{Message: why})
	} else {
		t.emit(harness.Rejected{Error: protocol.TurnError{Category: protocol.CategoryInternal, Message: why}})
	}
	t.abandonTurn()
}

// messageOf is what an error result says to people.
func messageOf(o outcome) string {
	if errors := texts(o.Errors); len(errors) > 0 {
		return strings.Join(errors, "; ")
	}
	if o.Result.Kind() == '"' && len(o.Result) > 2 {
		return protocol.Unquote(o.Result)
	}
	return "Claude Code ended the turn with an error"
}

// failedReasons are the terminal reasons that say by themselves what kind of
// fault it was.
var failedReasons = map[text]protocol.ErrorCategory{
	"budget_exhausted":     protocol.CategoryUsageLimit,
	"blocking_limit":       protocol.CategoryContextLimit,
	"prompt_too_long":      protocol.CategoryContextLimit,
	"rapid_refill_breaker": protocol.CategoryContextLimit,
	"image_error":          protocol.CategoryInvalidRequest,
}

// endOf says how a turn ended. The subtype decides nothing but where an older
// CLI gives no reason: an API failure says "success", an interrupt "error".
func (t *translator) endOf(o outcome) harness.Finished {
	end := harness.Finished{Reason: protocol.StopEndTurn, Raw: rawReason(o)}
	failed := bool(o.IsError)
	switch {
	// Structural, and so true also where somebody else interrupted the CLI.
	case o.Reason == "aborted_streaming" || o.Reason == "aborted_tools":
		end.Reason = protocol.StopCancelled
	case !failed && o.Reason == "" && t.turn.cut:
		end.Reason = protocol.StopCancelled
	case o.Reason == "max_turns" || failed && o.Reason == "" && o.Subtype == "error_max_turns":
		end.Reason = protocol.StopMaxTurnRequests
	case o.StopReason == "refusal":
		end.Reason = protocol.StopRefusal
	case failed && t.turn.failure != nil && t.turn.failure.word == "max_output_tokens":
		end.Reason = protocol.StopMaxTokens
	case failed && o.Reason == "" && t.turn.cancelled && o.Subtype == "error_during_execution":
		end.Reason = protocol.StopCancelled
	case failed:
		end.Reason = protocol.StopError
		end.Error = &protocol.TurnError{Category: t.categoryOf(o), Message: messageOf(o)}
	case o.StopReason == "max_tokens":
		end.Reason = protocol.StopMaxTokens
	}
	return end
}

// rawReason is the CLI's own word: of a turn that went through it is the model's.
func rawReason(o outcome) string {
	switch {
	case o.Reason != "" && o.Reason != "completed":
		return string(o.Reason)
	case o.StopReason != "":
		return string(o.StopReason)
	}
	return string(o.Subtype)
}

// categoryOf is the kind of fault that a result reports.
func (t *translator) categoryOf(o outcome) protocol.ErrorCategory {
	if c, ok := failedReasons[o.Reason]; ok {
		return c
	}
	f := failure{status: float64(o.Status), kind: string(o.ErrorType), detail: string(o.APIError)}
	if t.turn.failure != nil {
		f.word = t.turn.failure.word
	} else if o.Reason != "api_error" {
		return protocol.CategoryInternal
	}
	return f.category()
}
