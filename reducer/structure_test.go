package reducer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every stage of a list stays what a slice would be, across the sizes at which
// its tree gets another level.
func TestVectorIsAList(t *testing.T) {
	t.Parallel()
	const n = fan*fan*fan + 2*fan + 1
	var v vector[int]
	stages := map[int]vector[int]{}
	for i := range n {
		if i%997 == 0 || i == fan || i == fan+fan*fan {
			stages[i] = v
		}
		v = v.plus(i)
	}
	changed := v
	for i := range n {
		if i%31 == 0 {
			changed = changed.with(i, -i)
		}
	}
	for i, x := range changed.slice() {
		want := i
		if i%31 == 0 {
			want = -i
		}
		if x != want {
			t.Fatalf("entry %d is %d", i, x)
		}
	}
	stages[n] = v
	for size, stage := range stages {
		if stage.size != size || len(stage.slice()) != size {
			t.Fatalf("size %d, want %d", stage.size, size)
		}
		for i, x := range stage.all() {
			if x != i {
				t.Fatalf("at size %d entry %d is %d", size, i, x)
			}
		}
	}
}

// Two futures of one list do not meet.
func TestVectorBranches(t *testing.T) {
	t.Parallel()
	for size := range 3 * fan {
		v := vectorOf(make([]int, size))
		a, b := v.plus(1), v.plus(2)
		if a.at(size) != 1 || b.at(size) != 2 || v.size != size {
			t.Fatalf("size %d: %d and %d", size, a.at(size), b.at(size))
		}
	}
}

// A table is what a map would be, whatever is put in and taken out, and every
// stage of it stays.
func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var stages []table[int]
		var wants []map[string]int
		var x table[int]
		want := map[string]int{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			key := fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "key"))
			if rapid.IntRange(0, 3).Draw(t, "out") == 0 {
				x = x.without(key)
				delete(want, key)
			} else {
				value := rapid.Int().Draw(t, "value")
				x = x.with(key, value)
				want[key] = value
			}
			stages, wants = append(stages, x), append(wants, maps.Clone(want))
		}
		for i, stage := range stages {
			if got := maps.Collect(stage.all()); !maps.Equal(wants[i], got) {
				t.Fatalf("after %d steps: %v, want %v", i+1, got, wants[i])
			}
			for key := range 61 {
				got, ok := stage.get(fmt.Sprint(key))
				value, known := wants[i][fmt.Sprint(key)]
				if got != value || ok != known {
					t.Fatalf("after %d steps: %d is %d, %v", i+1, key, got, ok)
				}
			}
		}
	})
}

// Keys with the same hash, or with hashes that differ in the last bits alone, are
// told apart.
func TestTableCollisions(t *testing.T) {
	t.Parallel()
	leaves := []leaf[int]{{hash: 7, key: "a", value: 1}, {hash: 7, key: "b", value: 2}, {hash: 7 | 1<<63, key: "c", value: 3}, {hash: 7, key: "d", value: 4}}
	var b *branch[int]
	for _, l := range leaves {
		b = b.with(0, &l)
	}
	full := maps.Collect(table[int]{b}.all())
	if want := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}; !maps.Equal(want, full) {
		t.Fatalf("%v", full)
	}
	again := b.with(0, &leaf[int]{hash: 7, key: "a", value: 9})
	for _, l := range leaves {
		b = b.without(0, l.hash, l.key)
		if got := maps.Collect(table[int]{b}.all()); got[l.key] != 0 {
			t.Errorf("%s is still there: %v", l.key, got)
		}
	}
	if b != nil {
		t.Error("an empty branch is left")
	}
	if got := maps.Collect(table[int]{again}.all()); !maps.Equal(map[string]int{"a": 9, "b": 2, "c": 3, "d": 4}, got) {
		t.Errorf("%v", got)
	}
	if same := again.without(0, 7, "nobody"); same != again {
		t.Error("taking out nobody gave another branch")
	}
}

// Walking may be broken off anywhere.
func TestWalksStop(t *testing.T) {
	t.Parallel()
	var x table[int]
	for i := range 100 {
		x = x.with(fmt.Sprint(i), i)
	}
	n := 0
	for range x.all() {
		if n++; n == 40 {
			break
		}
	}
	for range vectorOf(make([]int, 100)).all() {
		if n++; n == 80 {
			break
		}
	}
	if n != 80 {
		t.Errorf("%d steps", n)
	}
}

// entry is the least that a roll holds.
type entry string

func (e entry) key() string { return string(e) }

// A roll finds each entry at its place, before and after it keeps a table, and
// nothing else.
func TestRollFinds(t *testing.T) {
	t.Parallel()
	var r roll[entry]
	for i := range 3 * rollScan {
		if _, ok := r.find(fmt.Sprint(i)); ok {
			t.Fatalf("%d is there before it came", i)
		}
		r = r.plus(entry(fmt.Sprint(i)))
		for j := range i + 1 {
			if place, ok := r.find(fmt.Sprint(j)); !ok || place != j {
				t.Fatalf("of %d entries, %d is at %d, %v", i+1, j, place, ok)
			}
		}
		if _, ok := r.get("nobody"); ok {
			t.Fatal("nobody is there")
		}
	}
}

// Grown text is what concatenation gives, at every stage and in every branch.
func TestGrownIsConcatenation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"", "a", "forty bytes of text, as a model sends it", strings.Repeat("x", 3*chunkBytes)})).Draw(t, "pieces")
		var g grown
		stages := []grown{g}
		for _, s := range pieces {
			g.plus("elsewhere")
			g = g.plus(s)
			stages = append(stages, g)
		}
		for i, stage := range stages {
			want := strings.Join(slices.Concat([]string{"head "}, pieces[:i]), "")
			if got := stage.after("head "); got != want {
				t.Fatalf("after %d pieces: %q, want %q", i, got, want)
			}
		}
	})
}
