package transfer

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"agent-server/eventlog"
)

// MaxLineBytes bounds a line: larger than any event that a gateway takes, twice.
const MaxLineBytes = 256 << 20

// LineError says which line of a file is not what was written.
type LineError struct {
	// Line counts from 1.
	Line int
	// What is wrong with it.
	What string
}

// Error says both.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// File is a session being read.
type File struct {
	// Session is its id.
	Session string
	// Import is the rest of it. Its Records read on, and may be asked for once; they
	// end without an error only where the file's end is the one that was written.
	Import eventlog.Import

	in   *bufio.Reader
	sums sums
	// nth is the number of the line at hand, which is held where a line was read that
	// concerns the next one who asks.
	nth  int
	held []byte
	// prev is the seq of the last event read; count how many were.
	prev  int64
	count int
}

// Read reads a file up to its first event. What is wrong is a *LineError.
func Read(in io.Reader) (*File, error) {
	f := &File{in: bufio.NewReaderSize(in, 64<<10)}
	if err := f.header(); err != nil {
		return nil, err
	}
	if err := f.admissions(); err != nil {
		return nil, err
	}
	f.Import.Records = f.records
	return f, nil
}

// wrong is an error at the line at hand.
func (f *File) wrong(format string, args ...any) error {
	return &LineError{f.nth, fmt.Sprintf(format, args...)}
}

// header reads the first line. Its version is looked at before its sum: another one
// may reckon otherwise.
func (f *File) header() error {
	line, err := f.raw()
	if err != nil {
		return err
	}
	var found struct {
		Header *header `json:"agent-server/export"`
	}
	if json.Unmarshal(line, &found) != nil || found.Header == nil {
		return f.wrong("an export begins with a header; this is none, or was made before exports had one")
	}
	h := *found.Header
	if h.Version != Version {
		return f.wrong("the export has version %d, this program knows %d", h.Version, Version)
	}
	object, err := f.unseal(line)
	if err != nil {
		return err
	}
	if want, err := appendMarked(nil, kindExport, h); err != nil || !bytes.Equal(object, want) {
		return f.wrong("it is no header of version %d", Version)
	}
	f.Session, f.prev = h.Session, h.First-1
	f.Import = eventlog.Import{Facts: eventlog.Facts{Harness: h.Harness, Cwd: h.Cwd}, CreatedAt: h.Created, UpdatedAt: h.Updated,
		First: h.First, Next: h.Next}
	return nil
}

// admissions reads those lines, and holds the one behind them.
func (f *File) admissions() error {
	for {
		object, err := f.line()
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(object, []byte(Mark+kindAdmission)) {
			f.held = object
			return nil
		}
		var found struct {
			Admission admission `json:"agent-server/admission"`
		}
		_ = json.Unmarshal(append(object, '}'), &found) // what is not that object is not equal to it below
		hash, err := hex.DecodeString(found.Admission.Hash)
		if want, faulty := appendMarked(nil, kindAdmission, found.Admission); err != nil || faulty != nil || len(hash) != 32 || !bytes.Equal(object, want) {
			return f.wrong("it is no admission of version %d", Version)
		}
		f.Import.Admissions = append(f.Import.Admissions, eventlog.Admission{TurnID: found.Admission.Turn, Hash: [32]byte(hash)})
	}
}

// records gives the events, and looks at the end.
func (f *File) records(yield func(eventlog.Record, error) bool) {
	for {
		object := f.held
		if f.held = nil; object == nil {
			var err error
			if object, err = f.line(); err != nil {
				yield(eventlog.Record{}, err)
				return
			}
		}
		if bytes.HasPrefix(object, []byte(Mark)) {
			if err := f.end(object); err != nil {
				yield(eventlog.Record{}, err)
			}
			return
		}
		r, err := f.event(object)
		if !yield(r, err) || err != nil {
			return
		}
	}
}

// event reads one event's line. What Write would not have written is refused: so what
// is written again is the same.
func (f *File) event(object []byte) (eventlog.Record, error) {
	var e event
	if err := json.Unmarshal(append(object, '}'), &e); err != nil {
		return eventlog.Record{}, f.wrong("it is no event: %v", err)
	}
	switch {
	case e.Session != f.Session:
		return eventlog.Record{}, f.wrong("it is an event of session %q, not of %q", e.Session, f.Session)
	case e.Prev != f.prev || e.Seq <= e.Prev:
		return eventlog.Record{}, f.wrong("event %d follows %d, and says that it follows %d", e.Seq, f.prev, e.Prev)
	case !bytes.Equal(appendEvent(nil, e), object):
		return eventlog.Record{}, f.wrong("it is no event of version %d", Version)
	}
	f.prev = e.Seq
	f.count++
	return e.record(), nil
}

// end reads the last line: nothing may follow it.
func (f *File) end(object []byte) error {
	want, err := appendMarked(nil, kindEnd, end{len(f.Import.Admissions), f.count})
	if err != nil || !bytes.Equal(object, want) {
		return f.wrong("it is no end of %d admissions and %d events", len(f.Import.Admissions), f.count)
	}
	if _, err := f.in.ReadByte(); !errors.Is(err, io.EOF) {
		f.nth++
		return f.wrong("something follows the end")
	}
	return nil
}

// line reads a line and takes its sum off.
func (f *File) line() (object []byte, err error) {
	line, err := f.raw()
	if err != nil {
		return nil, err
	}
	return f.unseal(line)
}

// unseal takes the sum off the line at hand.
func (f *File) unseal(line []byte) ([]byte, error) {
	object, ok := f.sums.open(line)
	if !ok {
		return nil, f.wrong("it is not what was exported, or does not stand where it stood")
	}
	return object, nil
}

// raw reads a line, without its newline, which each one has.
func (f *File) raw() (line []byte, err error) {
	f.nth++
	for {
		part, err := f.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[: len(line)-1 : len(line)-1], nil
		case errors.Is(err, io.EOF):
			return nil, f.wrong("the file ends here, before its end was told")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("line %d: %w", f.nth, err)
		case len(line) > MaxLineBytes:
			return nil, f.wrong("it is longer than %d bytes", MaxLineBytes)
		}
	}
}
