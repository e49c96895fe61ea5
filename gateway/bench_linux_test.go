package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"agent-server/eventlog"
	"agent-server/harness"
	"agent-server/harness/acp"
	"agent-server/harness/claudecode"
	"agent-server/protocol"
	"agent-server/session"
)

// Lines of one text delta, as the real harnesses write them.
const (
	claudeDelta = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the quick brown fox"}},` +
		`"session_id":"6c1d2f3a-5b0e-4a57-9a4e-0d7c1b2a3f4e","parent_tool_use_id":null,"uuid":"7d2e3f4b-6c1f-4b68-8b5f-1e8d2c3b4a5f"}`
	acpDelta = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"native","update":{"sessionUpdate":"agent_message_chunk",` +
		`"content":{"type":"text","text":" the quick brown fox"}}}}`
)

// claudeScript is what Claude Code says from its start to its first delta.
// %REQUEST% stands for the id of the gateway's first request.
var claudeScript = []string{
	`{"type":"control_response","response":{"subtype":"success","request_id":"%REQUEST%","response":{"current_permission_mode":"default"}}}`,
	`{"type":"system","subtype":"init","session_id":"native","permissionMode":"default"}`,
	`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1","role":"assistant","model":"m","content":[]}},"session_id":"native","parent_tool_use_id":null,"uuid":"u1"}`,
	`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"session_id":"native","parent_tool_use_id":null,"uuid":"u2"}`,
}

var acpScript = []string{
	`{"jsonrpc":"2.0","id":"%REQUEST%","result":{"protocolVersion":1,"agentCapabilities":{}}}`,
	`{"jsonrpc":"2.0","id":"%REQUEST%","result":{"sessionId":"native"}}`,
}

// BenchmarkDelta is the way of one text delta: translator, machine, encoder, log,
// head. Aim: at most 3 µs.
func BenchmarkDelta(b *testing.B) {
	for name, of := range map[string]struct {
		h      harness.Harness
		script []string
		delta  string
	}{
		"claude-code": {claudecode.New(claudecode.Options{}), claudeScript, claudeDelta},
		"acp":         {acp.New(acp.Agent{ID: protocol.HarnessDemo}), acpScript, acpDelta},
	} {
		b.Run(name, func(b *testing.B) {
			s := benchSession(b, of.h)
			s.play(b, append(of.script, of.delta)) // the first delta opens what it stands in
			line := session.NativeLine{Gen: 1, Line: []byte(of.delta)}
			b.ReportAllocs()
			b.SetBytes(int64(len(line.Line)))
			reportCPU(b, func() {
				for b.Loop() {
					out := s.machine.Step(time.Now().UnixMilli(), line)
					records := s.encoder.records(out.Events)
					if len(records) != 1 {
						b.Fatalf("a delta made %d events, %+v", len(records), out.Diagnostics)
					}
					if err := s.append(nil, eventlog.StateBusy, records); err != nil {
						b.Fatal(err)
					}
					s.publish(records)
				}
			})
		})
	}
}

// benchSession is a session with a running turn and no process: what would go to
// one is kept.
func benchSession(b *testing.B, h harness.Harness) *rig {
	g, err := New(Options{Harnesses: []Registration{{Harness: h, Path: os.Args[0]}},
		Log: eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 1 << 40})})
	if err != nil {
		b.Fatal(err)
	}
	s := newSession(g, "session", eventlog.Info{NextSeq: 1})
	s.open(&g.o.Harnesses[0])
	sub := g.Connect(ConnectOptions{})
	s.subscribe(sub)
	r := &rig{Session: s}
	cfg := protocol.RunConfig{Harness: h.Info().ID, Cwd: os.TempDir()}
	r.step(b, session.StartTurn{TurnID: "turn", Input: protocol.TextInput("hello"), Config: cfg})
	return r
}

// rig is a Session whose process is played by the test.
type rig struct {
	*Session
	stdin []byte
}

// step records what the machine says, and keeps what it would write.
func (r *rig) step(b *testing.B, in session.Input) {
	out := r.machine.Step(time.Now().UnixMilli(), in)
	records := r.encoder.records(out.Events)
	if err := r.append(out.Admit, eventlog.StateBusy, records); err != nil {
		b.Fatal(err)
	}
	r.publish(records)
	r.stdin = append(r.stdin, out.Stdin...)
}

// play says a script, answering the machine's requests in order.
func (r *rig) play(b *testing.B, script []string) {
	asked := 0
	for _, text := range script {
		if bytes.Contains([]byte(text), []byte(`"%REQUEST%"`)) {
			text = string(bytes.ReplaceAll([]byte(text), []byte(`"%REQUEST%"`), requestID(b, r.stdin, asked)))
			asked++
		}
		r.step(b, session.NativeLine{Gen: 1, Line: []byte(text)})
	}
}

// requestID is the id of the n-th request on a harness's stdin, as JSON.
func requestID(b *testing.B, stdin []byte, n int) []byte {
	for line := range bytes.Lines(stdin) {
		var m struct {
			ID      json.RawMessage `json:"id"`
			Request json.RawMessage `json:"request_id"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil && m.Request == nil {
			continue
		}
		if n == 0 {
			return append(m.ID, m.Request...)
		}
		n--
	}
	b.Fatalf("the harness was asked too little:\n%s", stdin)
	return nil
}
