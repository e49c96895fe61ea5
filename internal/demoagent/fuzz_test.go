package demoagent

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzReceive: whatever line comes, the agent writes whole lines of JSON and
// answers a line at most once, and a turn that it starts ends.
func FuzzReceive(f *testing.F) {
	for _, line := range clientLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "noise") || strings.Contains(line, "deltas") || strings.Contains(line, "flood") {
			return // no JSON, too slow, too much
		}
		var out collector
		opts := Options{Seed: testSeed, Exit: func(int) {}, IgnoreSignals: func() {}}
		ctx, stop := context.WithCancel(context.Background())
		a := newAgent(ctx, &out, &collector{}, opts)
		a.initialized = true
		a.beginSession("", "/workspace")
		a.receive(ctx, input{line: []byte(line)})
		a.withdrawAll()
		stop()
		a.turns.Wait()
		checkAnswers(t, out.take())
	})
}

func checkAnswers(t *testing.T, text string) {
	t.Helper()
	answers := 0
	for _, line := range splitLines(text) {
		if !jsontext.Value(line).IsValid() {
			t.Errorf("not JSON: %q", line)
		}
		if strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`) && !strings.Contains(line, "session/request_permission") {
			answers++
		}
	}
	if answers > 1 {
		t.Errorf("%d answers in %q", answers, text)
	}
}

// clientLines are the raw client lines of all dialogues.
func clientLines(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no dialogues: %v", err)
	}
	var lines []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			raw, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> ")
			if unquoted, err := strconv.Unquote(raw); err == nil {
				raw = unquoted
			}
			if ok {
				lines = append(lines, raw)
			}
		}
	}
	return lines
}
