package claudecode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// addFixtures seeds a fuzz target of scripts with what was recorded: a script a
// recording, its inputs between the CLI's own lines.
func addFixtures(f *testing.F) {
	files, err := filepath.Glob("../../fixtures/claude-code/*/native.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings to begin from: %v", err)
	}
	words := map[string]string{"start": "!begin\n", "cancel": "!cancel\n", "resolve": "!allow\n", "exit": "!exit\n"}
	for _, file := range files {
		rows, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var script []byte
		for line := range bytes.Lines(rows) {
			var row struct{ Dir, Line string }
			if err := json.Unmarshal(line, &row); err != nil {
				f.Fatalf("%s: %v", file, err)
			}
			if row.Dir == "stdout" {
				script = append(append(script, row.Line...), '\n')
			}
			script = append(script, words[row.Dir]...)
		}
		f.Add(script)
	}
}
