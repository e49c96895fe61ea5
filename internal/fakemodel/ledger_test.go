package fakemodel

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestLedgerCountsAttemptsByKey(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for i, tc := range []struct {
		key     string
		attempt int
	}{{"a", 0}, {"b", 0}, {"a", 1}, {"", 0}, {"", 0}, {"a", 2}} {
		number, attempt := l.enter(Request{}, tc.key)
		if number != i || attempt != tc.attempt {
			t.Errorf("request %d: number %d attempt %d", i, number, attempt)
		}
	}
	requests, _ := l.all()
	if len(requests) != 6 || requests[5].Attempt != 2 {
		t.Errorf("requests %+v", requests)
	}
}

// What the ledger hands out is not changed by what comes later.
func TestLedgerHandsOutCopies(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.enter(Request{State: Answering}, "")
	before, _ := l.all()
	l.move(0, Done, "")
	if after, _ := l.all(); before[0].State != Answering || after[0].State != Done {
		t.Errorf("before %s, after %s", before[0].State, after[0].State)
	}
}

// Everyone who waits hears of every change, and nobody misses one.
func TestLedgerWakesAll(t *testing.T) {
	t.Parallel()
	l := newLedger()
	var waiting sync.WaitGroup
	for n := range 4 {
		waiting.Go(func() {
			if err := l.wait(bounded(t), func(r []Request) bool { return len(r) > n }); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		l.enter(Request{}, "")
	}
	waiting.Wait()
}

func TestLedgerWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	looked := func([]Request) bool { cancel(); return false }
	if err := newLedger().wait(ctx, looked); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A released gate stays open, before anyone stood there and after.
func TestGates(t *testing.T) {
	t.Parallel()
	var g gates
	early := g.opened("a")
	g.release("a")
	g.release("a")
	g.release("b")
	for _, open := range []<-chan struct{}{early, g.opened("a"), g.opened("b")} {
		select {
		case <-open:
		default:
			t.Error("a released gate is shut")
		}
	}
	select {
	case <-g.opened("c"):
		t.Error("a gate is open that nobody released")
	default:
	}
}
