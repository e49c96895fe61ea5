package claudecode

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// scripts are the seeds of the fuzz test: small whole turns.
func scripts(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, name := range []string{"text", "tool", "subagent", "trouble", "background"} {
		script, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		found[name] = strings.Split(strings.TrimSuffix(string(script), "\n"), "\n")
	}
	return found
}

// playScript gives a script to a new translator; see sees each output, and the
// bytes that the line stood in.
func playScript(lines []string, see func(out harness.Output, line []byte)) {
	tr := New(Options{}).New(harness.Launch{NativeID: "native"}, ids())
	var asked string
	for _, line := range lines {
		var out harness.Output
		room := []byte(line)
		switch word, input := strings.CutPrefix(line, "!"); {
		case !input:
			out = tr.Line(room)
		case word == "begin":
			out = tr.Step(harness.Begin{Turn: "turn", Input: protocol.TextInput("hello")})
		case word == "cancel":
			out = tr.Step(harness.Cancel{})
		case word == "steer":
			out = tr.Step(harness.Steer{Turn: "other", Input: protocol.TextInput("and that")})
		case word == "always":
			out = tr.Step(harness.Resolve{Request: asked, Verdict: harness.Verdict{Decision: harness.AllowAlways}})
		case word == "deny":
			out = tr.Step(harness.Resolve{Request: asked})
		}
		for _, u := range out.Updates {
			if a, ok := u.(harness.Asked); ok {
				asked = a.Request
			}
		}
		see(out, room)
	}
}

// collected are the outputs of a script as JSON, taken when they came.
func collected(t *testing.T, lines []string) []string {
	t.Helper()
	var all []string
	playScript(lines, func(out harness.Output, _ []byte) { all = append(all, spell(t, out)) })
	return all
}

func spell(t *testing.T, out harness.Output) string {
	t.Helper()
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Law 72: the bytes of a line are the reader's: it fills them with the next one.
func TestLaw72_lineIsNotKept(t *testing.T) {
	t.Parallel()
	for name, lines := range scripts(t) {
		var kept []harness.Output
		playScript(lines, func(out harness.Output, room []byte) {
			for i := range room {
				room[i] = 'X'
			}
			kept = append(kept, out)
		})
		var got []string
		for _, out := range kept {
			got = append(got, spell(t, out))
		}
		if diff := cmp.Diff(collected(t, lines), got); diff != "" {
			t.Errorf("%s: outputs changed with the line's bytes (-before +after):\n%s", name, diff)
		}
	}
}

// An output is its taker's: no later call changes it.
func TestOutputsStayAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, lines := range scripts(t) {
		var outs []harness.Output
		var before []string
		playScript(lines, func(out harness.Output, _ []byte) {
			outs = append(outs, out)
			before = append(before, spell(t, out))
		})
		for i, out := range outs {
			if now := spell(t, out); now != before[i] {
				t.Errorf("%s: output %d was\n%s\nand is now\n%s", name, i, before[i], now)
			}
		}
	}
}

// Law 73: a session can be replayed. The same lines and ids give the same outputs.
func TestLaw73_sameOutputs(t *testing.T) {
	t.Parallel()
	for name, lines := range scripts(t) {
		want := collected(t, lines)
		for range 5 {
			if diff := cmp.Diff(want, collected(t, lines)); diff != "" {
				t.Fatalf("%s (-first +again):\n%s", name, diff)
			}
		}
	}
}

// Two processes share nothing.
func TestTranslatorsAreIndependent(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	a := h.New(harness.Launch{NativeID: "a"}, ids()).(*translator)
	b := h.New(harness.Launch{NativeID: "b"}, ids()).(*translator)
	beginHello(a, protocol.RunConfig{})
	feed(a, greeted, started, messageStart("m"))
	if b.turn != nil || b.greeted || b.stream != nil {
		t.Error("one translator's turn is another's")
	}
	info := h.Info()
	info.PassEnv[0] = "changed"
	if h.Info().PassEnv[0] == "changed" {
		t.Error("the list of variables is shared")
	}
}

// Every handler has to stand what is hardly a line of its type.
func TestHandlersStandBareLines(t *testing.T) {
	t.Parallel()
	var lines []string
	for name := range lineHandlers {
		lines = append(lines, `{"type":"`+name+`"}`)
	}
	for name := range systemHandlers {
		lines = append(lines, `{"type":"system","subtype":"`+name+`"}`)
	}
	for _, event := range []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "error"} {
		lines = append(lines, streamEvent(`{"type":"`+event+`"}`))
	}
	for _, line := range lines {
		for name, tr := range map[string]*translator{
			"fresh": fresh(t, protocol.RunConfig{}),
			"held": func() *translator {
				tr := fresh(t, protocol.RunConfig{})
				beginHello(tr, protocol.RunConfig{})
				return tr
			}(),
			"running":   running(t),
			"streaming": streaming(t),
			"between":   between(t, protocol.RunConfig{}),
		} {
			b := newBooks()
			b.open = tr.turn != nil
			b.take(feed(tr, line, line))
			for _, fault := range b.faults {
				t.Errorf("%s, %s: %s", name, line, fault)
			}
		}
	}
}
