package reducer

import (
	"iter"
	"math/bits"
)

// table maps strings to values and never changes: a hash trie of which each
// operation copies one path. What it holds does not depend on the order in which
// it came, but its order of walking means nothing. The zero value is empty.
type table[V any] struct{ root *branch[V] }

// A hash is read five bits at a time, the lowest first: at each level they choose
// one of 32 children, of which only those that exist are held. A leaf stands as
// high as it can, and moves down when another comes that agrees with it so far.

// branch has a child for each bit set in used, in the order of the bits.
type branch[V any] struct {
	used uint32
	kids []kid[V]
}

// kid is one of the two.
type kid[V any] struct {
	sub  *branch[V]
	leaf *leaf[V]
}

// leaf is an entry; next holds others whose whole hash is the same.
type leaf[V any] struct {
	hash  uint64
	key   string
	value V
	next  *leaf[V]
}

// hashOf is FNV-1a: plain and the same everywhere, as a pure package needs it.
func hashOf(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return h
}

// get is the value of key.
func (t table[V]) get(key string) (V, bool) {
	hash := hashOf(key)
	b := t.root
	for shift := uint(0); b != nil; shift += fanBits {
		bit, at := b.place(hash >> shift)
		if b.used&bit == 0 {
			break
		}
		if l := b.kids[at].leaf; l != nil {
			return l.find(hash, key)
		}
		b = b.kids[at].sub
	}
	var none V
	return none, false
}

// with is the table with the value of key set.
func (t table[V]) with(key string, value V) table[V] {
	t.root = t.root.with(0, &leaf[V]{hash: hashOf(key), key: key, value: value})
	return t
}

// without is the table without key.
func (t table[V]) without(key string) table[V] {
	if t.root != nil {
		t.root = t.root.without(0, hashOf(key), key)
	}
	return t
}

// all walks the entries in an order that means nothing.
func (t table[V]) all() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { t.root.walk(yield) }
}

// place is the bit for the lowest fanBits of hash, and the place of its child.
func (b *branch[V]) place(hash uint64) (uint32, int) {
	bit := uint32(1) << (hash & (fan - 1))
	return bit, bits.OnesCount32(b.used & (bit - 1))
}

// with is the branch with a fresh leaf put in; a nil branch is an empty one.
func (b *branch[V]) with(shift uint, l *leaf[V]) *branch[V] {
	if b == nil {
		b = &branch[V]{}
	}
	bit, at := b.place(l.hash >> shift)
	if b.used&bit == 0 {
		return &branch[V]{b.used | bit, inserted(b.kids, at, kid[V]{leaf: l})}
	}
	return &branch[V]{b.used, replaced(b.kids, at, b.kids[at].with(shift, l))}
}

// with is the child with a fresh leaf put in; the leaf is the caller's until then,
// which is why its next may be set.
func (k kid[V]) with(shift uint, l *leaf[V]) kid[V] {
	switch {
	case k.sub != nil:
		k.sub = k.sub.with(shift+fanBits, l)
	case k.leaf.hash == l.hash:
		l.next = k.leaf.without(l.key)
		k.leaf = l
	default:
		// Different hashes part at some lower level: all 64 bits are used there.
		var apart *branch[V]
		apart = apart.with(shift+fanBits, k.leaf).with(shift+fanBits, l)
		k = kid[V]{sub: apart}
	}
	return k
}

// without is the branch without key: itself if it has none, nil when empty.
func (b *branch[V]) without(shift uint, hash uint64, key string) *branch[V] {
	bit, at := b.place(hash >> shift)
	if b.used&bit == 0 {
		return b
	}
	old := b.kids[at]
	k := old
	if k.sub != nil {
		k.sub = k.sub.without(shift+fanBits, hash, key)
	} else if k.leaf.hash == hash {
		k.leaf = k.leaf.without(key)
	}
	switch {
	case k == old: // key was not there: nothing is copied
		return b
	case k != kid[V]{}:
		return &branch[V]{b.used, replaced(b.kids, at, k)}
	case len(b.kids) == 1:
		return nil
	}
	return &branch[V]{b.used &^ bit, removed(b.kids, at)}
}

// walk yields every entry below; false when the walk was broken off.
func (b *branch[V]) walk(yield func(string, V) bool) bool {
	if b == nil {
		return true
	}
	for _, k := range b.kids {
		if !k.sub.walk(yield) {
			return false
		}
		for l := k.leaf; l != nil; l = l.next {
			if !yield(l.key, l.value) {
				return false
			}
		}
	}
	return true
}

// find looks for key among the entries of one hash.
func (l *leaf[V]) find(hash uint64, key string) (V, bool) {
	if l.hash == hash {
		for ; l != nil; l = l.next {
			if l.key == key {
				return l.value, true
			}
		}
	}
	var none V
	return none, false
}

// without is the chain without key: itself if it has none.
func (l *leaf[V]) without(key string) *leaf[V] {
	switch {
	case l == nil:
		return nil
	case l.key == key:
		return l.next
	}
	next := l.next.without(key)
	if next == l.next {
		return l
	}
	c := *l
	c.next = next
	return &c
}
