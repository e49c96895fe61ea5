package protocol

import (
	"strconv"
	"strings"
)

// MalformedError is returned when a value of the wire is not what it claims to
// be. It lists every fault, not the first alone.
type MalformedError struct {
	// What names the value: "turn.ended event", "tool part", "envelope".
	What string
	// Faults are in the order in which the members are listed; never empty, at
	// most 100.
	Faults []Fault
}

// Error names every path and why.
func (e *MalformedError) Error() string {
	return "malformed " + e.What + ": " + wordFaults(e.Faults)
}

// InputError is returned when a value is no agent input.
type InputError struct {
	// Faults are in the order of the items; never empty.
	Faults []Fault
}

// Error names every path and why; the root has no path.
func (e *InputError) Error() string {
	return "invalid agent input: " + wordFaults(e.Faults)
}

// wordFaults joins faults as "path: why; path: why".
func wordFaults(faults []Fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = f.Message
		if f.Path != "" {
			words[i] = f.Path + ": " + f.Message
		}
	}
	return strings.Join(words, "; ")
}

// reading is one value being decoded: what is wrong so far, and which harness
// ids pass. Readers go on after a fault, so that all are reported at once.
type reading struct {
	faults []Fault
	// harness says whether an id is known; nil: any that is not blank.
	harness func(HarnessID) bool
	// what names the value in a MalformedError, after its kind: the first type
	// word that was met.
	what, kind string
	// session and message are the ids read last: a line repeats them, in the
	// envelope, the event and its part, and they are kept in memory once.
	session, message string
	// members are those of the objects open now, outermost first. room holds
	// them for the usual line; a reading just fits the allocator's 512 bytes.
	members []member
	room    [24]member
}

// begin checks that raw is JSON and gives it without the space around it; nil
// if it is not.
func (r *reading) begin(raw []byte) []byte {
	if !valid(raw) {
		r.fault("must be valid JSON")
		return nil
	}
	return trim(raw)
}

// fault notes what is wrong with the value being read, whose path is put before
// it on the way out.
func (r *reading) fault(why string) { r.faultAt("", why) }

// faultAt notes what is wrong with a member.
func (r *reading) faultAt(name, why string) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, Fault{Path: name, Message: why})
	}
}

// maxFaults bounds what is reported: a long array of rubbish must not come back
// as an answer many times its size.
const maxFaults = 100

// within puts name before the paths of the faults from mark on.
func (r *reading) within(mark int, name string) {
	for i := mark; i < len(r.faults); i++ {
		f := &r.faults[i]
		if f.Path == "" {
			f.Path = name
		} else {
			f.Path = name + "." + f.Path
		}
	}
}

// err is the MalformedError, or nil.
func (r *reading) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return &MalformedError{What: strings.TrimSpace(r.kind + " " + r.what), Faults: r.faults}
}

// reader decodes one valid value. What is wrong goes to the reading, paths
// relative to the value; the result then is not used.
type reader[T any] func(r *reading, raw []byte) T

// at reads a value that stands under name.
func at[T any](r *reading, name string, raw []byte, read reader[T]) T {
	mark, open := len(r.faults), len(r.members)
	v := read(r, raw)
	r.members = r.members[:open]
	if len(r.faults) > mark {
		r.within(mark, name)
	}
	return v
}

// listOf reads an array of what read reads; never nil. It gives up where no
// more faults are kept, so that a line full of rubbish is not blown up into a
// slice of structs many times its size.
func listOf[T any](read reader[T]) reader[[]T] {
	return func(r *reading, raw []byte) []T {
		if raw[0] != '[' {
			r.wrong("an array", raw)
			return nil
		}
		list := []T{}
		for item := range items(raw) {
			mark, open := len(r.faults), len(r.members)
			if mark == maxFaults {
				return nil
			}
			list = append(list, read(r, item))
			r.members = r.members[:open]
			if len(r.faults) > mark {
				r.within(mark, strconv.Itoa(len(list)-1))
			}
		}
		return list
	}
}

// mapOf reads an object whose values read reads; never nil. Of members with the
// same name the last one counts.
func mapOf[T any](read reader[T]) reader[map[string]T] {
	return func(r *reading, raw []byte) map[string]T {
		o, ok := r.open(raw)
		if !ok {
			return nil
		}
		last := make(map[string]int, o.to-o.from)
		for i := o.from; i < o.to; i++ {
			last[string(r.members[i].name(raw))] = i
		}
		values := make(map[string]T, len(last))
		for i := o.from; i < o.to; i++ {
			m := r.members[i]
			if name := string(m.name(raw)); last[name] == i {
				values[name] = at(r, name, m.value(raw), read)
			}
		}
		return values
	}
}

// object is a JSON object being read: r.members[from:to] are its members.
type object struct {
	r        *reading
	raw      []byte
	from, to int
}

// open lists an object's members; a fault and false if raw is none.
func (r *reading) open(raw []byte) (object, bool) {
	if len(raw) == 0 {
		return object{}, false // begin has said why
	}
	if raw[0] != '{' {
		r.wrong("an object", raw)
		return object{}, false
	}
	if r.members == nil {
		r.members = r.room[:0]
	}
	from := len(r.members)
	r.members = appendMembers(r.members, raw)
	return object{r: r, raw: raw, from: from, to: len(r.members)}, true
}

// find is a member's value, nil when absent. Of duplicates the last one counts,
// as in every JavaScript parser.
func (o *object) find(name string) []byte {
	members := o.r.members[o.from:o.to]
	for i := len(members) - 1; i >= 0; i-- {
		if members[i].is(o.raw, name) {
			return members[i].value(o.raw)
		}
	}
	return nil
}

// need reads a required member.
func need[T any](o *object, name string, read reader[T]) T {
	raw := o.find(name)
	if raw == nil {
		o.r.faultAt(name, "is required")
		var zero T
		return zero
	}
	return at(o.r, name, raw, read)
}

// orZero reads an optional member whose zero value means absent.
func orZero[T any](o *object, name string, read reader[T]) T {
	raw := o.find(name)
	if raw == nil {
		var zero T
		return zero
	}
	return at(o.r, name, raw, read)
}

// maybe reads an optional member; nil when absent.
func maybe[T any](o *object, name string, read reader[T]) *T {
	raw := o.find(name)
	if raw == nil {
		return nil
	}
	v := at(o.r, name, raw, read)
	return &v
}

// exactlyOne checks that one of two members stands there.
func (o *object) exactlyOne(a, b string) {
	if (o.find(a) == nil) == (o.find(b) == nil) {
		o.r.fault("must have exactly one of " + a + " and " + b)
	}
}

// registry is an open union: how each known type is read, the most frequent
// first.
type registry[T ~string, U any] []struct {
	kind T
	read func(o object) U
}

// of is the type word of an object and how its type is read: nil for an unknown
// one, "" for none at all, which is a fault.
func (reg registry[T, U]) of(o *object) (T, func(object) U) {
	kind, read := reg.named(literalBody(o.find("type")))
	if read == nil {
		kind = need(o, "type", aFilled[T])
		_, read = reg.named([]byte(kind)) // spelled with escapes, or unknown
	}
	if o.r.kind == "" {
		o.r.kind = string(kind)
	}
	return kind, read
}

func (reg registry[T, U]) named(word []byte) (T, func(object) U) {
	for _, row := range reg {
		if string(word) == string(row.kind) {
			return row.kind, row.read
		}
	}
	return "", nil
}

// literalBody is what stands between the quotes of a string, nil of anything else.
func literalBody(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// meta reads the optional extension object.
func (o *object) meta() Object { return orZero(o, "_meta", aFreeObject) }
