package session

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// native is what is known of the harness's own conversation. The next process
// goes on with it, whatever became of the one before: evicted, crashed, or
// restarted for another config.
type native struct {
	// id is what the next process goes on with; "" where there is none yet.
	id string
	// at is a place in it that a client asked for and no process has confirmed;
	// "" is its end.
	at string
	// given is the last config.resumeSessionId; "" where there was none.
	given string
	// restored is true of an id that was in use before this machine was, until a
	// client gives one: which one it gave last is not known any more, and a client
	// sends the same config again.
	restored bool
	// lost is true from a failed resume until the fresh conversation is known.
	lost bool
}

// want takes the turn's resumeSessionId in, and gives the launch of a process for
// the turn. moved is true where a live process holds another conversation, or
// another place in it.
//
// The id counts while the session has no native id of its own, and later only if
// it differs from the last one given: a client that sends the same config again
// means "go on", not "go back".
func (m *Machine) want(cfg protocol.RunConfig) (l harness.Launch, moved bool) {
	n := &m.native
	if id := cfg.ResumeSessionID; id != nil && *id != "" {
		if n.restored {
			n.restored, n.given = false, *id
		}
		if n.id == "" || *id != n.given {
			at := deref(cfg.ResumeSessionAt)
			moved = n.id != *id || at != ""
			n.id, n.at = *id, at
		}
		n.given = *id
	}
	return m.launch(cfg), moved
}

// launch is how a process is started now: going on with the conversation, or
// with a fresh one under an id that no process had before.
func (m *Machine) launch(cfg protocol.RunConfig) harness.Launch {
	l := harness.Launch{Config: cfg, Resume: m.native.id, ResumeAt: m.native.at}
	if l.Resume == "" {
		l.NativeID = m.newID()
	}
	return l
}

// created takes the native id in, and tells it once a turn. One that comes while
// no turn is open is told by the next.
func (m *Machine) created(p *process, u harness.Created) {
	if u.NativeID == "" {
		m.note("native session without an id", "")
		return
	}
	if m.native.id != u.NativeID {
		m.forgetOpenTools()
	}
	m.native.id, m.native.at = u.NativeID, ""
	if !p.created {
		p.created = true
		p.resumed = m.resumedBy(p, u)
		m.native.lost = false
	}
	if m.turn != nil {
		m.sayCreated(p)
	}
}

// resumedBy says what became of the wish to resume; nil where there was none.
func (m *Machine) resumedBy(p *process, u harness.Created) *bool {
	switch {
	case p.launch.Resume != "":
		return &u.Resumed
	case m.native.lost:
		return new(false)
	}
	return nil
}

// sayCreated tells the native id, once a turn. Whether a conversation was gone on
// with is said once a process: on a live one nothing was to be resumed.
func (m *Machine) sayCreated(p *process) {
	if m.turn.created {
		return
	}
	m.turn.created = true
	m.emit(&protocol.SessionCreated{
		SessionID: m.o.SessionID, NativeSessionID: m.native.id, Harness: m.info.ID,
		Model: m.turn.cfg.Model, Resumed: p.resumed, Timestamp: m.now,
	})
	p.resumed = nil
}

// resumeFailed goes on in a fresh conversation, and says that the context is
// lost; except where another process owns the id, which a fresh one would hide.
func (m *Machine) resumeFailed(p *process, u harness.ResumeFailed) {
	begun := p.created || m.turn != nil && m.turn.registered
	m.stop()
	switch {
	case p.launch.Resume == "" || begun:
		m.failTurn(protocol.CategoryInternal, "the harness lost the conversation it was in"+reason(u.Message))
	case u.InUse:
		m.failTurn(protocol.CategoryInvalidRequest, "the native session is in use elsewhere"+reason(u.Message))
	default:
		m.note("resume failed; going on in a fresh native session", "")
		m.native.id, m.native.at, m.native.lost = "", "", true
		m.replace()
	}
}

// reason is a message as the end of a sentence; "" where there is none.
func reason(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
