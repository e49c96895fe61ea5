package gateway

import (
	"bytes"
	"fmt"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/session"
)

// life is what a session's log says of its present life, the one since its last end:
// what a machine is to know that takes it over. Of the lives before it only the
// admissions count, and those the log holds beside the events.
type life struct {
	// native is the harness's own conversation; "": none was told of.
	native string
	// harness runs it; "": that was not told.
	harness protocol.HarnessID
	// rules are the standing rules that came of its permissions' answers.
	rules []session.Rule
	// asked are the requests that have no answer yet, by id.
	asked map[string]*protocol.PermissionRequested
}

// telling are the events that a life is read from; others are not even decoded.
var telling = [][]byte{
	[]byte(`{"type":"` + protocol.TypeSessionCreated + `"`),
	[]byte(`{"type":"` + protocol.TypeSessionEnded + `"`),
	[]byte(`{"type":"` + protocol.TypePermissionRequested + `"`),
	[]byte(`{"type":"` + protocol.TypePermissionResolved + `"`),
}

// tells says whether a record may be one of those.
func tells(r eventlog.Record) bool {
	for _, head := range telling {
		if bytes.HasPrefix(r.Line[r.EventAt:], head) {
			return true
		}
	}
	return false
}

// lifeOf reads a session's present life, up to a seq. Where the front was let go it is
// what the rest tells.
func (g *Gateway) lifeOf(id string, upto int64) (l life, err error) {
	first, _, ok := g.log.Range(id)
	if !ok {
		return l, eventlog.ErrPruned
	}
	for at := first - 1; at < upto; {
		records, err := g.log.Read(id, at, replayChunk)
		if err != nil {
			return life{}, fmt.Errorf("reading the log of session %s: %w", id, err)
		}
		if len(records) == 0 {
			break // numbers that a crash has skipped
		}
		for _, r := range records {
			if at = r.Seq; !tells(r) {
				continue
			}
			env, err := protocol.DecodeEnvelope(r.Envelope())
			if err != nil {
				return life{}, fmt.Errorf("reading the log of session %s: %w", id, err)
			}
			l.take(env.Event)
		}
	}
	return l, nil
}

// take goes on by one event.
func (l *life) take(ev protocol.Event) {
	switch ev := ev.(type) {
	case *protocol.SessionCreated:
		l.native, l.harness = ev.NativeSessionID, ev.Harness
	case *protocol.SessionEnded:
		*l = life{}
	case *protocol.PermissionRequested:
		if l.asked == nil {
			l.asked = map[string]*protocol.PermissionRequested{}
		}
		l.asked[ev.RequestID] = ev
	case *protocol.PermissionResolved:
		if asked := l.asked[ev.RequestID]; asked != nil {
			if rule, stands := session.RuleOf(asked, ev); stands {
				l.rules = append(l.rules, rule)
			}
			delete(l.asked, ev.RequestID)
		}
	}
}
