package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/protocol"
)

func TestInputLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"absent", ``, nil},
		{"nothing in it", `{}`, nil},
		{"a member a line, in order", `{"command":"ls -l","timeout":5,"deep":{"a":[1,2]}}`,
			[]string{"command: ls -l", "timeout: 5", `deep: {"a":[1,2]}`}},
		{"a text as it reads", `{"old":"a \"b\"\n","new":"x\ny\n"}`, []string{`old: a "b"`, "new:", "  x", "  y"}},
		{"no object", `"x"`, []string{`"x"`}},
	} {
		if diff := cmp.Diff(c.want, inputLines(protocol.Object(c.in))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestInputIsShownToItsEnd: what is long is not cut where consent is asked for;
// what is far too long says so.
func TestInputIsShownToItsEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000) + "; rm -rf ~"
	got := inputLines(protocol.Object(`{"command":"` + long + `"}`))
	if len(got) != 1 || !strings.HasSuffix(got[0], "rm -rf ~") {
		t.Errorf("the end of a long command is not shown: %.40q…", got)
	}
	got = inputLines(protocol.Object(`{"text":"` + strings.Repeat(`x\n`, 10*inputMax) + `"}`))
	if last := got[len(got)-1]; !strings.Contains(last, "more lines") {
		t.Errorf("what is cut off is not said: %q", last)
	}
}
