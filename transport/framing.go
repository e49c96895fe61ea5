package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"
)

// Framing reads and writes whole lines on some medium. Next is called by one
// goroutine, Write by another; Close may come from any and ends both.
type Framing interface {
	// Next gives the next line without its terminator, valid until the next
	// call. An *OversizeError reports a line that was discarded; reading goes
	// on. io.EOF: the peer has said all it will.
	Next() ([]byte, error)
	// Write writes whole lines, all or an error.
	Write(lines []byte) error
	// Close lets the medium go; the peer sees the end.
	Close() error
}

// OversizeError reports a line over the limit, discarded to its end without
// being held.
type OversizeError struct {
	// Bytes is the line's length.
	Bytes int64
	// Limit is what was allowed.
	Limit int64
}

// Error names both numbers.
func (e *OversizeError) Error() string {
	return fmt.Sprintf("line of %d bytes is over the limit of %d", e.Bytes, e.Limit)
}

// chunk is what is read at a time; a line that fits is not copied.
const chunk = 64 << 10

// ndjson is newline-delimited JSON over a reader and a writer.
type ndjson struct {
	r       *bufio.Reader
	w       io.Writer
	limit   int64
	timeout time.Duration
	long    []byte
	close   func() error
}

// keepLong is how large a gathering buffer may stay between two long lines.
const keepLong = 1 << 20

// NDJSON is newline-delimited JSON, though it looks at no line's content. It frames
// a reader and a writer by newlines: stdio, a pipe, a socket. A
// trailing CR is taken off, and a last line needs no newline. limit bounds a
// line in bytes; 0: 10 MiB. timeout bounds a write where w can be given a
// deadline; 0: none. close ends both; nil: nothing is to be closed.
func NDJSON(r io.Reader, w io.Writer, limit int64, timeout time.Duration, close func() error) Framing {
	if limit == 0 {
		limit = defaultMaxMessageBytes
	}
	if close == nil {
		close = func() error { return nil }
	}
	return &ndjson{r: bufio.NewReaderSize(r, chunk), w: w, limit: limit, timeout: timeout, close: close}
}

// defaultMaxMessageBytes is the protocol's default: 10 MiB.
const defaultMaxMessageBytes = 10 << 20

// Next implements Framing.
func (f *ndjson) Next() ([]byte, error) {
	if cap(f.long) > keepLong {
		f.long = nil // the line that needed it is no longer used
	}
	line, err := f.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = f.longLine(line)
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	line = trim(line)
	if int64(len(line)) > f.limit {
		return nil, &OversizeError{Bytes: int64(len(line)), Limit: f.limit}
	}
	return line, nil
}

// longLine gathers a line longer than a chunk; over the limit it counts only.
func (f *ndjson) longLine(first []byte) ([]byte, error) {
	f.long = append(f.long[:0], first...)
	total, before := int64(len(first)), first[len(first)-1]
	for {
		piece, err := f.r.ReadSlice('\n')
		total += int64(len(piece))
		// Two more than the limit: the terminator is no part of the line.
		if total <= f.limit+2 {
			f.long = append(f.long, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			before = piece[len(piece)-1]
			continue
		}
		if total > f.limit+2 {
			f.long = nil
			end := append([]byte{before}, piece...) // a CR may stand before the cut
			return nil, &OversizeError{Bytes: total - int64(len(end)-len(trim(end))), Limit: f.limit}
		}
		return f.long, err
	}
}

// trim takes the terminator off.
func trim(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// deadliner is what files and sockets are. A deadline ends a write to a peer that
// takes nothing; the connection ends with it, since half a line may be out.
type deadliner interface{ SetWriteDeadline(time.Time) error }

// Write implements Framing.
func (f *ndjson) Write(lines []byte) error {
	if d, ok := f.w.(deadliner); ok && f.timeout > 0 {
		// A medium without deadlines says so; it is written to without one.
		_ = d.SetWriteDeadline(time.Now().Add(f.timeout))
	}
	if _, err := f.w.Write(lines); err != nil {
		return fmt.Errorf("writing %d bytes: %w", len(lines), err)
	}
	return nil
}

// Close implements Framing.
func (f *ndjson) Close() error { return f.close() }
