package acp

import (
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// updated takes the params of a session/update, wherever the session stands.
func (t *translator) updated(params jsontext.Value) {
	p := read[struct {
		SessionID text           `json:"sessionId"`
		Update    jsontext.Value `json:"update"`
	}](params)
	switch {
	case t.stage == opening && len(t.early) < maxEarly && t.earlyBytes+len(params) <= maxEarlyBytes:
		t.early, t.earlyBytes = append(t.early, params), t.earlyBytes+len(params)
	case t.stage == reopening:
		t.replay.collect(p.Update)
	case t.stage != ready:
		t.note("update before there is a session", "")
	case string(p.SessionID) != t.session:
		t.note("update of another session", "")
	default:
		t.update(p.Update)
	}
}

// update takes one update of our session.
func (t *translator) update(raw jsontext.Value) {
	switch kind := kindOf(raw); kind {
	case "agent_message_chunk":
		t.chunk(protocol.PartText, raw)
	case "agent_thought_chunk":
		t.chunk(protocol.PartReasoning, raw)
	case "user_message_chunk", "user_message":
		t.note("update ignored: the turn's input is shown already", kind)
	case "tool_call", "tool_call_update":
		t.toolUpdate(kind, raw)
	case "agent_message":
		t.whole(protocol.PartText, raw)
	case "agent_thought":
		t.whole(protocol.PartReasoning, raw)
	case "tool_call_content_chunk":
		t.contentGrows(raw)
	case "state_update":
		t.stateChanged(raw)
	case "plan":
		t.plan(raw)
	case "usage_update":
		t.gauge(raw)
	case "session_info_update":
		t.titled(raw)
	case "available_commands_update":
		t.commandsChanged(raw)
	case "current_mode_update":
		t.modeChanged(raw)
	case "config_option_update":
		t.optionsChanged(raw)
	case "notice":
		t.notice(raw)
	case "compaction_update":
		t.compaction(raw)
	case "compaction_summary_chunk":
		t.compactionSummary(raw)
	default:
		t.note("update ignored", word(kind))
	}
}

// running says whether a prompt is on its way: outside that nothing an agent
// says has a turn to stand in.
func (t *translator) running() bool { return t.turn != nil && t.turn.written }
