package transfer

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"agent-server/eventlog"
)

// Log is what Write needs of a log.
type Log interface {
	eventlog.Log
	eventlog.Catalog
}

// readBytes is about how much is read of a log at a time.
const readBytes = 1 << 20

// ErrUnknown is returned for a session of which the log holds nothing.
var ErrUnknown = errors.New("the log holds no such session")

// Write writes what a log holds of a session for good. The caller sees to it that
// nobody appends to it, or removes it, meanwhile.
func Write(out io.Writer, l Log, session string) error {
	sum, err := Find(l, session)
	if err != nil {
		return err
	}
	info, err := l.Open(session)
	if err != nil {
		return fmt.Errorf("opening session %q: %w", session, err)
	}
	w := &writer{out: out, log: l, session: session}
	err = w.marked(kindExport, header{Version, session, sum.Facts.Harness, sum.Facts.Cwd, sum.First, info.NextSeq, sum.CreatedAt, sum.UpdatedAt})
	for _, a := range info.Admissions {
		if err == nil {
			err = w.marked(kindAdmission, admission{a.TurnID, hex.EncodeToString(a.Hash[:])})
		}
	}
	if err == nil {
		err = w.events(sum.First - 1)
	}
	if err == nil {
		err = w.marked(kindEnd, end{len(info.Admissions), w.count})
	}
	if err != nil {
		return fmt.Errorf("exporting session %q: %w", session, err)
	}
	return nil
}

// Find is a session's line in the catalog.
func Find(l eventlog.Catalog, session string) (eventlog.Summary, error) {
	for cursor := ""; ; {
		page, next, err := l.Sessions(cursor, 500)
		if err != nil {
			return eventlog.Summary{}, fmt.Errorf("looking for session %q: %w", session, err)
		}
		for _, s := range page {
			if s.Session == session {
				return s, nil
			}
		}
		if cursor = next; next == "" {
			return eventlog.Summary{}, ErrUnknown
		}
	}
}

// writer writes lines.
type writer struct {
	out     io.Writer
	log     Log
	session string
	sums    sums
	// buf is used again for each line; count is how many events were written.
	buf   []byte
	count int
}

// marked writes a line that is no event.
func (w *writer) marked(kind string, object any) error {
	line, err := appendMarked(w.buf[:0], kind, object)
	if err != nil {
		return err
	}
	return w.line(line)
}

// line seals a line and writes it.
func (w *writer) line(line []byte) error {
	w.buf = w.sums.seal(line)
	_, err := w.out.Write(w.buf)
	return err
}

// events writes all events behind a seq. What comes out is read back before it is
// written: a form of record that would not come back the same is not let out.
func (w *writer) events(prev int64) error {
	for at := prev; ; {
		records, err := w.log.Read(w.session, at, readBytes)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			if at = r.Seq; !r.Durable {
				continue // a delta, in the memory of who still serves it
			}
			e := eventOf(w.session, prev, r)
			prev = r.Seq
			if back := e.record(); !bytes.Equal(back.Line, r.Line) || !bytes.Equal(back.Base, r.Base) {
				return fmt.Errorf("event %d has a form that cannot be exported", r.Seq)
			}
			if err := w.line(appendEvent(w.buf[:0], e)); err != nil {
				return err
			}
			w.count++
		}
	}
}
