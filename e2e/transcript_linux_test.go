package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// transcriptsVar names the folder that keeps what CLIs read and wrote; unset keeps nothing.
const transcriptsVar = "AGENT_SERVER_E2E_TRANSCRIPTS"

// transcript writes one file a process: JSON lines with dir (meta, in, out, err) and raw,
// the text of one line as it was. There is no time in it, so that two runs can be compared.
type transcript struct {
	mu   sync.Mutex
	file *os.File // nil when nothing is kept
}

// newTranscript begins a file named like the test; a second process gets a second file.
func newTranscript(t *testing.T, c command) *transcript {
	t.Helper()
	dir := os.Getenv(transcriptsVar)
	if dir == "" {
		return &transcript{}
	}
	name := strings.ReplaceAll(t.Name(), "/", "_")
	file, err := os.CreateTemp(dir, name+"-*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := &transcript{file: file}
	t.Cleanup(func() { file.Close() })
	r.add("meta", []byte(filepath.Base(c.path)+" "+strings.Join(c.args, " ")))
	return r
}

// add writes a row. A row that cannot be written is lost: the record is for reading only.
func (r *transcript) add(dir string, raw []byte) {
	if r.file == nil || len(raw) == 0 {
		return
	}
	row := map[string]string{"dir": dir, "raw": strings.TrimSuffix(string(raw), "\n")}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = json.NewEncoder(r.file).Encode(row)
}
