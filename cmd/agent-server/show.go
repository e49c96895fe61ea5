package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"agent-server/eventlog"
	"agent-server/eventlog/sqlite"
	"agent-server/eventlog/transfer"
	"agent-server/protocol"
	"agent-server/reducer"
)

// showBytes is about how much is read of a log at a time.
const showBytes = 1 << 20

// newShowCommand shows what a session has come to.
func newShowCommand(state *string) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session: what is known of it, and the conversation",
		Long: `Show a session of the log in --state-dir: what is known of it, then the conversation,
as "attach" shows it, all of it on stdout. What a harness streamed is shown as it
stood in the end.`,
		Args: exactly("SESSION"),
		RunE: func(_ *cobra.Command, args []string) error {
			return withLog(*state, func(l *sqlite.Log) error { return showSession(l, args[0], asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the state that its events fold to, as session/snapshot has it")
	return cmd
}

// showSession reads the log twice: what is known comes first.
func showSession(l transfer.Log, session string, asJSON bool) error {
	sum, err := transfer.Find(l, session)
	if err != nil {
		return usage("session %q: %w", session, err)
	}
	var f reducer.Folded
	events := int64(0)
	err = eachEvent(l, sum, func(env protocol.Envelope) {
		f, _ = reducer.FoldEnvelope(f, env)
		events++
	})
	if err != nil {
		return err
	}
	s := newScreen(os.Stdout, os.Stdout)
	if asJSON {
		s.data(append(f.Conversation.AppendJSON(nil), '\n'))
	} else {
		tellSession(s, sum, f.Conversation, events)
		show := newRenderer(s, false, false)
		show.prompts, show.ours = true, func(string) bool { return false }
		err = eachEvent(l, sum, show.envelope)
		s.end()
	}
	if fault := s.out.fault(); err == nil && fault != nil {
		err = &exitError{exitFailed, fmt.Errorf("showing %q: %w", session, fault)}
	}
	return err
}

// eachEvent reads all that a log holds of a session.
func eachEvent(l eventlog.Log, sum eventlog.Summary, f func(protocol.Envelope)) error {
	for at := sum.First - 1; ; {
		records, err := l.Read(sum.Session, at, showBytes)
		if err != nil {
			return &exitError{exitFailed, fmt.Errorf("reading %q: %w", sum.Session, err)}
		}
		if len(records) == 0 {
			return nil
		}
		for _, r := range records {
			env, err := protocol.DecodeEnvelope(r.Envelope())
			if err != nil {
				return &exitError{exitFailed, fmt.Errorf("reading event %d of %q: %w", r.Seq, sum.Session, err)}
			}
			at = r.Seq
			f(env)
		}
	}
}

// tellSession tells what is known. Numbers that are missing are those of deltas,
// which no log on disk holds, and what a crash has skipped.
func tellSession(s *screen, sum eventlog.Summary, c *reducer.Conversation, events int64) {
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	turns := c.Turns()
	s.remark(fmt.Sprintf("session   %q", sum.Session))
	s.remark(fmt.Sprintf("harness   %s", sum.Facts.Harness))
	s.remark(fmt.Sprintf("directory %q", sum.Facts.Cwd))
	s.remark(fmt.Sprintf("state     %s", stateOf(c, turns)))
	s.remark(fmt.Sprintf("turns     %d", len(turns)))
	s.remark(fmt.Sprintf("created   %s", at(sum.CreatedAt)))
	s.remark(fmt.Sprintf("updated   %s", at(sum.UpdatedAt)))
	s.remark(fmt.Sprintf("events    %d of %d..%d; %d numbers are not held", events, sum.First, sum.Latest, sum.Latest-sum.First+1-events))
	s.remark(fmt.Sprintf("bytes     %d", sum.Bytes))
	s.data([]byte("\n"))
}

// stateOf says what the session's log has come to. A turn that runs there runs
// nowhere: no gateway has the log.
func stateOf(c *reducer.Conversation, turns []reducer.Turn) string {
	if n := len(turns); n > 0 && turns[n-1].Status == reducer.TurnActive {
		return "turn " + turns[n-1].TurnID + " was running when its gateway ended; the next one ends it"
	}
	if ended, ok := c.Ended(); ok {
		return "closed: " + ended.Reason
	}
	return "idle"
}
