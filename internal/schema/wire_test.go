package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/protocol"
)

// row is one line of a wire script: what a client sends, or what it is sent.
type row struct{ In, Out json.RawMessage }

// message is as much of a JSON-RPC message as it takes to pair calls with answers.
type message struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct{ Code protocol.Code }
}

// TestWireScripts holds the messages' schema to the golden dialogues: what is sent is
// valid, a call that succeeded was, and its result is that of its method.
func TestWireScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/fixtures/wire/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d wire scripts, %v", len(files), err)
	}
	valid, request, responses := judgeOf(t, Methods(), "Message"), judgeOf(t, Methods(), "Request"), map[string]judge{}
	for method, title := range titles {
		responses[method] = judgeOf(t, Methods(), title+"Response")
	}
	succeeded := map[string]int{}
	for _, file := range files {
		calls := map[string]json.RawMessage{}
		for _, r := range rows(t, file) {
			var in, m message
			if json.Unmarshal(r.In, &in) == nil && in.ID != nil {
				calls[string(in.ID)] = r.In
			}
			if json.Unmarshal(r.Out, &m) != nil {
				continue // a row of the client's
			}
			if err := valid(r.Out); err != nil {
				t.Errorf("%s: %v\n%s", file, err, r.Out)
			}
			call := calls[string(m.ID)]
			if m.Result == nil || call == nil {
				continue
			}
			if err := request(call); err != nil {
				t.Errorf("%s: a call that succeeded: %v\n%s", file, err, call)
			}
			var of message
			if err := json.Unmarshal(call, &of); err != nil {
				t.Fatal(err)
			}
			succeeded[of.Method]++
			if err := responses[of.Method](r.Out); err != nil {
				t.Errorf("%s: the answer to %s: %v\n%s", file, of.Method, err, r.Out)
			}
		}
	}
	for method := range titles {
		if succeeded[method] == 0 {
			t.Errorf("no script has a call of %s that succeeds", method)
		}
	}
}

// rows are the lines of a script, placeholders filled. One that stands for any object
// says nothing of its shape, so what is sent with one is left out.
func rows(t *testing.T, file string) []row {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer(`"$time"`, "1800000000000", `"$int"`, "1")
	var all []row
	for line := range bytes.Lines(body) {
		var r row
		if err := json.Unmarshal([]byte(fill.Replace(string(line))), &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if bytes.Contains(r.Out, []byte(`"$part"`)) {
			continue
		}
		all = append(all, r)
	}
	return all
}
