package harnesstest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/harness/acp"
	"agent-server/protocol"
)

// broken is a harness whose translators do one thing wrong.
type broken struct {
	harness.Harness
	line func(inner harness.Translator, line []byte) harness.Output
	step func(inner harness.Translator, in harness.Input) harness.Output
}

type brokenTranslator struct {
	*broken
	inner harness.Translator
}

func (b *broken) New(l harness.Launch, newID func() string) harness.Translator {
	return &brokenTranslator{b, b.Harness.New(l, newID)}
}

func (b *brokenTranslator) Line(line []byte) harness.Output {
	if b.line != nil {
		return b.line(b.inner, line)
	}
	return b.inner.Line(line)
}

func (b *brokenTranslator) Step(in harness.Input) harness.Output {
	if b.step != nil {
		return b.step(b.inner, in)
	}
	return b.inner.Step(in)
}

// changing is a translator's Line with its output changed.
func changing(change func(*harness.Output)) func(harness.Translator, []byte) harness.Output {
	return func(inner harness.Translator, line []byte) harness.Output {
		out := inner.Line(line)
		change(&out)
		return out
	}
}

// What an adapter may do wrong, the suite finds.
func TestTheSuiteFinds(t *testing.T) {
	t.Parallel()
	var kept []byte
	for want, b := range map[string]*broken{
		"panic": {line: func(inner harness.Translator, line []byte) harness.Output {
			if !json.Valid(line) {
				panic("of a line that is cut")
			}
			return inner.Line(line)
		}},
		"half a line": {line: changing(func(out *harness.Output) {
			if len(out.Stdin) > 0 {
				out.Stdin = out.Stdin[:len(out.Stdin)-1]
			}
		})},
		"no object":   {line: changing(func(out *harness.Output) { out.Stdin = append(out.Stdin, "\n"...) })},
		"has no name": {line: changing(func(out *harness.Output) { out.Timers = append(out.Timers, harness.Timer{After: time.Second}) })},
		"has a detail": {line: changing(func(out *harness.Output) {
			out.Diagnostics = []harness.Diagnostic{{Message: "odd", Detail: strings.Repeat("x", 500)}}
		})},
		"call has no id": {line: changing(func(out *harness.Output) { out.Updates = append(out.Updates, harness.ToolSet{Name: "Bash"}) })},
		"call has no id: ": {line: func(inner harness.Translator, line []byte) harness.Output {
			before := kept
			kept = line
			if len(before) > 0 && before[0] == 'X' {
				return harness.Output{Updates: []harness.Update{harness.ToolSet{}}}
			}
			return inner.Line(line)
		}},
	} {
		b.Harness = acp.New(acp.Agent{ID: protocol.HarnessDemo})
		if faults := allFaults(t, Subject{Harness: b}); !strings.Contains(faults, want) {
			t.Errorf("want %q, found %.500s", want, faults)
		}
	}
}

// allFaults are those of one recording.
func allFaults(t *testing.T, s Subject) string {
	t.Helper()
	native, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "demo", "tool_ok", "native.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecording("tool_ok", native)
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, c := range s.cases(r) {
		if faults = append(faults, s.run(r, c).faults...); len(faults) > 40 {
			break
		}
	}
	return strings.Join(faults, "\n")
}

// A sound adapter has none.
func TestTheSuiteFindsNothingWrong(t *testing.T) {
	t.Parallel()
	if faults := allFaults(t, Subject{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo})}); faults != "" {
		t.Error(faults)
	}
}
