package sqlite

import (
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"agent-server/eventlog"
)

// Sessions implements eventlog.Catalog. A session's times are those of appends
// that the disk has seen.
func (l *Log) Sessions(cursor string, limit int) (page []eventlog.Summary, next string, err error) {
	at, after := int64(math.MaxInt64), ""
	if cursor != "" {
		if at, after, err = eventlog.ParseCursor(cursor); err != nil {
			return nil, "", err
		}
	}
	if limit <= 0 {
		limit = math.MaxInt32
	}
	err = l.pool.with(func(conn *sqlite.Conn) error {
		// One more than asked for says whether there is a next page.
		page, err = readPage(conn, at, after, limit+1)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("listing sessions: %w", damage("", err))
	}
	if len(page) > limit {
		page = page[:limit]
		next = eventlog.Cursor(page[limit-1])
	}
	for i := range page {
		l.patch(&page[i])
	}
	return page, next, nil
}

// readPage reads up to limit summaries behind a place, along the index. A row that
// is not what was written fails the page: a list that silently lacks a session
// would be taken for the truth.
func readPage(conn *sqlite.Conn, at int64, after string, limit int) (page []eventlog.Summary, err error) {
	stmt, err := conn.Prepare("SELECT " + columns + ` FROM sessions WHERE last > lost
		AND (updated < ?1 OR updated = ?1 AND session > ?2) ORDER BY updated DESC, session LIMIT ?3`)
	if err != nil {
		return nil, err
	}
	stmt.BindInt64(1, at)
	stmt.BindText(2, after)
	stmt.BindInt64(3, int64(limit))
	err = each(stmt, func() (bool, error) {
		r, err := scanRow(stmt)
		if err == nil {
			page = append(page, r.summary())
		}
		return true, err
	})
	return page, err
}

// patch puts the head in that this process knows: the disk's may be ahead of it,
// by what is reserved.
func (l *Log) patch(s *eventlog.Summary) {
	l.mu.RLock()
	live := l.sessions[s.Session]
	l.mu.RUnlock()
	if live != nil {
		_, s.Latest, _ = live.span()
	}
}

// Remove implements eventlog.Catalog. The events are out of everybody's sight when
// it returns; the disk's space follows.
func (l *Log) Remove(session string) error {
	s, err := l.lookup(session)
	if s == nil || err != nil {
		return err
	}
	if err := s.remove(false); err != nil {
		return err
	}
	l.keeper.nudge()
	return nil
}
