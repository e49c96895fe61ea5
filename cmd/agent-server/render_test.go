package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/protocol"
)

// shown renders events, each given as JSON without sessionId, turnId and
// timestamp.
func shown(t *testing.T, r *renderer, events ...string) {
	t.Helper()
	for i, body := range events {
		raw := `{"sessionId":"s","turnId":"t","timestamp":1,` + body[1:]
		ev, err := protocol.DecodeEvent([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		r.envelope(protocol.Envelope{SessionID: "s", Seq: int64(i + 1), Event: ev})
	}
	r.end()
}

func opens(message string, more string) string {
	return `{"type":"message.started","messageId":"` + message + `","outputIndex":1,"role":"assistant"` + more + `}`
}

// snapshot is a message.part; part leaves out id, sessionId and messageId.
func snapshot(message, id, part string) string {
	return `{"type":"message.part","messageId":"` + message + `","outputIndex":1,"partIndex":0,"part":{"id":"` + id +
		`","sessionId":"s","messageId":"` + message + `",` + part[1:] + `}`
}

func delta(message, id, kind, text string) string {
	return `{"type":"message.part.delta","messageId":"` + message + `","outputIndex":1,"partIndex":0,"partId":"` + id +
		`","delta":{"type":"` + kind + `","text":"` + text + `"}}`
}

func TestRendering(t *testing.T) {
	t.Parallel()
	tool := func(state string) string {
		return snapshot("m", "p", `{"type":"tool","toolCallId":"c","toolName":"edit","title":"Edit x","state":`+state+`}`)
	}
	const span = `"time":{"start":1,"end":2}`
	for _, c := range []struct {
		name      string
		events    []string
		out, talk string
	}{
		{"a text streams, and its snapshot adds the rest",
			[]string{opens("m", ""), snapshot("m", "p", `{"type":"text","text":"","state":"streaming"}`), delta("m", "p", "text", "one "),
				snapshot("m", "p", `{"type":"text","text":"one two","state":"streaming"}`), delta("m", "p", "text", " three"),
				snapshot("m", "p", `{"type":"text","text":"one two three","state":"done"}`)}, "one two three\n", ""},
		{"each part begins a line",
			[]string{opens("m", ""), snapshot("m", "p", `{"type":"text","text":"one"}`), snapshot("m", "q", `{"type":"text","text":"two"}`)}, "one\ntwo\n", ""},
		{"the same id in two messages",
			[]string{opens("m", ""), snapshot("m", "p", `{"type":"text","text":"one"}`), opens("n", ""), snapshot("n", "p", `{"type":"text","text":"one"}`)}, "one\none\n", ""},
		{"a user's message is not repeated",
			[]string{strings.Replace(opens("m", ""), "assistant", "user", 1), snapshot("m", "p", `{"type":"text","text":"hi","state":"done"}`)}, "", ""},
		{"reasoning is talk",
			[]string{opens("m", ""), snapshot("m", "p", `{"type":"reasoning","text":"","state":"streaming"}`), delta("m", "p", "reasoning", "hm"),
				snapshot("m", "p", `{"type":"reasoning","text":"hm.","state":"done"}`)}, "", "hm.\n"},
		{"a sub-agent's text is talk",
			[]string{opens("m", `,"parentToolCallId":"c"`), snapshot("m", "p", `{"type":"text","text":"sub"}`), delta("m", "p", "text", "agent")}, "", "subagent\n"},
		{"a part before its message",
			[]string{snapshot("m", "p", `{"type":"text","text":"early"}`)}, "early\n", ""},
		{"a tool's card at each status, once",
			[]string{opens("m", ""), tool(`{"status":"pending","partialInput":""}`), tool(`{"status":"in_progress","input":{},"time":{"start":1}}`),
				tool(`{"status":"in_progress","input":{},"time":{"start":1}}`), tool(`{"status":"failed","input":{},"error":"no\n",` + span + `}`)},
			"", "* edit: Edit x\nx edit: Edit x\n  no\n"},
		{"a diff",
			[]string{opens("m", ""), tool(`{"status":"completed","input":{},"output":"","content":[{"type":"diff","path":"x","oldText":"a\nb\n","newText":"a\nc\n"}],` + span + `}`)},
			"", "+ edit: Edit x\n  x: 1 added, 1 removed\n   a\n  -b\n  +c\n"},
		{"a new file",
			[]string{opens("m", ""), tool(`{"status":"completed","input":{},"output":"ok","content":[{"type":"diff","path":"x","newText":"a"}],` + span + `}`)},
			"", "+ edit: Edit x\n  x: 1 added, 0 removed\n  +a\n  ok\n"},
		{"an open tool at the turn's end",
			[]string{`{"type":"turn.started"}`, opens("m", ""), tool(`{"status":"in_progress","input":{},"time":{"start":1}}`), `{"type":"turn.ended","stopReason":"cancelled"}`},
			"", "* edit: Edit x\n- edit: Edit x (cancelled)\nturn ended: cancelled\n"},
		{"what a terminal cannot show",
			[]string{opens("m", ""), snapshot("m", "i", `{"type":"image","data":"AA==","mimeType":"image/png"}`), snapshot("m", "i", `{"type":"image","data":"AA==","mimeType":"image/png"}`),
				snapshot("m", "f", `{"type":"file","url":"u","mimeType":"text/plain"}`), snapshot("m", "u", `{"type":"hologram"}`)},
			"", "[image image/png]\n[file text/plain]\n[part of type hologram]\n"},
		{"faults", []string{`{"type":"error","category":"rate_limit","message":"slow","recoverable":true}`, `{"type":"error","category":"auth","message":"key","recoverable":false}`},
			"", "! rate_limit: slow (it goes on)\n! auth: key\n"},
		{"a compaction", []string{`{"type":"session.compaction","compactionId":"k","status":"in_progress"}`, `{"type":"session.compaction","compactionId":"k","status":"completed"}`},
			"", "compaction of the context: in progress\ncompaction of the context: completed\n"},
		{"what it took", []string{`{"type":"turn.ended","stopReason":"end_turn","tokens":{"input":5,"output":7,"cache":{"read":1,"write":2}},"cost":0.01234}`},
			"", "tokens: 5 in, 7 out; cache: 1 read, 2 written; cost: $0.0123\n"},
		{"a session that was not resumed", []string{`{"type":"session.created","nativeSessionId":"n","harness":"acp","resumed":false}`},
			"", "! the session could not be resumed: this is a new one, without its context\nsession n of acp\n"},
		{"an unknown event", []string{`{"type":"hologram.started"}`}, "", ""},
	} {
		s, out, talk := onPaper(false)
		shown(t, newRenderer(s, false, true), c.events...)
		if diff := cmp.Diff(c.out, out.String()); diff != "" {
			t.Errorf("%s: stdout: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.talk, talk.String()); diff != "" {
			t.Errorf("%s: stderr: %s", c.name, diff)
		}
	}
}

func TestRenderingAsData(t *testing.T) {
	t.Parallel()
	s, out, talk := onPaper(false)
	shown(t, newRenderer(s, true, false), `{"type":"turn.started"}`, `{"type":"hologram.started","x":1}`)
	want := `{"sessionId":"s","seq":1,"event":{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":1}}` + "\n" +
		`{"sessionId":"s","seq":2,"event":{"sessionId":"s","turnId":"t","timestamp":1,"type":"hologram.started","x":1}}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" || talk.Len() > 0 {
		t.Errorf("%s\nstderr: %s", diff, talk)
	}
}

// BenchmarkRenderDelta: what a delta costs beyond its write.
func BenchmarkRenderDelta(b *testing.B) {
	for name, json := range map[string]bool{"text": false, "json": true} {
		b.Run(name, func(b *testing.B) {
			s := &screen{out: newPane(discard{}, false), talk: newPane(discard{}, true)}
			r := newRenderer(s, json, false)
			ev := &protocol.MessagePartDelta{SessionID: "s", TurnID: "t", MessageID: "m", PartID: "p", Delta: &protocol.TextDelta{Text: "three letters "}}
			part := &protocol.TextPart{PartHead: protocol.PartHead{ID: "p", SessionID: "s", MessageID: "m"}}
			r.envelope(protocol.Envelope{SessionID: "s", Seq: 1, Event: &protocol.MessagePart{SessionID: "s", TurnID: "t", MessageID: "m", Part: part}})
			b.ReportAllocs()
			for i := range b.N {
				r.envelope(protocol.Envelope{SessionID: "s", Seq: int64(i + 2), Event: ev})
			}
		})
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error)       { return len(b), nil }
func (discard) WriteString(s string) (int, error) { return len(s), nil }
