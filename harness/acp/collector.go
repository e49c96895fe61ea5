package acp

import (
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// collector collects what an agent sends while it opens an old session. What was said
// and done then is history, which our own log has: none of it is ever shown again.
// What the session is like now is no history: the last word on each is kept.
type collector struct {
	// history counts the updates that are nobody's news.
	history int
	// now is the last update of each kind that tells how things stand.
	now map[string]jsontext.Value
	// said are the ids of its messages, those that a counter cannot have made: what
	// comes under one of them later is its tail.
	said memory[struct{}]
	// calls are its tool calls.
	calls []string
}

// maxReplayed bounds the ids that are kept of a history; minReplayedID is how long the
// id of a message is at least, in bytes, for nobody to use it again.
const (
	maxReplayed   = 1024
	minReplayedID = 8
)

// standing are the kinds of updates that tell how a session stands, in the order in
// which they are told.
var standing = []string{
	"session_info_update", "available_commands_update", "config_option_update", "current_mode_update", "usage_update",
}

// collect takes an update into the collector.
func (r *collector) collect(raw jsontext.Value) {
	kind := kindOf(raw)
	for _, k := range standing {
		if k == kind {
			if r.now == nil {
				r.now = map[string]jsontext.Value{}
			}
			r.now[kind] = protocol.AppendRaw(nil, raw)
			return
		}
	}
	r.history++
	ids := read[struct {
		Message text `json:"messageId"`
		Call    text `json:"toolCallId"`
	}](raw)
	if len(ids.Message) >= minReplayedID {
		r.said.keep(string(ids.Message), struct{}{}, maxReplayed)
	}
	if ids.Call != "" && len(r.calls) < maxReplayed {
		r.calls = append(r.calls, string(ids.Call))
	}
}

// kindOf is the kind of an update.
func kindOf(raw jsontext.Value) string {
	return string(read[struct {
		Kind text `json:"sessionUpdate"`
	}](raw).Kind)
}

// recall tells how the reopened session stands. What it has cost so far is where
// the next turn's cost counts from.
func (t *translator) recall() {
	for _, kind := range standing {
		if raw := t.replay.now[kind]; raw != nil {
			t.update(raw)
		}
	}
	for _, call := range t.replay.calls {
		t.over.keep(call, struct{}{}, maxOver)
	}
	t.replay.now, t.replay.calls = nil, nil
	if t.spent.told {
		t.spent = cost{known: true, settled: t.spent.now, now: t.spent.now}
	}
}
