package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is returned by Write when stdin is closed, or the process is being stopped or gone.
var ErrClosed = errors.New("stdin is closed")

// ErrStdinFull is returned by Write when the child leaves too much unread; nothing was queued.
var ErrStdinFull = errors.New("too much is waiting for the child to read it")

// writeChunk is how much is given to one write, and so to one look at the clock.
const writeChunk = 64 << 10

// writeFile is what the inlet needs of a pipe's end: *os.File, where its deadlines work.
type writeFile interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

// inlet is our end of the child's stdin: a bounded queue, written by a goroutine that exists
// while there is something to write. Any goroutine.
type inlet struct {
	f      writeFile
	max    int64         // bytes in the queue, the line being written included
	stall  time.Duration // how long a write may move nothing
	lost   func(error)   // told once, by the writer, that what was queued will not arrive
	writer *sync.WaitGroup

	mu      sync.Mutex
	queue   [][]byte
	queued  int64 // bytes in the queue and in the write under way
	refused bool  // Write answers ErrClosed
	closing bool  // the file is closed as soon as the queue is empty
	writing bool  // the writer exists
	taken   int64 // bytes that write has accepted, ever

	// cut is set before the file is closed; pipe is held while a write moves bytes, and
	// guards the rest: only while none moves can be counted what nobody has read.
	cut    atomic.Bool
	pipe   sync.Mutex
	shut   bool
	moved  int64 // bytes that the pipe has taken
	unread int64 // see Status.Unread
}

// write queues a copy of b, which is whole lines; a last '\n' that is missing is added, because
// two lines run together can be fatal to the child.
func (in *inlet) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	line := make([]byte, len(b), len(b)+1)
	if copy(line, b); line[len(line)-1] != '\n' {
		line = append(line, '\n')
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.refused {
		return ErrClosed
	}
	if in.queued+int64(len(line)) > in.max {
		return fmt.Errorf("%d bytes behind %d of at most %d: %w", len(line), in.queued, in.max, ErrStdinFull)
	}
	in.queue = append(in.queue, line)
	in.queued += int64(len(line))
	in.taken += int64(len(line))
	if !in.writing {
		in.writing = true
		in.writer.Go(in.run)
	}
	return nil
}

// refuse makes every later write fail; what is queued is still written.
func (in *inlet) refuse() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.refused = true
}

// hangup closes stdin once what is queued has been written.
func (in *inlet) hangup() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.refused, in.closing = true, true
	if !in.writing {
		in.close(false)
	}
}

// abort closes stdin at once; what is queued is lost. deaf: nobody reads it any more,
// so that what lies in the pipe never will be.
func (in *inlet) abort(deaf bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.refused, in.closing, in.queue = true, true, nil
	in.close(deaf)
}

// close closes the file, once, between two writes: one that is under way is woken by
// a deadline that has passed, and a write that was about to begin finds the mark.
// Called under mu.
func (in *inlet) close(deaf bool) {
	in.cut.Store(true)
	in.f.SetWriteDeadline(time.Unix(1, 0))
	in.pipe.Lock()
	defer in.pipe.Unlock()
	if in.shut {
		return
	}
	in.shut = true
	if held, ok := pipeHolds(in.f); deaf && ok {
		in.unread = in.taken - in.moved + held
	}
	in.f.Close()
}

// left is what nobody has read and nobody will; 0: it is not known, or nothing.
func (in *inlet) left() int64 {
	in.pipe.Lock()
	defer in.pipe.Unlock()
	return in.unread
}

// run writes the queue until it is empty or the pipe fails.
func (in *inlet) run() {
	for line := in.next(0); line != nil; line = in.next(len(line)) {
		err := in.put(line)
		if err == nil {
			continue
		}
		in.abort(brokenPipe(err))
		if !errors.Is(err, os.ErrClosed) { // an abort of ours is no fault
			in.lost(fmt.Errorf("writing to stdin: %w", err))
		}
		return
	}
}

// next takes the next line after one of so many bytes was written; nil is the writer's end.
func (in *inlet) next(written int) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.queued -= int64(written)
	if len(in.queue) == 0 {
		in.queue, in.writing = nil, false
		if in.closing {
			in.close(false)
		}
		return nil
	}
	line := in.queue[0]
	in.queue[0] = nil
	in.queue = in.queue[1:]
	return line
}

// put writes one line. The deadline is on progress: a child that reads slowly may take for ever.
func (in *inlet) put(line []byte) error {
	for len(line) > 0 {
		n, err := in.move(line[:min(len(line), writeChunk)])
		line = line[n:]
		stalled := errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case stalled && n == 0:
			return fmt.Errorf("no byte was taken for %v: %w", in.stall, err)
		case err != nil && !stalled:
			return err
		}
	}
	return nil
}

// move gives the pipe one piece, unless it was cut off. The mark is looked at behind
// the deadline: who cuts sets it before the deadline that has passed, so that ours
// cannot be the later one unseen.
func (in *inlet) move(piece []byte) (int, error) {
	in.pipe.Lock()
	defer in.pipe.Unlock()
	in.f.SetWriteDeadline(time.Now().Add(in.stall))
	if in.cut.Load() {
		return 0, os.ErrClosed
	}
	n, err := in.f.Write(piece)
	in.moved += int64(n)
	if in.cut.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = os.ErrClosed // it was we who woke it
	}
	return n, err
}
