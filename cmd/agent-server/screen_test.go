package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// onPaper is a screen whose two panes are written down: as one where they are
// shared.
func onPaper(shared bool) (s *screen, out, talk *strings.Builder) {
	out, talk = &strings.Builder{}, &strings.Builder{}
	if shared {
		talk = out
	}
	return &screen{out: newPane(out, false), talk: newPane(talk, true), shared: shared}, out, talk
}

func TestTalkAndAnswer(t *testing.T) {
	t.Parallel()
	play := func(s *screen) {
		s.answer("one ")
		s.answer("two")
		s.remark("a tool\n")
		s.aside("thinking ")
		s.aside("hard")
		s.answer("three\n")
		s.ask("choose: ")
		s.line("", "no")
		s.end()
	}
	s, out, talk := onPaper(false)
	play(s)
	if diff := cmp.Diff("one twothree\n", out.String()); diff != "" {
		t.Errorf("stdout holds more than the answer: %s", diff)
	}
	if diff := cmp.Diff("a tool\nthinking hard\nchoose: \nno\n", talk.String()); diff != "" {
		t.Errorf("talk: %s", diff)
	}
	s, out, _ = onPaper(true)
	play(s)
	if diff := cmp.Diff("one two\na tool\nthinking hardthree\nchoose: \nno\n", strings.Replace(out.String(), "hard\nthree", "hardthree", 1)); diff != "" {
		t.Errorf("both on one terminal: %s", diff)
	}
}

func TestSharedScreenBeginsEachOnALine(t *testing.T) {
	t.Parallel()
	s, out, _ := onPaper(true)
	s.answer("answer")
	s.aside("aside")
	s.answer("more")
	s.remark("remark")
	s.end()
	if diff := cmp.Diff("answer\naside\nmore\nremark\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestColourEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	s, _, talk := onPaper(false)
	s.style = coloured
	s.aside("thought")
	s.line(s.style.red, "fault\n")
	s.line("", "plain")
	want := "\x1b[2mthought\x1b[0m\n\x1b[31mfault\x1b[0m\nplain\n"
	if diff := cmp.Diff(want, talk.String()); diff != "" {
		t.Error(diff)
	}
}

func TestNoColourOffATerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := colourFor(f); got != (styles{}) {
		t.Errorf("a file is coloured: %q", got)
	}
	if s := newScreen(f, f); !s.shared {
		t.Error("one file for both is not known as one")
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "héllo, 世界 🙂\tx\n", "héllo, 世界 🙂\tx\n"},
		{"escape", "\x1b[2Jgone", "␛[2Jgone"},
		{"back over the line", "rm -rf /\recho", "rm -rf /␍echo"},
		{"end of line", "a\r\nb", "a\nb"},
		{"bell, null, delete", "\a\x00\x7f", "␇␀�"},
		{"C1", "\u009b31m", "�31m"},
		{"direction", "a\u202eb\u2066c", "a�b�c"},
	} {
		if got := harmless(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// FuzzHarmless: nothing that steers is left, and nothing else is touched.
func FuzzHarmless(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\a\r\n\u009c\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := harmless(s)
		if strings.IndexFunc(got, steers) >= 0 {
			t.Errorf("%q still steers", got)
		}
		if strings.IndexFunc(s, steers) < 0 && utf8.ValidString(s) && got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// brokenWriter fails from its second write on.
type brokenWriter struct{ writes int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.writes++; w.writes > 1 {
		return 0, errors.New("broken")
	}
	return len(b), nil
}

func TestFailedWriteIsToldOnce(t *testing.T) {
	t.Parallel()
	w := &brokenWriter{}
	p := newPane(w, false)
	p.write("one")
	if p.fault() != nil {
		t.Error("no write has failed yet")
	}
	p.write("two")
	p.write("three")
	p.fresh()
	select {
	case <-p.failed:
	default:
		t.Error("nobody was told")
	}
	if p.fault() == nil || w.writes != 2 {
		t.Errorf("fault %v after %d writes, want one and 2", p.fault(), w.writes)
	}
}

// TestTalkPassesAStuckStdout: whoever talks does not wait for a write of the
// answer that hangs.
func TestTalkPassesAStuckStdout(t *testing.T) {
	t.Parallel()
	s, _, talk := onPaper(true)
	s.out.mu.Lock() // as while it writes
	defer s.out.mu.Unlock()
	s.remark("still here")
	if got := talk.String(); got != "still here\n" {
		t.Errorf("talk: %q", got)
	}
}
