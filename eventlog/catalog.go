package eventlog

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// ErrCursor is returned for a catalog's cursor that no catalog has given.
var ErrCursor = errors.New("the cursor names no place in the list")

// Cursor names a session's place in a catalog. A session that is updated later
// moves to the front, and moves no other one's place.
func Cursor(s Summary) string { return strconv.FormatInt(s.UpdatedAt, 10) + "." + s.Session }

// ParseCursor reads what Cursor has made.
func ParseCursor(cursor string) (updatedAt int64, session string, err error) {
	at, session, ok := strings.Cut(cursor, ".")
	updatedAt, err = strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return 0, "", ErrCursor
	}
	return updatedAt, session, nil
}

// pageOf sorts summaries, the one updated last first and equal ones by id, and
// gives the page after a cursor.
func pageOf(all []Summary, cursor string, limit int) (page []Summary, next string, err error) {
	slices.SortFunc(all, before)
	if cursor != "" {
		at, session, err := ParseCursor(cursor)
		if err != nil {
			return nil, "", err
		}
		from, found := slices.BinarySearchFunc(all, Summary{UpdatedAt: at, Session: session}, before)
		if found {
			from++
		}
		all = all[from:]
	}
	if limit > 0 && len(all) > limit {
		return all[:limit], Cursor(all[limit-1]), nil
	}
	return all, "", nil
}

// before orders a catalog.
func before(a, b Summary) int {
	if a.UpdatedAt != b.UpdatedAt {
		if a.UpdatedAt > b.UpdatedAt {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Session, b.Session)
}
