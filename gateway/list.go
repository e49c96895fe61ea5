package gateway

import (
	"errors"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/session"
)

// Bounds of a page of session/list.
const (
	listLimit    = 100
	maxListLimit = 1_000
)

// sessionList gives a page of what the log holds, each with what is known of it
// live. The log is read, and sessions may be busy: the connection's next request
// does not wait for it.
func (g *Gateway) sessionList(c *call, params []byte) {
	p, faults := protocol.DecodeSessionList(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	limit, cursor := listLimit, ""
	if p.Limit != nil {
		limit = int(min(*p.Limit, maxListLimit))
	}
	if p.Cursor != nil {
		cursor = *p.Cursor
	}
	v := *c.sub.asked.Load()
	g.aside(c, protocol.MethodSessionList, func() {
		page, next, err := g.catalog.Sessions(cursor, limit)
		switch {
		case errors.Is(err, eventlog.ErrCursor):
			c.fail(protocol.ErrInvalidParams([]protocol.Fault{{Path: "cursor", Message: "is no nextCursor"}}))
		case err != nil:
			g.zap.Error("the sessions cannot be listed", zap.Error(err))
			c.fail(protocol.ErrInternal("the logs cannot be listed"))
		default:
			c.result(g.listed(page, next, v))
		}
	})
}

// listed is a page as a connection is shown it.
func (g *Gateway) listed(page []eventlog.Summary, next string, v view) protocol.SessionListResult {
	r := protocol.SessionListResult{Sessions: make([]protocol.SessionEntry, 0, len(page))}
	for _, s := range page {
		e := protocol.SessionEntry{SessionID: s.Session, Harness: protocol.HarnessID(s.Facts.Harness), Cwd: s.Facts.Cwd,
			Status: protocol.SessionClosed, LatestSeq: s.Latest, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt}
		if live := g.lookup(s.Session); live != nil {
			live.describe(&e)
		} else if g.openIn(s.Session, s.State, s.Latest) {
			e.Status = protocol.SessionIdle
		}
		if !v.open && !e.Harness.Base() {
			e.Harness = protocol.HarnessACP
		}
		r.Sessions = append(r.Sessions, e)
	}
	if next != "" {
		r.NextCursor = &next
	}
	return r
}

// describe says what goes on in a session at this moment.
func (s *Session) describe(e *protocol.SessionEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.LatestSeq = s.head.Load()
	m := s.machine
	if m != nil || s.dormant() {
		e.Status = protocol.SessionIdle
	}
	if m == nil {
		return
	}
	if id, ok := m.Active(); ok {
		e.Status, e.ActiveTurnID = protocol.SessionActive, &id
	}
	if title := m.Title(); title != "" {
		e.Title = &title
	}
	e.QueuedTurns = int64(m.QueuedTurns())
	e.PendingPermissions = int64(len(m.PendingPermissions()))
	e.BackgroundTasks = int64(m.BackgroundTasks())
}

// noCatalog is that of a log which has none.
type noCatalog struct{}

var errNoCatalog = errors.New("the log keeps no list of its sessions")

func (noCatalog) Sessions(string, int) ([]eventlog.Summary, string, error) {
	return nil, "", errNoCatalog
}
func (noCatalog) Remove(string) error { return errNoCatalog }

// hear notes what of an input the log is to know beside the events.
func (s *Session) hear(in session.Input) {
	if in, ok := in.(session.StartTurn); ok {
		s.cwd = in.Config.Cwd
	}
}

// facts are what an admission changes of them; nil: nothing new.
func (s *Session) facts(admit *session.Admission) *eventlog.Facts {
	if admit == nil {
		return nil
	}
	return &eventlog.Facts{Harness: string(s.ranAs), Cwd: s.cwd}
}
