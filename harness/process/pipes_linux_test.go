package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestStderrIsDrained: megabytes on stderr block nobody, their end is kept.
func TestStderrIsDrained(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "stderr", nil, "800000")
	status := end(t, p, rec)
	whole := strings.Repeat("0123456789\n", tailBytes/11+1)
	if want := whole[len(whole)-tailBytes:]; status.StderrTail != want {
		t.Errorf("the tail has %d bytes and is not the end", len(status.StderrTail))
	}
	if diff := cmp.Diff(heard{"L:done"}, rec.heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ max, size int }{
		{0, DefaultMaxLineBytes},
		{1 << 20, 1 << 20},
		{1 << 20, 1<<20 + 1},
		{1 << 20, 40 << 20},
	} {
		t.Run(fmt.Sprintf("%d of %d", tc.size, tc.max), func(t *testing.T) {
			t.Parallel()
			rec := newRecorder()
			rec.short = true
			p := start(t, rec, "long", func(s *Spec) { s.MaxLineBytes = tc.max }, strconv.Itoa(tc.size))
			status := end(t, p, rec)
			want := heard{fmt.Sprintf("L:x… %d", tc.size), "L:a… 5"}
			if tc.size > or(tc.max, DefaultMaxLineBytes) {
				want[0] = fmt.Sprintf("D:%d", tc.size)
			}
			if diff := cmp.Diff(want, rec.heard); diff != "" || status != (Status{}) {
				t.Errorf("status %+v (-want +got):\n%s", status, diff)
			}
		})
	}
}

func TestBadBytes(t *testing.T) {
	t.Parallel()
	stream := "banner\n\x1b[2J\xff\xfe{}\n\x00\n\xe4\xb8\n{\"a\":\"\u4e16\"}\r\n"
	rec := newRecorder()
	p := start(t, rec, "bytes", nil, fmt.Sprintf("%x", stream))
	end(t, p, rec)
	want := heard{"L:banner", "L:\x1b[2J\uFFFD{}", "L:\x00", "L:\uFFFD", "L:{\"a\":\"\u4e16\"}"}
	if diff := cmp.Diff(want, rec.heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndsInMidLine(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "midline", nil)
	if status := end(t, p, rec); status.String() != "signal: killed" || status.Stopped {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff(heard{"L:whole", "L:hal"}, rec.heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Law 79: Write waits for nobody. Megabytes are queued for a child that reads nothing, the bound
// holds, and a stop in the middle of the write ends it.
func TestLaw79_writeNeverWaits(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "deaf", func(s *Spec) { s.MaxQueuedStdin, s.Ladder.AfterClose = 9<<20, time.Millisecond })
	rec.waitLines(t, 1)
	mega := bytes.Repeat([]byte{'x'}, 1<<20-1)
	for i := range 9 {
		if err := p.Write(mega); err != nil {
			t.Fatalf("megabyte %d: %v", i, err)
		}
	}
	if err := p.Write(mega); !errors.Is(err, ErrStdinFull) {
		t.Errorf("one more: %v, want ErrStdinFull", err)
	}
	p.Stop()
	if err := p.Write([]byte("x\n")); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after Stop: %v, want ErrClosed", err)
	}
	if diff := cmp.Diff(Status{Code: -1, Signal: "terminated", Stopped: true}, end(t, p, rec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStopWritesTheQueue: what was queued before a stop still reaches a child that reads.
func TestStopWritesTheQueue(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "echo", func(s *Spec) { s.Ladder.AfterClose = patience })
	line := strings.Repeat("x", 1<<20)
	for range 4 {
		if err := p.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	p.Stop()
	if status := end(t, p, rec); status != (Status{Stopped: true}) {
		t.Errorf("status %+v", status)
	}
	if len(rec.heard) != 4 || rec.heard[3] != "L:"+line {
		t.Errorf("%d lines came back", len(rec.heard))
	}
}

// TestDeadStdin: a child that takes no input is stopped, and the report says why.
func TestDeadStdin(t *testing.T) {
	t.Parallel()
	for child, want := range map[string]error{"deaf": os.ErrDeadlineExceeded, "closestdin": syscall.EPIPE} {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			core, logged := observer.New(zap.WarnLevel)
			rec := newRecorder()
			p := start(t, rec, child, func(s *Spec) {
				s.Ladder = Ladder{Stall: 50 * time.Millisecond, AfterClose: time.Millisecond}
				s.Log = zap.New(core)
			})
			rec.waitLines(t, 1)
			if err := p.Write(bytes.Repeat([]byte{'x'}, 1<<20)); err != nil {
				t.Fatal(err)
			}
			status := end(t, p, rec)
			if !errors.Is(status.Err, want) || status.Stopped || status.Signal != "terminated" {
				t.Errorf("status %+v, want a fault like %v", status, want)
			}
			if logged.Len() != 1 {
				t.Errorf("logged: %v", logged.All())
			}
		})
	}
}

// TestBrokenStdinOfTheDead: that the input of a child that has ended is lost is no fault.
func TestBrokenStdinOfTheDead(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "exit", nil, "3", "")
	lost := int64(0)
	for ; p.Write([]byte("x\n")) == nil; lost += 2 {
		runtime.Gosched()
	}
	if status := end(t, p, rec); status != (Status{Code: 3, Unread: lost}) {
		t.Errorf("status %+v", status)
	}
}

// Law 75: one exit is reported, behind the last line. A sink that takes its time gets every
// line, and the exit after them, although the child is long gone.
func TestLaw75_exitBehindTheLines(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	rec := newRecorder()
	first := true
	rec.line = func() {
		if first {
			first = false
			<-free
		}
	}
	p := start(t, rec, "flood", func(s *Spec) { s.Ladder = quick }, "190") // less than a pipe holds
	eventually(t, "nobody writes any more", p.stdout.draining.Load)
	select {
	case <-p.Done():
		t.Error("the exit was reported before the lines")
	default:
	}
	close(free)
	if status := end(t, p, rec); status != (Status{}) || len(rec.heard) != 190 {
		t.Errorf("%d of 190 lines, status %+v", len(rec.heard), status)
	}
}

// TestForeignHolder: a process outside the family that keeps the pipe open does not keep the
// report back, and is named as the reason.
func TestForeignHolder(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "deaf", nil)
	rec.waitLines(t, 1)
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", p.PID()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	fmt.Fprintln(held, "foreign")
	p.Kill()
	if status := end(t, p, rec); !errors.Is(status.Err, errHeld) || status.Signal != "killed" {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff(heard{"L:ready", "L:foreign"}, rec.heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestForeignWriter: nor does one that goes on writing.
func TestForeignWriter(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "deaf", nil)
	rec.waitLines(t, 1)
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", p.PID()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for block := bytes.Repeat([]byte("foreign\n"), 1000); err == nil; {
			_, err = held.Write(block)
		}
	})
	p.Kill()
	if status := end(t, p, rec); !errors.Is(status.Err, errHeld) {
		t.Errorf("status %+v", status)
	}
	held.SetWriteDeadline(time.Now().Add(patience)) // if nobody closed the other end
	writer.Wait()
	held.Close()
}
