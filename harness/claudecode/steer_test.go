package claudecode

import (
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// steered is a translator in whose turn a further prompt, id-3, was written.
func steered(t *testing.T) *translator {
	t.Helper()
	tr := running(t)
	out := tr.Step(harness.Steer{Turn: "other", Input: protocol.TextInput("and that")})
	wantStdin(t, out, `{"type":"user","session_id":"","message":{"role":"user","content":"and that"},"parent_tool_use_id":null,"uuid":"id-3"}`)
	return tr
}

const (
	endsBoth   = `{"type":"result","subtype":"success","terminal_reason":"completed","stop_reason":"end_turn","user_message_uuids":["id-1","id-3"]}`
	endsThird  = `{"type":"result","subtype":"success","terminal_reason":"completed","stop_reason":"end_turn","user_message_uuids":["id-3"]}`
	thirdBegun = `{"type":"command_lifecycle","command_uuid":"id-3","state":"started"}`
	thirdInit  = `{"type":"system","subtype":"init","session_id":"native","user_message_uuids":["id-3"]}`
	thirdOff   = `{"type":"command_lifecycle","command_uuid":"id-3","state":"cancelled"}`
)

// Law 162: a turn ends with the result that answers the last of its prompts, once,
// whether the CLI folds a further one into it or answers it by itself.
func TestLaw162_endsWithItsLastPrompt(t *testing.T) {
	t.Parallel()
	ended := harness.Finished{Reason: protocol.StopEndTurn, Raw: "end_turn"}
	for name, lines := range map[string][]string{
		"folded, both named":      {thirdBegun, endsBoth},
		"folded, the first named": {thirdBegun, endedOne},
		"folded, over before":     {thirdBegun, `{"type":"command_lifecycle","command_uuid":"id-3","state":"completed"}`, endedOne},
		"dropped":                 {thirdOff, endedOne},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantUpdates(t, feed(steered(t), lines...), ended)
		})
	}
	t.Run("answered by itself", func(t *testing.T) {
		t.Parallel()
		tr := steered(t)
		wantUpdates(t, feed(tr, `{"type":"command_lifecycle","command_uuid":"id-3","state":"queued"}`, endedOne, thirdBegun, thirdInit))
		wantUpdates(t, feed(tr, endsThird), ended)
	})
}

// Of the native turns that answer one turn's prompts the last says how it ended, and
// all say what it cost.
func TestSteeredTurnSumsUp(t *testing.T) {
	t.Parallel()
	const since = `,"model_usage_since_last_result":{"x":{"inputTokens":10,"costUSD":0.25}}}`
	tr := steered(t)
	feed(tr, `{"type":"result","is_error":true,"terminal_reason":"max_turns","user_message_uuids":["id-1"]`+since, thirdBegun)
	out := feed(tr, `{"type":"result","terminal_reason":"completed","stop_reason":"end_turn","user_message_uuids":["id-3"]`+since)
	end := out.Updates[len(out.Updates)-1].(harness.Finished)
	if end.Reason != protocol.StopEndTurn || *end.Cost != 0.5 || end.Tokens.Input != 20 {
		t.Errorf("end %+v", end)
	}
}

// A further prompt that is dropped after the first was answered has no result: the
// turn ends as its first prompt did.
func TestFurtherPromptDroppedLate(t *testing.T) {
	t.Parallel()
	tr := steered(t)
	feed(tr, endedOne)
	wantTimers(t, feed(tr, thirdOff), harness.Timer{Name: "settle", After: 2 * time.Second})
	wantUpdates(t, tr.Step(harness.Expired{Timer: "settle"}), harness.Finished{Reason: protocol.StopEndTurn, Raw: "end_turn"})
}

// A cancel drops further prompts with the turn, and the turn ends at once.
func TestCancelOfASteeredTurn(t *testing.T) {
	t.Parallel()
	tr := steered(t)
	wantStdin(t, tr.Step(harness.Cancel{}),
		`{"type":"control_request","request_id":"id-4","request":{"subtype":"interrupt","cancel_queued":true}}`)
	wantUpdates(t, feed(tr, `{"type":"result","is_error":true,"terminal_reason":"aborted_streaming","user_message_uuids":["id-1"]}`),
		harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_streaming"})
}

// A prompt that Claude Code cannot take is told, and the turn goes on.
func TestSteerThatCannotBe(t *testing.T) {
	t.Parallel()
	tr := running(t)
	data := "AA=="
	out := tr.Step(harness.Steer{Input: protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputFile, MimeType: "audio/wav", Data: &data}}}})
	if len(out.Updates) != 1 || out.Updates[0].(harness.Notice).Category != protocol.CategoryInvalidRequest || out.Stdin != nil {
		t.Errorf("%v", out)
	}
	wantUpdates(t, feed(tr, endedOne), harness.Finished{Reason: protocol.StopEndTurn, Raw: "end_turn"})
	if out := tr.Step(harness.Steer{Input: protocol.TextInput("late")}); out.Stdin != nil || len(out.Diagnostics) != 1 {
		t.Errorf("%v", out)
	}
}
