package demoagent

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// The limits of what can be asked for. They are there so that a slip of the
// finger is an error and not a full disk.
const (
	maxDeltas     = 100_000_000
	maxDeltaBytes = 1 << 20
	maxDeltaGap   = int(time.Minute / time.Microsecond) // microseconds
)

// flood sends N numbered deltas of one message. It encodes one delta and then
// only changes its number, so that what is measured with it is the reader.
func flood(ctx context.Context, t *turn) error {
	n, err := t.number(0, 0, 1, maxDeltas)
	if err != nil {
		return err
	}
	size, err := t.number(1, 16, 1, maxDeltaBytes)
	if err != nil {
		return err
	}
	line, digits := t.floodLine(size)
	for range n {
		if ctx.Err() != nil {
			return errCancelled
		}
		increment(digits)
		t.output += size
		t.agent.out.hold(line)
	}
	return nil
}

// floodLine makes the line of delta 0 and finds the digits of its number in it.
func (t *turn) floodLine(size int) (line, digits []byte) {
	text := append(bytes.Repeat([]byte("0"), size-1), ' ')
	line = t.line(t.chunk(kindMessage, string(text)))
	t.output -= size // this one is not sent
	at := bytes.LastIndex(line, text)
	return line, line[at : at+size-1]
}

// increment adds one to a decimal number in place; too few digits wrap around.
func increment(digits []byte) {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] != '9' {
			digits[i]++
			return
		}
		digits[i] = '0'
	}
}

// deltas sends N deltas, each at its own time after the start, so that a slow
// one does not delay those after it.
func deltas(ctx context.Context, t *turn) error {
	n, err := t.number(0, 0, 1, maxDeltas)
	if err != nil {
		return err
	}
	gap, err := t.number(1, 1000, 0, maxDeltaGap)
	if err != nil {
		return err
	}
	start := time.Now()
	for i := range n {
		at := start.Add(time.Duration(i) * time.Duration(gap) * time.Microsecond)
		if err := sleepUntil(ctx, at); err != nil {
			return err
		}
		if err := t.say(ctx, fmt.Sprintf("delta %d\n", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// sleepUntil returns errCancelled if ctx ends first.
func sleepUntil(ctx context.Context, at time.Time) error {
	wait := time.Until(at)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errCancelled
	}
}

// think sends a message of thoughts and then one of text.
func think(ctx context.Context, t *turn) error {
	err := t.think(ctx, "The demo pretends to think. ", "It weighs two answers ", "and takes the shorter one.")
	if err != nil {
		return err
	}
	return t.say(ctx, "These were thoughts; ", "this is the answer.")
}
