package echo_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/echo"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the goldens; the diff is the review")

// turnFile is a testdata/*.turn.json: what a turn was started with.
type turnFile struct {
	SessionID string          `json:"sessionId"`
	TurnID    string          `json:"turnId"`
	Model     *string         `json:"model"`
	Input     json.RawMessage `json:"input"`
	Timestamp int64           `json:"timestamp"`
}

// spec reads a turn file with the wire's own decoder of inputs.
func spec(t *testing.T, path string) echo.Spec {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f turnFile
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	in, err := protocol.DecodeInput(f.Input)
	if err != nil {
		t.Fatal(err)
	}
	return echo.Spec{SessionID: f.SessionID, TurnID: f.TurnID, Model: f.Model, Input: in, Timestamp: f.Timestamp}
}

// The echo is what stands in testdata, byte for byte, and each of its events
// passes the strict decoder of a base client.
func TestGolden(t *testing.T) {
	t.Parallel()
	turns, err := filepath.Glob(filepath.Join("testdata", "*.turn.json"))
	if err != nil || len(turns) == 0 {
		t.Fatalf("no turns in testdata (%v)", err)
	}
	for _, path := range turns {
		golden := strings.TrimSuffix(path, ".turn.json") + ".events.jsonl"
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			var got []byte
			for _, ev := range echo.Events(spec(t, path)) {
				raw := protocol.AppendEvent(nil, ev)
				if _, err := protocol.DecodeEventBase(raw); err != nil {
					t.Errorf("a base client refuses %s: %v", raw, err)
				}
				got = append(append(got, raw...), '\n')
			}
			compareGolden(t, golden, got)
		})
	}
}

// compareGolden holds got to the file's bytes, or rewrites the file.
func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s (-want +got):\n%s", path, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}
