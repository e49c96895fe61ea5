package reducer

// keyed is an entry of a roll.
type keyed interface {
	// key is the id the entry is found by.
	key() string
}

// rollScan is up to how many entries a roll is searched by looking at each: most
// messages have few parts, and a table for each would be most of their memory.
const rollScan = 8

// roll is a list of entries in order of first sight, each found by its id. It
// never changes. The zero value is empty.
type roll[T keyed] struct {
	list   vector[T]
	places table[int] // id → place; filled only beyond rollScan entries
}

// find is the place of the entry with this id.
func (r roll[T]) find(id string) (int, bool) {
	if r.list.size > rollScan {
		return r.places.get(id)
	}
	for i, x := range r.list.all() {
		if x.key() == id {
			return i, true
		}
	}
	return 0, false
}

// get is the entry with this id.
func (r roll[T]) get(id string) (T, bool) {
	if i, ok := r.find(id); ok {
		return r.list.at(i), true
	}
	var none T
	return none, false
}

// plus is the roll with a new entry at its end; its id must not be there yet. The
// entry that is one too many for searching brings the table, with all before it.
func (r roll[T]) plus(x T) roll[T] {
	r.list = r.list.plus(x)
	switch n := r.list.size; {
	case n == rollScan+1:
		for i, x := range r.list.all() {
			r.places = r.places.with(x.key(), i)
		}
	case n > rollScan:
		r.places = r.places.with(x.key(), n-1)
	}
	return r
}

// with is the roll with x in place of entry i, which has the same id.
func (r roll[T]) with(i int, x T) roll[T] {
	r.list = r.list.with(i, x)
	return r
}
