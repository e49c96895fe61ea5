package sqlite

import (
	"testing"

	"go.uber.org/goleak"

	"agent-server/eventlog"
	"agent-server/eventlog/eventlogtest"
)

func TestMain(m *testing.M) {
	child() // does not come back in a child process
	limited()
	goleak.VerifyTestMain(m)
}

// open opens a log in a directory, closed by the test's cleanup unless it was
// closed by then.
func open(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !l.closed() {
			shut(t, l)
		}
	})
	return l
}

// closed says whether Close was called.
func (l *Log) closed() bool {
	select {
	case <-l.keeper.stop:
		return true
	default:
		return false
	}
}

// shut closes a log.
func shut(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	eventlogtest.Run(t, eventlogtest.Engine{
		Open: func(t *testing.T, _ int64) eventlog.Log { return open(t, t.TempDir(), Options{}) },
		Reopen: func(t *testing.T, l eventlog.Log) eventlog.Log {
			shut(t, l.(*Log))
			return open(t, l.(*Log).dir, Options{})
		},
	})
}
