package process

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

const (
	// smallChunk is what a quiet stream is read with: hundreds of idle children must not hold
	// 64 KiB each.
	smallChunk = 4 << 10
	// largeChunk is what a busy one is read with: a pipe's usual capacity.
	largeChunk = 64 << 10
)

// largeChunks lends the large buffers to the streams that are busy at the moment.
var largeChunks = sync.Pool{New: func() any { return new([largeChunk]byte) }}

// lines cuts a stream into lines. It is fed chunks of any size, cut anywhere, and gives whole
// lines: a line that lies in one chunk is not copied, any other is gathered first. One goroutine.
type lines struct {
	max     int          // bytes of a line, '\n' not counted
	line    func([]byte) // one line that is not empty, valid during the call
	dropped func(int64)  // the size of a line over max

	held     []byte // the begin of a line whose end has not come yet
	skipping bool   // the line is over max: nothing of it is kept
	skipped  int64  // its size so far
}

// read feeds from src until it ends, delivers a last line that has no terminator, and returns
// the fault that ended the stream, nil for io.EOF.
func (l *lines) read(src io.Reader) error {
	small := make([]byte, smallChunk)
	busy := false // the last read filled the small chunk: more is probably waiting
	for {
		n, err := l.readOnce(src, small, busy)
		busy = n >= smallChunk
		if err == nil {
			continue
		}
		l.finish()
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

// readOnce reads and feeds one chunk, large if the stream is busy.
func (l *lines) readOnce(src io.Reader, chunk []byte, busy bool) (int, error) {
	if busy {
		large := largeChunks.Get().(*[largeChunk]byte)
		defer largeChunks.Put(large)
		chunk = large[:]
	}
	n, err := src.Read(chunk)
	l.feed(chunk[:n])
	return n, err
}

// feed takes the next bytes of the stream.
func (l *lines) feed(chunk []byte) {
	for len(chunk) > 0 {
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			l.hold(chunk)
			return
		}
		l.end(chunk[:end])
		chunk = chunk[end+1:]
	}
}

// finish ends the stream: what has no terminator is a line too.
func (l *lines) finish() {
	if l.skipping || len(l.held) > 0 {
		l.end(nil)
	}
}

// hold keeps the begin of a line, or only counts it once it is over the budget.
func (l *lines) hold(piece []byte) {
	switch {
	case l.skipping:
		l.skipped += int64(len(piece))
	case len(l.held)+len(piece) > l.max:
		l.skipping, l.skipped = true, int64(len(l.held)+len(piece))
		l.release()
	default:
		l.grow(len(piece))
		l.held = append(l.held, piece...)
	}
}

// end takes the last piece of a line and gives the line away.
func (l *lines) end(piece []byte) {
	if len(l.held) == 0 && !l.skipping && len(piece) <= l.max {
		l.emit(piece)
		return
	}
	l.hold(piece)
	if l.skipping {
		size := l.skipped
		l.skipping, l.skipped = false, 0
		l.dropped(size)
		return
	}
	l.emit(l.held)
	l.release()
}

// grow makes room for n more held bytes, doubling up to the budget, so that neither a line that
// comes in small pieces is copied at each nor one of 64 MiB takes twice that.
func (l *lines) grow(n int) {
	need := len(l.held) + n
	if need <= cap(l.held) {
		return
	}
	size := min(max(need, 2*cap(l.held), smallChunk), max(need, l.max))
	l.held = append(make([]byte, 0, size), l.held...)
}

// release forgets the held line, and its memory where that is more than a quiet stream needs.
func (l *lines) release() {
	l.held = l.held[:0]
	if cap(l.held) > smallChunk {
		l.held = nil
	}
}

// emit gives a line away without its '\r', repaired where it is not UTF-8; an empty one is none.
func (l *lines) emit(line []byte) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(line) == 0 {
		return
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	l.line(line)
}
