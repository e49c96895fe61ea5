package process

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTail(t *testing.T) {
	t.Parallel()
	all := make([]byte, 0, 4*tailBytes)
	for i := 0; len(all) < 3*tailBytes; i++ {
		all = append(all, byte('a'+i%26))
	}
	for _, piece := range []int{1, 7, 1000, tailBytes - 1, tailBytes, tailBytes + 1, len(all)} {
		for _, size := range []int{0, 5, tailBytes - 1, tailBytes, tailBytes + 1, 2 * tailBytes, len(all)} {
			var kept tail
			for rest := all[:size]; len(rest) > 0; {
				n := min(piece, len(rest))
				if w, err := kept.Write(rest[:n]); w != n || err != nil {
					t.Fatalf("Write gave %d, %v for %d bytes", w, err, n)
				}
				rest = rest[n:]
			}
			if want := string(all[max(0, size-tailBytes):size]); kept.String() != want {
				t.Errorf("%d bytes by %d: the tail has %d bytes and is not the end", size, piece, len(kept.String()))
			}
		}
	}
}

// TestTailIsText: the ring cuts where it must, what comes out is valid UTF-8 all the same.
func TestTailIsText(t *testing.T) {
	t.Parallel()
	var kept tail
	kept.Write(bytes.Repeat([]byte("\u4e16"), tailBytes/3+2))
	if got := kept.String(); !utf8.ValidString(got) || !strings.HasSuffix(got, "\u4e16") {
		t.Errorf("the tail begins with %q", got[:8])
	}
}

func TestStatusString(t *testing.T) {
	t.Parallel()
	for want, status := range map[string]Status{
		"exit status 0":       {},
		"exit status 3":       {Code: 3},
		"signal: killed":      {Code: -1, Signal: "killed"},
		"exit status unknown": {Code: -1},
	} {
		if got := status.String(); got != want {
			t.Errorf("%+v reads %q, want %q", status, got, want)
		}
	}
	if got := statusOf(nil).String(); got != "exit status unknown" {
		t.Errorf("an exit nobody saw reads %q", got)
	}
}

// TestSpecDefaults: zero is the default, everything else is kept.
func TestSpecDefaults(t *testing.T) {
	t.Parallel()
	got := Spec{Ladder: Ladder{AfterTerm: time.Minute}}.withDefaults()
	want := Ladder{DefaultAfterClose, time.Minute, DefaultAfterKill, DefaultAfterExit, DefaultAfterEOF, DefaultStall}
	if got.Ladder != want {
		t.Errorf("ladder %+v, want %+v", got.Ladder, want)
	}
	if got.MaxLineBytes != 64<<20 || got.MaxQueuedStdin != 256<<20 || got.Log == nil {
		t.Errorf("defaults are %d, %d, log %v", got.MaxLineBytes, got.MaxQueuedStdin, got.Log)
	}
	if other := (Spec{}).withDefaults(); got.Marker == "" || got.Marker == other.Marker {
		t.Errorf("markers %q and %q are not random", got.Marker, other.Marker)
	}
}

// script is a writeFile whose writes end as told: so many bytes, then that error.
type script struct {
	steps []step
	got   []byte
}

type step struct {
	n   int
	err error
}

func (s *script) Write(b []byte) (int, error) {
	next := step{n: len(b)}
	if len(s.steps) > 0 {
		next, s.steps = s.steps[0], s.steps[1:]
	}
	s.got = append(s.got, b[:next.n]...)
	return next.n, next.err
}

func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) Close() error                     { return nil }

// TestStallIsAboutProgress: a deadline that passes while bytes move is not the end, one that
// passes while none does is.
func TestStallIsAboutProgress(t *testing.T) {
	t.Parallel()
	late := os.ErrDeadlineExceeded
	for _, tc := range []struct {
		name  string
		steps []step
		want  error
		got   string
	}{
		{"slow", []step{{1, late}, {2, late}, {1, nil}}, nil, "abcdefg\n"},
		{"stuck", []step{{1, late}, {0, late}}, late, "a"},
		{"broken", []step{{3, os.ErrInvalid}}, os.ErrInvalid, "abc"},
		{"aborted", []step{{0, os.ErrClosed}}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var writer sync.WaitGroup
			var lost error
			pipe := &script{steps: tc.steps}
			in := &inlet{f: pipe, max: 100, stall: time.Hour, writer: &writer, lost: func(err error) { lost = err }}
			if err := in.write([]byte("abcdefg")); err != nil {
				t.Fatal(err)
			}
			writer.Wait()
			if !errors.Is(lost, tc.want) || string(pipe.got) != tc.got {
				t.Errorf("lost %v, written %q; want %v, %q", lost, pipe.got, tc.want, tc.got)
			}
			if err := in.write([]byte("more\n")); (err != nil) != (tc.name != "slow") {
				t.Errorf("the next write: %v", err)
			}
			writer.Wait()
		})
	}
}

// TestQueueBound counts what has not been written yet, and only that.
func TestQueueBound(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var writer sync.WaitGroup
	in := &inlet{f: w, max: 1 << 20, stall: time.Hour, writer: &writer}
	half := bytes.Repeat([]byte{'x'}, 1<<19-1) // and its newline
	for i := range 2 {
		if err := in.write(half); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	if err := in.write([]byte("x\n")); !errors.Is(err, ErrStdinFull) {
		t.Errorf("one line too many: %v, want ErrStdinFull", err)
	}
	for left := 1 << 20; left > 0; {
		n, err := r.Read(make([]byte, left))
		if err != nil {
			t.Fatal(err)
		}
		left -= n
	}
	writer.Wait()
	if err := in.write(half); err != nil {
		t.Errorf("once it was read: %v", err)
	}
	in.abort(false)
	writer.Wait()
	if err := in.write(half); !errors.Is(err, ErrClosed) {
		t.Errorf("after abort: %v, want ErrClosed", err)
	}
}
