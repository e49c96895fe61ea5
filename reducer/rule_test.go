package reducer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// rule says by hand what one of our streams must come to: a second opinion on
// what -update has written.
type rule struct {
	stream string
	// changes are what the events of these places change, in brief; "" is nothing.
	changes map[int]string
	// state holds what must stand at these paths; "" is that nothing does.
	state map[string]string
}

// brief spells changes in one line: each its kind, then its members.
func brief(changes []Change) string {
	words := []string{}
	for _, c := range changes {
		word := string(c.Kind)
		for _, id := range []string{c.MessageID, c.PartID, c.TurnID, c.CompactionID, c.RequestID} {
			if id != "" {
				word += " " + id
			}
		}
		if c.Kind == PartUpserted {
			word += fmt.Sprintf(" %v/%v", c.OutputIndex, c.PartIndex)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// at is what stands at a path of dotted names and places, canonically spelled.
func at(t *testing.T, raw []byte, path string) string {
	t.Helper()
	for name := range strings.SplitSeq(path, ".") {
		if i, err := strconv.Atoi(name); err == nil {
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) != nil || i >= len(list) {
				return ""
			}
			raw = list[i]
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil || object[name] == nil {
			return ""
		}
		raw = object[name]
	}
	return canonical(t, raw)
}

// check folds the stream and compares.
func (r rule) check(t *testing.T, f vectorFile) {
	var c *Conversation
	for i, ev := range f.events(t) {
		next, changes := ReduceWithChanges(c, ev)
		if want, told := r.changes[i]; told && brief(changes) != want {
			t.Errorf("event %d changes %q, want %q", i, brief(changes), want)
		}
		if (next == c) != (len(changes) == 0) {
			t.Errorf("event %d: same conversation %v, with %d changes", i, next == c, len(changes))
		}
		c = next
	}
	raw := c.AppendJSON(nil)
	for path, want := range r.state {
		if got := at(t, raw, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// Every sentence of the fold's specification has a stream, and every stream says
// by hand what it is about.
func TestRules(t *testing.T) {
	t.Parallel()
	all := append(append(append([]rule{}, sessionRules...), turnRules...), messageRules...)
	rules := map[string]rule{}
	for _, r := range all {
		rules[r.stream] = r
	}
	for _, f := range vectorFiles(t) {
		r, ok := rules[f.name]
		if !ok || f.rule == "" {
			t.Errorf("stream %s has no rule", f.name)
		}
		delete(rules, f.name)
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r.check(t, f)
		})
	}
	for name := range rules {
		t.Errorf("rule %s has no stream", name)
	}
}

var sessionRules = []rule{
	{"presence-empty", map[int]string{0: ""}, map[string]string{
		"timeline": "[]", "turns": "[]", "permissions": "[]", "errors": "[]", "unknownEvents": "[]", "toolInputJson": "{}",
		"totals":    `{"cache":{"read":0,"write":0},"input":0,"output":0,"reasoning":0}`,
		"sessionId": "", "nativeSessionId": "", "harness": "", "model": "", "resumed": "", "usage": "", "totalCost": "", "ended": "",
	}},
	{"presence-shell", nil, map[string]string{
		"timeline.0":    `{"kind":"message","messageId":"m1","outputIndex":1,"parts":[],"role":"assistant","sessionId":"s","startedAt":1700000000002,"turnId":"t1"}`,
		"turns.0":       `{"errors":[],"startedAt":1700000000001,"status":"active","turnId":"t1"}`,
		"permissions.0": `{"options":[],"requestId":"r1","requestedAt":1700000000003,"title":"Run ls","turnId":"t1"}`,
	}},
	{"presence-meta", nil, map[string]string{
		"_meta": "", "turns.0._meta": "", "timeline.0._meta": "", "errors.0._meta": "",
		"timeline.0.parts.0._meta": `{"x/part":1}`, "timeline.0.parts.0.state._meta": `{"x/state":2}`,
	}},
	{"session-created-alone", map[int]string{3: "session-meta-updated", 4: "session-meta-updated"}, map[string]string{
		"sessionId": `"s"`, "nativeSessionId": `"n2"`, "harness": `"acp"`, "timeline.0.sessionId": `"other"`,
	}},
	{"session-created-sticky", map[int]string{2: "session-meta-updated"}, map[string]string{"model": `"m"`, "resumed": "false"}},
	{"session-ended-stays", map[int]string{1: "session-ended", 2: "session-ended"}, map[string]string{
		"ended": `{"reason":"idle","timestamp":1700000000007}`, "turns.0.status": `"active"`,
	}},
	{"session-usage-sticky", map[int]string{0: "usage-updated", 4: "usage-updated"}, map[string]string{
		"usage": `{"cost":0.5,"size":20,"updatedAt":1700000000004,"used":3}`,
	}},
	{"compaction-merges", map[int]string{0: "compaction-upserted k1", 2: "compaction-upserted k1", 3: "compaction-upserted k1"}, map[string]string{
		"timeline.0": `{"compactionId":"k1","kind":"compaction","postTokens":2,"preTokens":9,"status":"completed","summary":"s","timestamp":1700000000001,"trigger":"manual","turnId":"t2"}`,
		"timeline.1": `{"kind":"message","messageId":"m1","outputIndex":1,"parts":[],"role":"assistant","sessionId":"s","startedAt":1700000000002,"turnId":"t1"}`,
		"timeline.2": "",
	}},
	{"compaction-abstracts-replaced", nil, map[string]string{
		"timeline.0.abstractsIds": `["c"]`, "timeline.1.abstractsIds": "[]", "timeline.2.abstractsIds": "", "timeline.2.compactionId": `"k3"`,
	}},
	{"error-of-known-turn", map[int]string{1: "turn-updated t1", 3: "turn-updated t1"}, map[string]string{
		"errors":           "[]",
		"turns.0.errors.0": `{"category":"network","message":"before","recoverable":true,"timestamp":1700000000002}`,
		"turns.0.errors.1": `{"category":"_mine","message":"after","recoverable":false,"timestamp":1700000000004}`,
		"turns.0.status":   `"ended"`,
	}},
	{"error-of-no-known-turn", map[int]string{0: "session-meta-updated", 1: "session-meta-updated", 2: "session-meta-updated"}, map[string]string{
		"errors.0.message": `"none"`, "errors.1": `{"category":"network","message":"unknown","recoverable":true,"timestamp":1700000000002}`,
		"errors.2.message": `"no session"`, "turns.0.errors": "[]",
	}},
	{"raw-changes-nothing", map[int]string{1: "", 2: ""}, map[string]string{"unknownEvents": "[]"}},
	{"unknown-event-wrapped", map[int]string{0: "unknown-event-recorded", 1: "unknown-event-recorded", 3: "unknown-event-recorded"}, map[string]string{
		"unknownEvents.0": `{"raw":{"position":1,"sessionId":"s","timestamp":1700000000001,"turnId":"t1","type":"turn.queued"},"sessionId":"s","type":"turn.queued"}`,
		"unknownEvents.1": `{"raw":{"position":1,"sessionId":"s","timestamp":1700000000001,"turnId":"t1","type":"turn.queued"},"sessionId":"s","type":"turn.queued"}`,
		"unknownEvents.2": `{"raw":{"raw":{"own":1},"sessionId":7,"timestamp":1700000000002,"type":"x.y"},"type":"x.y"}`,
		"unknownEvents.3": `{"raw":{"type":"bare"},"type":"bare"}`,
		"turns":           "[]",
	}},
}
