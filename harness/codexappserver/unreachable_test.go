package codexappserver

import (
	"path/filepath"
	"testing"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
)

// What Codex was recorded to write while nobody listened at its provider's address
// starts the clock.
func TestRecordedUnreachableProvider(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(recordings, "19_err_provider_down.jsonl"))
	if len(files) == 0 {
		t.Skip("no recordings here")
	}
	f := running(t)
	for _, r := range readRecording(t, files[0]) {
		m, err := rpcline.Parse([]byte(r.Raw))
		if r.Dir != "out" || err != nil || m.Method != "error" {
			continue
		}
		p := rpcline.Read[params](m.Params)
		f.tell("error", `"willRetry":true,"error":`+string(p.Error))
		if n := last[harness.Notice](f); n.Category != protocol.CategoryNetwork {
			t.Errorf("%s is %+v", p.Error, n)
		}
	}
	if f.timers[unreachableTimer].After == 0 {
		t.Errorf("no clock runs: %v", f.timers)
	}
}
