package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"agent-server/eventlog"
)

// sum is the beginning of a SHA-256: enough to notice what decay and mistakes do.
type sum int64

// summer builds a sum over fields whose ends are told apart.
type summer struct{ h hash.Hash }

// newSummer begins a sum of one kind of thing.
func newSummer(kind string) summer { return summer{sha256.New()}.text(kind) }

// number adds an integer.
func (s summer) number(n int64) summer {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	s.h.Write(b[:])
	return s
}

// bytes adds bytes and their number; nil and empty differ.
func (s summer) bytes(b []byte) summer {
	n := int64(len(b))
	if b == nil {
		n = -1
	}
	s = s.number(n)
	s.h.Write(b)
	return s
}

// text adds a string.
func (s summer) text(t string) summer { return s.bytes([]byte(t)) }

// sum ends it.
func (s summer) sum() sum {
	var out [sha256.Size]byte
	return sum(binary.BigEndian.Uint64(s.h.Sum(out[:0])))
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
