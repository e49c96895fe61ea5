package process

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnread: what a child had not read when it died is known to the byte, wherever
// it lay: in the pipe, in the queue, or half in each.
func TestUnread(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ read, written int }{{0, 0}, {0, 6}, {6, 6}, {1, 6}, {0, 1 << 20}, {100_000, 1 << 20}, {1 << 20, 1 << 20}} {
		t.Run(fmt.Sprintf("%d of %d", tc.read, tc.written), func(t *testing.T) {
			t.Parallel()
			rec := newRecorder()
			p := start(t, rec, "sip", nil, strconv.Itoa(tc.read))
			if tc.written > 0 {
				half := append(bytes.Repeat([]byte("x"), tc.written/2-1), '\n')
				for range 2 {
					if err := p.Write(half); err != nil {
						t.Fatal(err)
					}
				}
			}
			rec.waitLines(t, 1)
			syscall.Kill(p.PID(), syscall.SIGKILL)
			if got := end(t, p, rec).Unread; got != int64(tc.written-tc.read) {
				t.Errorf("%d bytes are unread, want %d", got, tc.written-tc.read)
			}
		})
	}
}

// TestUnreadIsNotGuessed: who may still read makes it unknown.
func TestUnreadIsNotGuessed(t *testing.T) {
	t.Parallel()
	t.Run("a descendant has the pipe", func(t *testing.T) {
		t.Parallel()
		rec := newRecorder()
		p := start(t, rec, "fork", func(s *Spec) { s.Ladder = quick }, "deaf")
		if err := p.Write([]byte("prompt\n")); err != nil {
			t.Skip("the child was gone already")
		}
		if got := end(t, p, rec).Unread; got != 0 {
			t.Errorf("%d bytes are unread, and somebody could have read them", got)
		}
	})
	t.Run("stdin was closed before", func(t *testing.T) {
		t.Parallel()
		rec := newRecorder()
		p := start(t, rec, "sip", func(s *Spec) { s.Ladder = quick }, "0")
		if err := p.Write([]byte("prompt\n")); err != nil {
			t.Fatal(err)
		}
		rec.waitLines(t, 1)
		p.Stop()
		if got := end(t, p, rec).Unread; got != 0 {
			t.Errorf("%d bytes are unread", got)
		}
	})
}

// TestUnreadByNobody: one that has closed its stdin and lives on will not read.
func TestUnreadByNobody(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "closestdin", func(s *Spec) { s.Ladder = quick })
	rec.waitLines(t, 1)
	if err := p.Write([]byte("prompt\n")); err != nil {
		t.Fatal(err)
	}
	if got := end(t, p, rec); got.Unread != 7 || got.Err == nil {
		t.Errorf("status %+v", got)
	}
}

// TestLaw124_muteChildIsStopped: one that can say nothing more does not stay; where it
// goes by itself in time that is no fault.
func TestLaw124_muteChildIsStopped(t *testing.T) {
	t.Parallel()
	soon := quick
	soon.AfterEOF, soon.AfterClose = 10*time.Millisecond, patience
	for name, args := range map[string][]string{"politely": nil, "by force": {"stubborn"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ladder := soon
			if args != nil {
				ladder.AfterClose = quick.AfterClose
			}
			rec := newRecorder()
			p := start(t, rec, "mute", func(s *Spec) { s.Ladder = ladder }, args...)
			st := end(t, p, rec)
			if st.Stopped || st.Err == nil || !strings.Contains(st.Err.Error(), "closed its stdout") {
				t.Errorf("status %+v", st)
			}
		})
	}
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		ladder := quick
		ladder.AfterEOF = patience
		rec := newRecorder()
		p := start(t, rec, "mute", func(s *Spec) { s.Ladder = ladder })
		rec.waitLines(t, 1)
		p.CloseStdin()
		if st := end(t, p, rec); st.Err != nil || st.Code != 0 {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("stopped while it is waited for", func(t *testing.T) {
		t.Parallel()
		ladder := quick
		ladder.AfterEOF, ladder.AfterClose = patience, patience
		rec := newRecorder()
		p := start(t, rec, "mute", func(s *Spec) { s.Ladder = ladder })
		rec.waitLines(t, 1)
		p.Stop()
		if st := end(t, p, rec); st.Err != nil || !st.Stopped {
			t.Errorf("status %+v", st)
		}
	})
}

// TestOneWalkForAll: an adopter looks for every family in one and the same table, and
// an old one takes nothing from who knows better.
func TestOneWalkForAll(t *testing.T) {
	var all []*family
	for i := range 50 {
		f := newFamily(1<<30+i, t.Name()+strconv.Itoa(i)) // numbers that no process has
		defer f.close()
		all = append(all, f)
	}
	old := processTable()
	adoptAll()
	first := all[0].seen
	for _, f := range all {
		if f.seen.IsZero() || f.seen != first {
			t.Fatalf("a family was looked for at %v, another at %v", f.seen, first)
		}
	}
	all[0].known[1] = 1
	all[0].adopt(old)
	if all[0].seen != first || len(all[0].known) != 1 {
		t.Error("an older table was believed")
	}
	all[0].adopt(processTable())
	if all[0].seen == first || len(all[0].known) != 0 {
		t.Error("a newer table was not")
	}
}

// TestDying: from the moment that kill has returned, whatever the child was doing.
func TestDying(t *testing.T) {
	t.Parallel()
	for _, child := range []string{"echo", "stubborn", "deaf"} {
		for range 20 {
			rec := newRecorder()
			p := start(t, rec, child, nil)
			if child != "echo" {
				rec.waitLines(t, 1)
			}
			if p.Dying() {
				t.Error("a living child is dying")
			}
			syscall.Kill(p.PID(), syscall.SIGKILL)
			if !p.Dying() {
				t.Errorf("%s: killed, and is not dying", child)
			}
			end(t, p, rec)
			if !p.Dying() {
				t.Errorf("%s: gone, and was not dying", child)
			}
		}
	}
}
