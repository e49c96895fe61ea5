package acp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// addFixtures seeds a fuzz target of lines with what was recorded.
func addFixtures(f *testing.F) {
	files, err := filepath.Glob("../../fixtures/demo/*/native.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings to begin from: %v", err)
	}
	for _, file := range files {
		rows, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(rows) {
			var row struct{ Dir, Line string }
			if err := json.Unmarshal(line, &row); err != nil {
				f.Fatalf("%s: %v", file, err)
			}
			if row.Dir == "stdout" {
				f.Add([]byte(row.Line))
			}
		}
	}
}
