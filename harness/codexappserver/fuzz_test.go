package codexappserver

import (
	"bytes"
	"path/filepath"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// FuzzLine gives a running turn any line, twice from the start: no line panics, and
// nothing that was said of it changes with its bytes, which are the reader's.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"method":"item/started","params":{"threadId":"thread-1","turnId":"turn-1","item":{"type":"fileChange","id":"c","changes":[{"path":"/a","kind":{"type":"update"},"diff":"@@\n-a\n+b"}]}}}`))
	f.Add([]byte(`{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"thread-1","itemId":"c","command":"x"}}`))
	f.Add([]byte(`{"method":"turn/completed","params":{"threadId":"thread-1","turn":{"id":"turn-1","status":"failed","error":{"message":"m","codexErrorInfo":{"a":{},"b":{}}}}}}`))
	f.Add([]byte(`{"method":"thread/tokenUsage/updated","params":{"threadId":"thread-1","turnId":"turn-1","tokenUsage":{"total":{"inputTokens":1},"last":{"totalTokens":1}}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		kept := running(t)
		want := kept.tr.Line(bytes.Clone(line))
		lent := running(t)
		own := bytes.Clone(line)
		got := lent.tr.Line(own)
		for i := range own {
			own[i] = 'x'
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the line is kept: %s", diff)
		}
		for _, in := range []harness.Input{harness.Resolve{Request: "0"}, harness.Cancel{}, harness.Dropped{}, harness.Expired{Timer: idleTimer}, harness.Exited{}} {
			kept.tr.Step(in)
		}
	})
}

// BenchmarkDelta is the way of a text delta, the busiest line there is.
func BenchmarkDelta(b *testing.B) {
	tr := newTranslator(Options{}, harness.Launch{Config: config()})
	tr.stage, tr.thread = ready, thread
	tr.turn = &turn{written: true, id: native, in: harness.Begin{Config: config()}}
	line := []byte(`{"method":"item/agentMessage/delta","params":{"threadId":"thread-1","turnId":"turn-1","itemId":"m","delta":"some words "},"emittedAtMs":1796065431105}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if out := tr.Line(line); len(out.Updates) == 0 {
			b.Fatal("nothing was said")
		}
	}
}

// The recordings, line by line, are what the fuzzer knows best.
func TestEveryRecordedLineAlone(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	tr := running(t).tr
	for _, file := range files {
		for _, r := range readRecording(t, file) {
			if r.Dir == "out" {
				tr.Line([]byte(r.Raw))
				tr.Step(harness.Begin{Input: protocol.TextInput("x"), Config: config()})
			}
		}
	}
}
