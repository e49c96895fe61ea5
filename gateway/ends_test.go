package gateway

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/verify"
)

// unfinished is a session that was cut off: a turn that has ended, and one with
// something open of every kind.
const unfinished = `
{"type":"turn.started","sessionId":"s","turnId":"old","timestamp":1}
{"type":"message.started","sessionId":"s","turnId":"old","messageId":"echo-old","outputIndex":0,"role":"user","timestamp":1}
{"type":"message.ended","sessionId":"s","turnId":"old","messageId":"echo-old","timestamp":1}
{"type":"turn.ended","sessionId":"s","turnId":"old","stopReason":"end_turn","timestamp":1}
{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":2}
{"type":"message.started","sessionId":"s","turnId":"t","messageId":"echo-t","outputIndex":0,"role":"user","timestamp":2}
{"type":"message.ended","sessionId":"s","turnId":"t","messageId":"echo-t","timestamp":2}
{"type":"session.created","sessionId":"s","nativeSessionId":"n","harness":"claude-code","timestamp":2}
{"type":"message.started","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"role":"assistant","timestamp":2}
{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"partIndex":0,"part":{"id":"r","sessionId":"s","messageId":"m1","type":"reasoning","text":"hm","state":"done"},"timestamp":2}
{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"partIndex":1,"part":{"id":"p","sessionId":"s","messageId":"m1","_meta":{"a":1},"type":"text","text":"","state":"streaming"},"timestamp":2}
{"type":"message.part.delta","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"partIndex":1,"partId":"p","delta":{"type":"text","text":"Hel"},"timestamp":2}
{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"partIndex":2,"part":{"id":"q","sessionId":"s","messageId":"m1","type":"reasoning","text":"so","state":"streaming"},"timestamp":2}
{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"partIndex":3,"part":{"id":"c","sessionId":"s","messageId":"m1","type":"tool","toolCallId":"c","toolName":"Bash","state":{"status":"pending","partialInput":"{"}},"timestamp":2}
{"type":"permission.requested","sessionId":"s","turnId":"t","requestId":"r0","title":"x","options":[],"timestamp":2}
{"type":"permission.resolved","sessionId":"s","turnId":"t","requestId":"r0","outcome":{"outcome":"cancelled"},"timestamp":2}
{"type":"permission.requested","sessionId":"s","turnId":"t","requestId":"r1","title":"x","options":[],"timestamp":2}
{"type":"session.compaction","sessionId":"s","turnId":"t","compactionId":"k","status":"in_progress","timestamp":2}
{"type":"session.compaction","sessionId":"s","turnId":"t","compactionId":"k0","status":"completed","timestamp":2}`

// TestMissingEnds: everything that was begun ends, once, in the order of a
// failing turn, with what there is of it.
func TestMissingEnds(t *testing.T) {
	t.Parallel()
	var conv *reducer.Conversation
	v := verify.New(verify.Options{})
	add := func(ev protocol.Event) {
		conv = reducer.Reduce(conv, ev)
		for _, found := range v.AddEvent(ev) {
			t.Errorf("%s: %s", found.Rule, found.Message)
		}
	}
	for text := range strings.Lines(strings.TrimSpace(unfinished)) {
		ev, err := protocol.DecodeEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		add(ev)
	}
	var got []string
	for _, ev := range missingEnds(conv, "s", 9) {
		got = append(got, string(protocol.AppendEvent(nil, ev)))
		add(ev)
	}
	want := strings.Split(strings.TrimSpace(`
{"type":"error","sessionId":"s","turnId":"t","category":"process_exit","message":"the gateway lost the turn before its end","recoverable":false,"timestamp":9}
{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"partIndex":1,"part":{"id":"p","sessionId":"s","messageId":"m1","_meta":{"agent-server/hostDeath":true,"a":1},"type":"text","text":"Hel","state":"done"},"timestamp":9}
{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m1","outputIndex":1,"partIndex":2,"part":{"id":"q","sessionId":"s","messageId":"m1","_meta":{"agent-server/hostDeath":true},"type":"reasoning","text":"so","state":"done"},"timestamp":9}
{"type":"session.compaction","sessionId":"s","turnId":"t","compactionId":"k","status":"failed","timestamp":9}
{"type":"permission.resolved","sessionId":"s","turnId":"t","requestId":"r1","outcome":{"outcome":"cancelled"},"timestamp":9}
{"type":"message.ended","sessionId":"s","turnId":"t","messageId":"m1","timestamp":9}
{"type":"turn.ended","sessionId":"s","turnId":"t","stopReason":"error","error":{"category":"process_exit","message":"the gateway lost the turn before its end"},"timestamp":9,"_meta":{"agent-server/hostDeath":true}}`), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, found := range v.Finish() {
		t.Errorf("at the end: %s: %s", found.Rule, found.Message)
	}
	if again := missingEnds(conv, "s", 10); len(again) != 0 {
		t.Errorf("%d more ends of what has ended", len(again))
	}
	if none := missingEnds(nil, "s", 10); len(none) != 0 {
		t.Errorf("%d ends of nothing", len(none))
	}
}
