package harnesstest

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
)

// odd are values that nobody expects.
var odd = []any{nil, true, 7.5, -1.0, "", "odd", []any{}, []any{nil}, map[string]any{}, map[string]any{"odd": 1.0}}

// changed is a line with one value of it changed for another, or left out; what is
// no JSON stays.
func changed(rng *rand.Rand, line []byte) []byte {
	var v any
	if json.Unmarshal(line, &v) != nil {
		return line
	}
	v = change(rng, v)
	b, err := json.Marshal(v)
	if err != nil {
		return line
	}
	return b
}

// change walks down to a value and changes it there.
func change(rng *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			break
		}
		keys := slices.Sorted(maps.Keys(v))
		key := keys[rng.IntN(len(keys))]
		if rng.IntN(8) == 0 {
			delete(v, key)
		} else {
			v[key] = change(rng, v[key])
		}
		return v
	case []any:
		if len(v) == 0 || rng.IntN(4) == 0 {
			break
		}
		i := rng.IntN(len(v))
		v[i] = change(rng, v[i])
		return v
	}
	return odd[rng.IntN(len(odd))]
}
