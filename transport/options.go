package transport

import (
	"time"

	"go.uber.org/zap"
)

// Options bound a stream. The zero value is useful.
type Options struct {
	// MaxAnswerBytes is what may be queued in answers before no further request
	// is read; 0: 8 MiB. One answer may be longer.
	MaxAnswerBytes int64
	// MaxInFlight is how many requests may be unanswered before no further one
	// is read; 0: 1,024. A batch is read whole: its members may go beyond.
	MaxInFlight int
	// WriteBudget is about what one write holds; 0: 64 KiB.
	WriteBudget int
	// FlushTimeout bounds Finish; 0: 10 s.
	FlushTimeout time.Duration
	// Logger takes the log; nil: nothing is logged.
	Logger *zap.Logger
}

// withDefaults is the one place where Options are completed.
func (o Options) withDefaults() Options {
	if o.MaxAnswerBytes == 0 {
		o.MaxAnswerBytes = 8 << 20
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 1024
	}
	if o.WriteBudget == 0 {
		o.WriteBudget = 64 << 10
	}
	if o.FlushTimeout == 0 {
		o.FlushTimeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return o
}
