package sqlite

import "time"

// Options bound a log. The zero value keeps everything.
type Options struct {
	// MaxAge lets sessions go that were not appended to for so long. 0: never.
	MaxAge time.Duration
	// MaxBytes bounds the bytes of all sessions together, about: above it those go
	// whose last append is the longest ago. 0: no bound.
	MaxBytes int64
	// MaxSessions bounds how many sessions are held, in the same order. 0: no bound.
	MaxSessions int
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Report is told what went wrong where nobody waits for an answer: in letting
	// sessions go. It is called from the log's own goroutine. nil: it is dropped.
	Report func(error)

	// vfs names SQLite's file system; tests put a faulty one here. "": the system's.
	vfs string
}

// retentionEvery is how often retention looks at all sessions.
const retentionEvery = time.Minute

// withDefaults is the one place of the defaults.
func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return o
}

// retains says whether any session is ever let go for its age, size or number.
func (o Options) retains() bool { return o.MaxAge > 0 || o.MaxBytes > 0 || o.MaxSessions > 0 }
