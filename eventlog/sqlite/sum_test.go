package sqlite

import (
	"strings"
	"testing"

	"agent-server/eventlog"
)

// TestSums: whatever differs has another sum, where fields lie beside each other
// too; what is the same has the same.
func TestSums(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat("x", 100))
	record := func(change func(*eventlog.Record)) eventlog.Record {
		r := eventlog.Record{Seq: 1, Line: long, EventAt: 5, Turn: 2, Durable: true}
		change(&r)
		return r
	}
	sums := map[string]sum{
		"record":     chained(1, record(func(*eventlog.Record) {})),
		"before":     chained(2, record(func(*eventlog.Record) {})),
		"seq":        chained(1, record(func(r *eventlog.Record) { r.Seq = 2 })),
		"turn":       chained(1, record(func(r *eventlog.Record) { r.Turn = 3 })),
		"eventAt":    chained(1, record(func(r *eventlog.Record) { r.EventAt = 6 })),
		"line":       chained(1, record(func(r *eventlog.Record) { r.Line = long[1:] })),
		"base":       chained(1, record(func(r *eventlog.Record) { r.Base = long })),
		"empty base": chained(1, record(func(r *eventlog.Record) { r.Base = []byte{} })),
		"seed":       seed("a", 1),
		"seed a1":    seed("a1", 0),
		"meta":       named("ab", []byte("c")),
		"meta ab":    named("a", []byte("bc")),
		"admission":  admitted(1, 2, eventlog.Admission{TurnID: "t"}),
		"nth":        admitted(1, 3, eventlog.Admission{TurnID: "t"}),
		"hash":       admitted(1, 2, eventlog.Admission{TurnID: "t", Hash: [32]byte{1}}),
	}
	seen := map[sum]string{}
	for name, s := range sums {
		if other, twice := seen[s]; twice {
			t.Errorf("%s and %s have one sum", name, other)
		}
		seen[s] = name
	}
	if again := chained(1, record(func(*eventlog.Record) {})); again != sums["record"] {
		t.Error("one record has two sums")
	}
}
