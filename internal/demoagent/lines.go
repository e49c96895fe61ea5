package demoagent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// maxLine is the longest line taken, in bytes: the limit of the protocol's
	// own library. A longer one is answered with an error and skipped.
	maxLine = 32 << 20
	// flushAt is how many bytes the output may hold back during a flood.
	flushAt = 64 << 10
)

// input is what one read gave: a line without its end, a line that was too long
// and is lost, or the error that ended the reading (io.EOF at the regular end).
type input struct {
	line    []byte
	tooLong bool
	err     error
}

// readLines reads in on its own goroutine, which ends after it has delivered an
// error, or when ctx ends and its read returns.
func readLines(ctx context.Context, in io.Reader, limit int) <-chan input {
	lines := make(chan input)
	go func() {
		r := bufio.NewReaderSize(in, flushAt)
		for more := true; more; {
			next := readLine(r, limit)
			select {
			case lines <- next:
				more = next.err == nil
			case <-ctx.Done():
				more = false
			}
		}
	}()
	return lines
}

// readLine reads to the next line feed, keeping at most limit bytes. What stands after the last one is a
// message that was cut off and is dropped.
func readLine(r *bufio.Reader, limit int) input {
	var next input
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
			next.add(part, limit)
		case errors.Is(err, io.EOF):
			return input{err: io.EOF}
		default:
			return input{err: fmt.Errorf("demo agent: reading: %w", err)}
		}
		if err == nil {
			return next
		}
	}
}

// add appends a part of a line, or drops the line when it gets too long.
func (n *input) add(part []byte, limit int) {
	if n.tooLong || len(n.line)+len(part) > limit {
		n.line, n.tooLong = nil, true
		return
	}
	n.line = append(n.line, part...)
}

// lineWriter writes whole lines from any goroutine, in the order of the calls.
// After the first error it takes and forgets everything.
type lineWriter struct {
	failed chan struct{} // closed at the first error

	mu  sync.Mutex
	w   io.Writer
	buf []byte
	err error
}

// newLineWriter writes to w, which it owns from then on.
func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{w: w, failed: make(chan struct{})}
}

// write sends a line, and all that was held back before it, at once.
func (w *lineWriter) write(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, line...)
	w.flushLocked()
}

// hold sends a line when enough has come together, or with the next write:
// a system call a line would make the agent the slowest part of any measurement.
func (w *lineWriter) hold(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, line...)
	if len(w.buf) >= flushAt {
		w.flushLocked()
	}
}

// flush sends what is held back and returns the first error of this writer.
func (w *lineWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushLocked()
	return w.err
}

// flushLocked is one write. The caller holds mu, so that the order on the wire is
// the order of the calls also while the reader keeps the writer waiting.
func (w *lineWriter) flushLocked() {
	buf := w.buf
	w.buf = buf[:0]
	if len(buf) == 0 || w.err != nil {
		return
	}
	if _, err := w.w.Write(buf); err != nil {
		w.err = fmt.Errorf("demo agent: writing: %w", err)
		close(w.failed)
	}
}
