package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"agent-server/eventlog"
	"agent-server/protocol"
)

// Version is that of the form described in the package's comment.
const Version = 1

// Mark begins every line that is no event, behind its brace.
const Mark = `{"agent-server/`

// header is the first line's object.
type header struct {
	// Version is the form's.
	Version int `json:"version"`
	// Session is its id.
	Session string `json:"session"`
	// Harness ran it, and Cwd was its last turn's directory; "" where not known.
	Harness string `json:"harness"`
	Cwd     string `json:"cwd"`
	// First is the lowest seq from which all is held; Next is that of the next event.
	First int64 `json:"first"`
	Next  int64 `json:"next"`
	// Created and Updated are epoch ms.
	Created int64 `json:"created"`
	Updated int64 `json:"updated"`
}

// admission is an admission's object.
type admission struct {
	// Turn is its id; Hash the keyed hash of its content, in hex.
	Turn string `json:"turn"`
	Hash string `json:"hash"`
}

// end is the last line's object: how many lines there were.
type end struct {
	Admissions int `json:"admissions"`
	Events     int `json:"events"`
}

// event is what an event's line is read into; it is written by appendEvent.
type event struct {
	Session string          `json:"sessionId"`
	Seq     int64           `json:"seq"`
	Prev    int64           `json:"prevSeq"`
	Event   json.RawMessage `json:"event"`
	Turn    int64           `json:"turn"`
	Base    json.RawMessage `json:"base"`
}

// sums chains the lines of one file. The zero value stands before the first.
type sums struct{ last [8]byte }

// sumBytes is what a line ends with: its sum in 16 digits.
const sumBytes = len(`,"sum":"0123456789abcdef"}`)

// seal ends a line, which is an object without its last brace, and chains it.
func (s *sums) seal(line []byte) []byte {
	s.chain(line)
	line = append(line, `,"sum":"`...)
	line = hex.AppendEncode(line, s.last[:])
	return append(line, "\"}\n"...)
}

// chain takes a line in.
func (s *sums) chain(line []byte) {
	h := sha256.New()
	h.Write(s.last[:])
	h.Write(line)
	s.last = [8]byte(h.Sum(nil))
}

// open takes the sum off a line, without its newline; ok is false where it is not the
// one that a line with these bytes in this place has.
func (s *sums) open(line []byte) (object []byte, ok bool) {
	n := len(line) - sumBytes
	if n < 0 {
		return nil, false
	}
	object = line[:n:n]
	s.chain(object)
	want := fmt.Appendf(nil, `,"sum":"%x"}`, s.last[:])
	return object, bytes.Equal(line[n:], want)
}

// appendMarked appends a line's object that is no event, but for its last brace.
func appendMarked(dst []byte, kind string, object any) ([]byte, error) {
	b, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return append(append(append(append(dst, Mark...), kind...), `":`...), b...), nil
}

// The kinds of lines that are no events.
const (
	kindExport    = "export"
	kindAdmission = "admission"
	kindEnd       = "end"
)

// head is what a record's envelope begins with.
func head(dst []byte, session string, seq int64) []byte {
	dst = protocol.AppendString(append(dst, `{"sessionId":`...), session)
	return strconv.AppendInt(append(dst, `,"seq":`...), seq, 10)
}

// appendEvent appends an event's line, but for its last brace.
func appendEvent(dst []byte, e event) []byte {
	dst = strconv.AppendInt(append(head(dst, e.Session, e.Seq), `,"prevSeq":`...), e.Prev, 10)
	dst = append(append(dst, `,"event":`...), e.Event...)
	dst = strconv.AppendInt(append(dst, `,"turn":`...), e.Turn, 10)
	if e.Base != nil {
		dst = append(append(dst, `,"base":`...), e.Base...)
	}
	return dst
}

// record is the event as a log holds it.
func (e event) record() eventlog.Record {
	r := eventlog.Record{Seq: e.Seq, Durable: true, Turn: e.Turn}
	line := append(head([]byte(eventlog.Prefix), e.Session, e.Seq), `,"event":`...)
	r.EventAt = len(line)
	r.Line = append(append(line[:len(line):len(line)], e.Event...), "}}\n"...)
	if e.Base != nil {
		r.Base = append(append(line[:len(line):len(line)], e.Base...), "}}\n"...)
	}
	return r
}

// eventOf is the event in a record; the inverse of record.
func eventOf(session string, prev int64, r eventlog.Record) event {
	in := func(line []byte) []byte { return line[r.EventAt : len(line)-len("}}\n")] }
	e := event{Session: session, Seq: r.Seq, Prev: prev, Event: in(r.Line), Turn: r.Turn}
	if r.Base != nil {
		e.Base = in(r.Base)
	}
	return e
}

// Envelope is a record's envelope as it stands in a file, naming the one before it.
func Envelope(r eventlog.Record, prev int64) []byte {
	at := r.EventAt - len(eventlog.Prefix) - len(`,"event":`)
	env := r.Envelope()
	dst := append([]byte(nil), env[:at]...)
	dst = strconv.AppendInt(append(dst, `,"prevSeq":`...), prev, 10)
	return append(dst, env[at:]...)
}
