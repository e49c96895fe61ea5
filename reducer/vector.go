package reducer

import "iter"

// A node of a vector has up to fan children; fanBits of an index choose one.
const (
	fanBits = 5
	fan     = 1 << fanBits
)

// vector is a list that never changes: each operation gives another list, which
// shares with this one all but a path of at most fan entries a level. Its last
// entries stand apart in tail, so that most appends copy those alone. The zero
// value is the empty list.
type vector[T any] struct {
	size  int
	shift uint // what an index is shifted by to choose a child of root
	root  *node[T]
	tail  []T // 1 to fan entries, unless the list is empty
}

// The tree has fan<<shift places. It holds full leaves only, since a tail is filed
// when it is full, and never shrinks, since nothing is ever taken out of a
// timeline. An index is read five bits at a time, the highest first.

// node holds children, or at the lowest level exactly fan entries.
type node[T any] struct {
	kids []*node[T]
	vals []T
}

// inTree counts the entries that stand in the tree, before those of the tail.
func (v vector[T]) inTree() int { return v.size - len(v.tail) }

// at is entry i; an index out of range panics, as in a slice.
func (v vector[T]) at(i int) T {
	if start := v.inTree(); i >= start {
		return v.tail[i-start]
	}
	n := v.root
	for shift := v.shift; shift > 0; shift -= fanBits {
		n = n.kids[i>>shift&(fan-1)]
	}
	return n.vals[i&(fan-1)]
}

// all walks the entries in order. Each is found anew from the root: that is two or
// three steps, and needs no path to be kept.
func (v vector[T]) all() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for i := range v.size {
			if !yield(i, v.at(i)) {
				return
			}
		}
	}
}

// with is the list with x in place of entry i.
func (v vector[T]) with(i int, x T) vector[T] {
	if start := v.inTree(); i >= start {
		v.tail = replaced(v.tail, i-start, x)
	} else {
		v.root = v.root.with(v.shift, i, x)
	}
	return v
}

// plus is the list with x behind its last entry.
func (v vector[T]) plus(x T) vector[T] {
	if len(v.tail) == fan {
		v = v.filed()
	}
	v.tail = inserted(v.tail, len(v.tail), x)
	v.size++
	return v
}

// filed moves a full tail into the tree. The tail's array is not copied: nobody
// writes to it any more, and nobody appends to it in place.
func (v vector[T]) filed() vector[T] {
	i := v.inTree()
	if v.root == nil {
		v.root = &node[T]{vals: v.tail}
	} else {
		if i == fan<<v.shift {
			v.root = &node[T]{kids: []*node[T]{v.root}}
			v.shift += fanBits
		}
		v.root = v.root.filed(v.shift, i, v.tail)
	}
	v.tail = nil
	return v
}

// with copies the path to entry i.
func (n *node[T]) with(shift uint, i int, x T) *node[T] {
	at := i >> shift & (fan - 1)
	if shift == 0 {
		return &node[T]{vals: replaced(n.vals, at, x)}
	}
	return &node[T]{kids: replaced(n.kids, at, n.kids[at].with(shift-fanBits, i, x))}
}

// filed copies the path to where entry i will be and puts vals there. A nil node
// is one that does not exist yet.
func (n *node[T]) filed(shift uint, i int, vals []T) *node[T] {
	if shift == 0 {
		return &node[T]{vals: vals}
	}
	var kids []*node[T]
	if n != nil {
		kids = n.kids
	}
	at := i >> shift & (fan - 1)
	if at == len(kids) {
		return &node[T]{kids: inserted(kids, at, (*node[T])(nil).filed(shift-fanBits, i, vals))}
	}
	return &node[T]{kids: replaced(kids, at, kids[at].filed(shift-fanBits, i, vals))}
}

// replaced is a copy of s with x in place of entry i.
func replaced[T any](s []T, i int, x T) []T {
	c := make([]T, len(s))
	copy(c, s)
	c[i] = x
	return c
}

// inserted is a copy of s with x before entry i, without room to spare.
func inserted[T any](s []T, i int, x T) []T {
	c := make([]T, len(s)+1)
	copy(c, s[:i])
	c[i] = x
	copy(c[i+1:], s[i:])
	return c
}

// removed is a copy of s without entry i.
func removed[T any](s []T, i int) []T {
	c := make([]T, len(s)-1)
	copy(c, s[:i])
	copy(c[i:], s[i+1:])
	return c
}
