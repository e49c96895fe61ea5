package acp

import "slices"

// memory is a map that forgets its oldest keys beyond a bound. The zero value is empty.
type memory[V any] struct {
	values map[string]V
	order  []string
}

// keep remembers a value under a key, and at most so many.
func (m *memory[V]) keep(key string, v V, most int) {
	if m.values == nil {
		m.values = map[string]V{}
	}
	if _, known := m.values[key]; !known {
		m.order = append(m.order, key)
	}
	m.values[key] = v
	for len(m.order) > most {
		delete(m.values, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
}

// recall is what is remembered under a key.
func (m *memory[V]) recall(key string) (V, bool) {
	v, ok := m.values[key]
	return v, ok
}

// forget lets go of a key.
func (m *memory[V]) forget(key string) {
	if _, known := m.values[key]; known {
		delete(m.values, key)
		m.order = slices.DeleteFunc(m.order, func(k string) bool { return k == key })
	}
}
