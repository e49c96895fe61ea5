package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"agent-server/eventlog"
	"agent-server/eventlog/sqlite"
	"agent-server/eventlog/transfer"
)

// newSessionsCommand looks at the log that a gateway has left on disk.
func newSessionsCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, export, import and remove the sessions of a log on disk",
		Long: `Work on the log in --state-dir while no gateway has it. While one has, ask it
over the wire instead: session/list.

Exit codes: 0 done; 2 usage, also an unknown session or a log that is in use.`,
		Args: cobra.NoArgs, // a word that is no command of it is a slip, and no wish for help
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&dir, "state-dir", "", "the directory that the gateway was given (default: its default)")
	var asJSON bool
	list := &cobra.Command{Use: "list", Short: "List sessions, the one updated last first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLog(dir, func(l *sqlite.Log) error { return listSessions(cmd.OutOrStdout(), l, asJSON) })
		}}
	list.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	export := &cobra.Command{Use: "export SESSION", Short: `Print a session, as "sessions import" and "verify" read it`, Args: exactly("SESSION"),
		Long: `Print a session as lines, for "sessions import" elsewhere, or for "verify -": its
envelopes, between a header and an end, each line with a sum.

It holds what was said in the session: prompts, file contents, tool output. Keys and
tokens are kept out of a log; what a harness or a person wrote into the conversation
is in it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLog(dir, func(l *sqlite.Log) error { return exportSession(cmd.OutOrStdout(), l, args[0]) })
		}}
	rm := &cobra.Command{Use: "rm SESSION…", Short: "Remove sessions, without asking", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLog(dir, func(l *sqlite.Log) error { return removeSessions(cmd.OutOrStdout(), l, args) })
		}}
	cmd.AddCommand(list, newShowCommand(&dir), export, newImportCommand(&dir), rm)
	return cmd
}

// withLog opens the log that is there; it makes none.
func withLog(state string, use func(*sqlite.Log) error) error {
	dir, err := logDir(state)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "log.db")); errors.Is(err, fs.ErrNotExist) {
		return usage("--state-dir: there is no log in %s: a gateway makes it, that serves with --listen, --dial or --log %s", dir, logSQLite)
	}
	return openedLog(dir, use)
}

// logDir is where the log is in a state directory; "": the default one.
func logDir(state string) (_ string, err error) {
	if state == "" {
		if state, err = stateDir(); err != nil {
			return "", &exitError{exitUsage, err}
		}
	}
	return filepath.Join(state, "log"), nil
}

// openedLog opens the log in a directory, makes it where there is none, and closes it.
func openedLog(dir string, use func(*sqlite.Log) error) error {
	l, err := sqlite.Open(dir, sqlite.Options{})
	switch {
	case errors.Is(err, sqlite.ErrInUse):
		return usage("a gateway has the log: stop it, or ask it over the wire (session/list): %w", err)
	case err != nil:
		return usage("opening the log in %s: %w", dir, err)
	}
	err = use(l)
	if closing := l.Close(); closing != nil && err == nil {
		err = &exitError{exitFailed, fmt.Errorf("closing the log: %w", closing)}
	}
	return err
}

// summary is a line of the list as JSON.
type summary struct {
	// Session is its id.
	Session string `json:"session"`
	// Harness ran it, and Cwd was its last turn's directory; "" where not known.
	Harness string `json:"harness"`
	Cwd     string `json:"cwd"`
	// First and Latest are the lowest seq held and the head.
	First  int64 `json:"first"`
	Latest int64 `json:"latest"`
	// Created and Updated are epoch ms.
	Created int64 `json:"created"`
	Updated int64 `json:"updated"`
	// Bytes is what it takes, about.
	Bytes int64 `json:"bytes"`
}

// listSessions prints all of them.
func listSessions(out io.Writer, l eventlog.Catalog, asJSON bool) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "SESSION\tHARNESS\tCWD\tFIRST\tLATEST\tCREATED\tUPDATED\tBYTES")
	}
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := l.Sessions(cursor, 100)
		if err != nil {
			return &exitError{exitFailed, fmt.Errorf("listing sessions: %w", err)}
		}
		for _, s := range page {
			if asJSON {
				line, err := json.Marshal(summary{s.Session, s.Facts.Harness, s.Facts.Cwd, s.First, s.Latest, s.CreatedAt, s.UpdatedAt, s.Bytes})
				if err != nil {
					return &exitError{exitFailed, err}
				}
				fmt.Fprintf(w, "%s\n", line)
				continue
			}
			at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d\n", plain(s.Session), s.Facts.Harness, plain(s.Facts.Cwd), s.First, s.Latest, at(s.CreatedAt), at(s.UpdatedAt), s.Bytes)
		}
		cursor = next
	}
	if err := w.Flush(); err != nil {
		return &exitError{exitFailed, fmt.Errorf("printing sessions: %w", err)}
	}
	return nil
}

// plain is a word of a table, to be copied from there. It is quoted where it is no
// single word, or holds what moves a terminal's cursor.
func plain(text string) string {
	if quoted := strconv.Quote(text); text == "" || strings.Contains(text, " ") || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// exportSession prints what is held for good.
func exportSession(out io.Writer, l transfer.Log, session string) error {
	w := bufio.NewWriter(out)
	err := transfer.Write(w, l, session)
	switch {
	case errors.Is(err, transfer.ErrUnknown):
		return usage("the log holds no session %q", session)
	case err == nil:
		err = w.Flush()
	}
	if err != nil {
		return &exitError{exitFailed, err}
	}
	return nil
}

// removeSessions removes all that are named, or none where one is not known.
func removeSessions(out io.Writer, l *sqlite.Log, sessions []string) error {
	for _, s := range sessions {
		if _, _, ok := l.Range(s); !ok {
			return usage("the log holds no session %q: nothing was removed", s)
		}
	}
	for _, s := range sessions {
		if err := l.Remove(s); err != nil {
			return &exitError{exitFailed, fmt.Errorf("removing %q: %w", s, err)}
		}
		fmt.Fprintf(out, "removed %q\n", s)
	}
	return nil
}
