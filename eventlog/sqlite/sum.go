package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"

	"agent-server/eventlog"
)

// sum is the first 64 bits of a SHA-256: enough to notice what decay and mistakes do,
// and quick, as processors compute it. It is no signature: who means to forge can.
type sum int64

// summer builds a sum over fields whose ends are told apart. Short ones are
// gathered in buf.
type summer struct {
	h   hash.Hash
	buf []byte
}

// shortField is the length up to which a field is gathered.
const shortField = 64

// summers are used again: there is a sum for every event.
var summers = sync.Pool{New: func() any { return &summer{h: sha256.New()} }}

// newSummer begins a sum of one kind of thing. It is over with sum.
func newSummer(kind string) *summer {
	s := summers.Get().(*summer)
	s.h.Reset()
	s.buf = s.buf[:0]
	return s.text(kind)
}

// number adds an integer.
func (s *summer) number(n int64) *summer {
	s.buf = binary.BigEndian.AppendUint64(s.buf, uint64(n))
	return s
}

// bytes adds bytes and their number; nil and empty differ.
func (s *summer) bytes(b []byte) *summer {
	if b == nil {
		return s.number(-1)
	}
	s.number(int64(len(b)))
	if len(b) <= shortField {
		s.buf = append(s.buf, b...)
		return s
	}
	s.h.Write(s.buf)
	s.h.Write(b)
	s.buf = s.buf[:0]
	return s
}

// text adds a string.
func (s *summer) text(t string) *summer {
	s.buf = append(s.number(int64(len(t))).buf, t...)
	return s
}

// sum ends it.
func (s *summer) sum() sum {
	s.h.Write(s.buf)
	s.buf = s.h.Sum(s.buf[:0])
	n := sum(binary.BigEndian.Uint64(s.buf))
	summers.Put(s)
	return n
}

// seed is what stands before the first event of a session's life: one that begins
// above lost, the last seq of the life before.
func seed(session string, lost int64) sum {
	return newSummer("life").text(session).number(lost).sum()
}

// chained is the sum of a record behind another one's.
func chained(before sum, r eventlog.Record) sum {
	return newSummer("event").number(int64(before)).number(r.Seq).number(r.Turn).number(int64(r.EventAt)).
		bytes(r.Line).bytes(r.Base).sum()
}

// admitted is the sum of a session's nth admission.
func admitted(number, nth int64, a eventlog.Admission) sum {
	return newSummer("admission").number(number).number(nth).text(a.TurnID).bytes(a.Hash[:]).sum()
}

// named is the sum of a row of meta.
func named(name string, value []byte) sum { return newSummer("meta").text(name).bytes(value).sum() }
