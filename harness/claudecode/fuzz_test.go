package claudecode

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

// FuzzLine plays scripts: a line of the CLI each, or, behind an exclamation mark,
// an input of the machine's. Whatever the CLI writes, nothing must panic, what is
// written back must be whole lines of JSON (anything else would end the CLI), a
// turn must end at most once, and nothing be said outside one.
func FuzzLine(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		script, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(script)
	}
	addFixtures(f)
	f.Fuzz(func(t *testing.T, script []byte) {
		d := &driver{t: t, b: newBooks(), tr: New(Options{}).New(harness.Launch{NativeID: "native"}, ids())}
		for line := range bytes.Lines(script) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if word, ok := strings.CutPrefix(string(line), "!"); ok {
				d.input(word)
			} else {
				d.take(d.tr.Line(line))
			}
		}
		for _, fault := range d.b.faults {
			// What a broken CLI may do: other text than it streamed, a message twice.
			if !strings.Contains(fault, "streamed") && !strings.Contains(fault, "twice") && !strings.Contains(fault, "after its end") {
				t.Error(fault)
			}
		}
	})
}

// driver gives a translator the inputs that a machine would.
type driver struct {
	t         *testing.T
	b         *books
	tr        harness.Translator
	cancelled bool
	asked     []string
}

func (d *driver) take(out harness.Output) {
	stdin(d.t, out)
	d.b.take(out)
	for _, u := range out.Updates {
		switch u := u.(type) {
		case harness.Asked:
			if d.cancelled || !d.b.open {
				d.take(d.tr.Step(harness.Resolve{Request: u.Request, Verdict: harness.Verdict{Decision: harness.CancelRequest}}))
				continue
			}
			d.asked = append(d.asked, u.Request)
		case harness.Withdrawn:
			d.asked = nil
		}
	}
}

func (d *driver) input(word string) {
	switch word {
	case "begin":
		if !d.b.open {
			d.b.begin()
			d.cancelled, d.asked = false, nil
			d.take(d.tr.Step(harness.Begin{Turn: "turn", Input: protocol.TextInput("hello")}))
		}
	case "cancel":
		if d.b.open && !d.cancelled {
			d.cancelled, d.asked = true, nil
			d.take(d.tr.Step(harness.Cancel{}))
		}
	case "steer":
		if d.b.open && !d.cancelled {
			d.take(d.tr.Step(harness.Steer{Turn: "other", Input: protocol.TextInput("and that")}))
		}
	case "allow", "always", "deny":
		if len(d.asked) > 0 && d.b.open && !d.cancelled {
			v := harness.Verdict{Decision: map[string]harness.Decision{"allow": harness.Allow, "always": harness.AllowAlways}[word]}
			d.take(d.tr.Step(harness.Resolve{Request: d.asked[0], Verdict: v}))
			d.asked = d.asked[1:]
		}
	case "settle", "handshake":
		d.take(d.tr.Step(harness.Expired{Timer: word}))
	case "dropped":
		d.take(d.tr.Step(harness.Dropped{Bytes: 1}))
	case "exit":
		d.take(d.tr.Step(harness.Exited{Status: harness.ExitStatus{Code: 1}}))
	}
}

// The seeds are whole turns: they must get through without a remark of the
// driver's, and say what they are for.
func TestSeedsReachTheirEnd(t *testing.T) {
	t.Parallel()
	for file, ends := range map[string]int{"text": 1, "tool": 1, "subagent": 1, "trouble": 1, "background": 2} {
		script, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		d := &driver{t: t, b: newBooks(), tr: New(Options{}).New(harness.Launch{NativeID: "native"}, ids())}
		for line := range strings.Lines(string(script)) {
			line = strings.TrimSuffix(line, "\n")
			if word, ok := strings.CutPrefix(line, "!"); ok {
				d.input(word)
			} else {
				d.take(d.tr.Line([]byte(line)))
			}
		}
		if d.b.finished != ends || len(d.b.faults) > 0 {
			t.Errorf("%s: %d ends, %v", file, d.b.finished, d.b.faults)
		}
	}
}
