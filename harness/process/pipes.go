package process

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

const (
	// drainWait is how long a read may still wait once every known process is gone: what is
	// left in the pipe is there already, and only a foreign holder keeps it from ending.
	drainWait = 500 * time.Millisecond
	// drainBytes is how much is still read then: more than a pipe holds, so that nothing of the
	// child's is lost and a foreign writer cannot go on for ever.
	drainBytes = 1 << 20
)

// errHeld is the fault of a pipe that does not end although every known process is gone.
var errHeld = errors.New("still held open by a process that is not known")

// pipes are the three pipes of a child: its ends and ours, by descriptor number.
type pipes struct {
	child [3]*os.File
	ours  [3]*os.File
}

// openPipes makes the pipes; on an error nothing stays open.
func openPipes() (*pipes, error) {
	p := &pipes{}
	for i := range p.child {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(p.child)
			closeAll(p.ours)
			return nil, fmt.Errorf("opening pipes: %w", err)
		}
		if i == 0 {
			p.child[i], p.ours[i] = r, w
		} else {
			p.child[i], p.ours[i] = w, r
		}
	}
	return p, nil
}

// closeAll closes the files that are open; closing one twice is harmless.
func closeAll(files [3]*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// outlet is our end of the child's stdout or stderr. Read is for one goroutine, drain for any.
type outlet struct {
	f        *os.File
	draining atomic.Bool
	budget   int // bytes that may still be read while draining; the reader's own
}

// newOutlet wraps our end of a pipe that the child writes.
func newOutlet(f *os.File) *outlet {
	return &outlet{f: f, budget: drainBytes}
}

// Read reads as the file does; while draining, each read has a deadline of its own. A deadline
// that was not set by this read only wakes it up.
func (o *outlet) Read(b []byte) (int, error) {
	for {
		draining := o.draining.Load()
		if draining && o.budget <= 0 {
			return 0, errHeld
		}
		if draining {
			o.f.SetReadDeadline(time.Now().Add(drainWait))
		}
		n, err := o.f.Read(b)
		timeout := errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case draining && timeout:
			return n, errHeld
		case timeout:
			continue
		case draining:
			o.budget -= n
		}
		return n, err
	}
}

// drain tells the reader that nobody is left who should write. The deadline comes before the
// flag: the other way round it could hit the read that has just set its own.
func (o *outlet) drain() {
	o.f.SetReadDeadline(time.Unix(1, 0))
	o.draining.Store(true)
}
