package eventlog

import "math"

// What a window may hold of one session, whichever comes first, for those who are
// absent: 8 MiB, and 4,096 envelopes. What a connection has yet to read comes on
// top of it.
const (
	WindowBytes   = 8 << 20
	WindowRecords = 4096
)

// recordOverhead is what a record costs besides its bytes.
const recordOverhead = 96

// Window is the newest end of one session's log in memory, deltas included:
// every record above its floor. Each engine has one a session, above its store of
// durable events, so that live reading is the same whatever lies below.
//
// The zero value is an empty window of a session never seen. Its caller guards
// it; slices that After gives stay valid without the guard.
type Window struct {
	shelf shelf
	// floor is the last seq that is not held here; restated is the highest
	// Batch.Restated.
	floor, restated int64
	// retryBytes and retryCount are the sizes from which it is worth trying again
	// to let something go, after a try that had to stop.
	retryBytes int64
	retryCount int
	// unread is the last batch's Unread.
	unread func() int64
}

// Begin empties the window. What has a seq up to floor is held elsewhere, or gone.
func (w *Window) Begin(floor int64) { *w = Window{floor: floor, restated: w.restated} }

// Add puts a batch's records in; they follow on what is held.
func (w *Window) Add(b Batch) {
	for _, r := range b.Records {
		w.shelf.push(r)
	}
	w.restated = max(w.restated, b.Restated)
	w.unread = b.Unread
}

// Trim lets go what stands beyond the window, oldest first, and gives back what
// of it is durable. It stops at what somebody has yet to read, and at a delta that
// no snapshot restates. An eighth more than needed goes, so that Unread is asked
// rarely; where little could go, it is asked again when another eighth has come.
func (w *Window) Trim() []Record {
	if !w.over(max(WindowBytes, w.retryBytes), max(WindowRecords, w.retryCount)) {
		return nil
	}
	w.retryBytes, w.retryCount = 0, 0
	durable, stopped := w.trim(WindowBytes-WindowBytes/8, WindowRecords-WindowRecords/8)
	if stopped {
		w.retryBytes, w.retryCount = w.shelf.bytes+WindowBytes/8, w.shelf.count+WindowRecords/8
	}
	return durable
}

// Shrink is Trim for a session in which nothing goes on any more: everything that
// may go does.
func (w *Window) Shrink() []Record {
	durable, _ := w.trim(0, 0)
	return durable
}

// trim lets go what may go, until no more than this is held; stopped says that
// more still is.
func (w *Window) trim(bytes int64, count int) (durable []Record, stopped bool) {
	unread := int64(math.MaxInt64)
	if w.unread != nil {
		unread = w.unread()
	}
	for w.over(bytes, count) {
		r, _ := w.shelf.front()
		if r.Seq >= unread || !r.Durable && r.Seq > w.restated {
			return durable, true
		}
		if r.Durable {
			durable = append(durable, r)
		}
		w.floor = r.Seq
		w.shelf.drop()
	}
	return durable, false
}

// Drop lets go everything up to a seq, durable or not, and gives the seq of the
// last durable event among it; 0: there was none.
func (w *Window) Drop(upto int64) (durable int64) {
	w.floor = max(w.floor, upto)
	return w.shelf.dropUpTo(upto)
}

// over: more is held than these bounds say.
func (w *Window) over(bytes int64, count int) bool {
	return w.shelf.bytes > bytes || w.shelf.count > count
}

// Floor is the seq above which every record is here.
func (w *Window) Floor() int64 { return w.floor }

// Bytes is what the window takes, about.
func (w *Window) Bytes() int64 { return w.shelf.bytes }

// After gives records with seq > seq, oldest first, up to about maxBytes of lines;
// at least one where there is one. It says nothing of what lies below the floor.
func (w *Window) After(seq int64, maxBytes int) []Record {
	rs := w.shelf.after(seq)
	return rs[:within(rs, maxBytes)]
}

// Len is how many records the window holds.
func (w *Window) Len() int { return w.shelf.count }
