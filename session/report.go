package session

import (
	"bytes"
	"slices"

	"agent-server/harness"
	"agent-server/protocol"
)

// reported is what session.updated has said so far.
type reported struct {
	title, mode, model *string
	modes, commands    []protocol.Object
	tasks              int
}

// sessionInfo says what is new of what a harness reports of the session. Harnesses
// like to repeat themselves, each turn for instance: readers are not told again.
func (m *Machine) sessionInfo(u harness.SessionInfo) {
	r := &m.reported
	ev := protocol.SessionUpdated{SessionID: m.o.SessionID, Timestamp: m.now}
	news := renew(&r.title, &ev.Title, u.Title)
	news = renew(&r.mode, &ev.Mode, u.Mode) || news
	news = renewList(&r.modes, &ev.Modes, u.Modes) || news
	news = renewList(&r.commands, &ev.Commands, u.Commands) || news
	news = renew(&r.model, &ev.Model, u.Model) || news
	if news {
		m.emit(ev.Unknown())
	}
}

// renew takes a word in and says it, where it is another; true then. nil is none.
func renew(known, said **string, word *string) bool {
	if word == nil {
		return false
	}
	word = new(clean(*word))
	if *known != nil && **known == *word {
		return false
	}
	*known, *said = word, word
	return true
}

// renewList is renew for a list of objects; what is no object is left out.
func renewList(known, said *[]protocol.Object, list []protocol.Object) bool {
	if list == nil {
		return false
	}
	objects := make([]protocol.Object, 0, len(list))
	for _, o := range list {
		if o = object(o); o != nil {
			objects = append(objects, o)
		}
	}
	same := func(a, b protocol.Object) bool { return bytes.Equal(a, b) }
	if *known != nil && slices.EqualFunc(*known, objects, same) {
		return false
	}
	*known, *said = objects, objects
	return true
}

// sayTasks says how much runs on beside the turns, where that has changed.
func (m *Machine) sayTasks(n int) {
	if m.reported.tasks == n {
		return
	}
	m.reported.tasks = n
	m.emit((&protocol.SessionUpdated{
		SessionID: m.o.SessionID, BackgroundTasks: new(int64(n)), Timestamp: m.now,
	}).Unknown())
}
