package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/eventlog/sqlite"
	"agent-server/gateway"
)

// The engines that a log can have.
const (
	// logMemory ends with the process.
	logMemory = "memory"
	// logSQLite is on disk, in the state directory.
	logSQLite = "sqlite"
)

// store is where events are kept.
type store struct {
	// engine is one of the two; "": memory on stdio alone, else sqlite.
	engine string
	// maxAge, maxBytes and maxSessions let sessions on disk go; 0: never.
	maxAge      time.Duration
	maxBytes    size
	maxSessions int
	// budget is what one session may take in memory; 0: the log's default.
	budget size
}

// flags declares it.
func (s *store) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.engine, "log", "",
		"where events are kept: memory, or sqlite in --state-dir, which outlives the process (default: sqlite with --listen or --dial)")
	s.budget = eventlog.DefaultMaxSessionBytes
	f := cmd.Flags()
	f.Var(&s.budget, "max-session-bytes", "memory: what a session may take; above it its oldest turns go, and in the end it takes no more")
	f.DurationVar(&s.maxAge, "log-max-age", 0, "sqlite: let a session go that nothing was added to for so long (default: never)")
	f.Var(&s.maxBytes, "log-max-bytes", "sqlite: let the oldest sessions go above so many bytes of all (default: never)")
	f.IntVar(&s.maxSessions, "log-max-sessions", 0, "sqlite: let the oldest sessions go above so many (default: never)")
}

// check completes it, and the state directory that it needs.
func (s *store) check(n *network) (err error) {
	switch {
	case s.engine == "" && n.used():
		s.engine = logSQLite
	case s.engine == "":
		s.engine = logMemory
	case !slices.Contains([]string{logMemory, logSQLite}, s.engine):
		return fmt.Errorf("--log: %q is none of %s, %s", s.engine, logMemory, logSQLite)
	}
	retains := s.maxAge != 0 || s.maxBytes != 0 || s.maxSessions != 0
	switch {
	case retains && s.engine != logSQLite:
		return fmt.Errorf("--log-max-age, --log-max-bytes and --log-max-sessions are of use with --log %s alone", logSQLite)
	case s.engine == logSQLite && s.budget != 0 && s.budget != eventlog.DefaultMaxSessionBytes:
		return fmt.Errorf("--max-session-bytes is of use with --log %s alone", logMemory)
	case s.maxAge < 0 || s.maxSessions < 0:
		return errors.New("--log-max-age and --log-max-sessions: want what is not negative")
	}
	if s.engine == logSQLite && n.stateDir == "" {
		n.stateDir, err = stateDir()
	}
	return err
}

// open opens the log, which is the gateway's from then on: it closes it.
func (s *store) open(n *network, log *zap.Logger) (eventlog.Log, error) {
	if s.engine != logSQLite {
		return eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: int64(s.budget)}), nil
	}
	dir := filepath.Join(n.stateDir, "log")
	l, err := sqlite.Open(dir, sqlite.Options{MaxAge: s.maxAge, MaxBytes: int64(s.maxBytes), MaxSessions: s.maxSessions,
		Report: func(err error) { log.Warn("the log keeps more than it should", zap.Error(err)) }})
	switch {
	case errors.Is(err, sqlite.ErrInUse):
		return nil, fmt.Errorf("another gateway has the log in %s: give another --state-dir, or --log %s: %w", dir, logMemory, err)
	case err != nil:
		return nil, fmt.Errorf("opening the log in %s: %w", dir, err)
	}
	return l, nil
}

// newGateway makes a gateway on it. What cannot be made leaves no log open.
func (s *store) newGateway(n *network, o gateway.Options) (*gateway.Gateway, error) {
	l, err := s.open(n, o.Logger)
	if err != nil {
		return nil, err
	}
	o.Log = l
	gw, err := gateway.New(o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return gw, nil
}
