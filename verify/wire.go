package verify

import (
	"encoding/json"
	"errors"
	"fmt"

	"agent-server/protocol"
)

// strict gives what the strict decoder has against an event that was made in
// memory; nil where it passes. What does not even encode does not pass.
func strict(ev protocol.Event, base bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("encoding the event: %v", r)
		}
	}()
	if ev == nil {
		return errors.New("the envelope holds no event")
	}
	decode := protocol.DecodeEvent
	if base {
		decode = protocol.DecodeEventBase
	}
	_, err = decode(protocol.AppendEvent(nil, ev))
	return err
}

// malformed is what is said of an event, or its envelope, that does not decode.
func malformed(at int, err error) []Violation {
	found := []Violation{{SchemaValid, at, err.Error()}}
	var faults *protocol.MalformedError
	if !errors.As(err, &faults) {
		return found
	}
	for _, f := range faults.Faults {
		// Only a known event's timestamp is read, so only that one is at fault.
		if f.Path == "timestamp" || f.Path == "event.timestamp" {
			found = append(found, Violation{TimestampValid, at, "timestamp " + f.Message})
		}
	}
	return found
}

// line is an envelope's line as far as it could be read.
type line struct {
	env protocol.Envelope
	// err says why the envelope does not decode; nil where it does.
	err error
	// placed: session and seq are known, whatever the rest is.
	placed bool
}

// read reads a line. Of an envelope that does not decode it still tries session
// and seq, so that what comes after it is not blamed for a hole.
func read(raw []byte) line {
	env, err := protocol.DecodeEnvelope(raw)
	if err == nil {
		return line{env: env, placed: true}
	}
	l := line{err: err}
	if json.Unmarshal(member(raw, "sessionId"), &l.env.SessionID) != nil {
		return l
	}
	l.placed = json.Unmarshal(member(raw, "seq"), &l.env.Seq) == nil && l.env.Seq > 0
	var prev int64
	if json.Unmarshal(member(raw, "prevSeq"), &prev) == nil {
		l.env.PrevSeq = &prev
	}
	return l
}
