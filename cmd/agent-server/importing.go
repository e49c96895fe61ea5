package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"agent-server/eventlog"
	"agent-server/eventlog/sqlite"
	"agent-server/eventlog/transfer"
	"agent-server/protocol"
	"agent-server/verify"
)

// newImportCommand takes in what export has printed.
func newImportCommand(state *string) *cobra.Command {
	unverified := false
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Take in a session that \"sessions export\" has printed",
		Long: `Take a session into the log in --state-dir, which is made where there is none: all of
it, or nothing where anything is wrong with the file, or the process is ended. The log
must not have the session; one that was removed may come back, and goes on behind every
number that it had. Its events are held to the protocol's laws before it is taken, as
"verify" does; that something had not ended when it was exported is no fault.

Its sums find damage, not malice: take in what comes from a log that you trust. A session
that was open goes on with the standing permission rules that the file holds.

It keeps its times: where --log-max-age is short, a gateway lets an old one go at once.
A turn that was started before is known, and never run twice; but that a retry is the
same turn is known to the log alone that admitted it: another one refuses it.

Exit codes: 0 done; 1 the events break a law; 2 usage, also a damaged file, a session
that is there, or a log that is in use; 3 the log could not be written.`,
		Example: `  agent-server sessions export my-session > my-session.jsonl
  agent-server sessions import my-session.jsonl --state-dir /other/state
  ssh box agent-server sessions export s | agent-server sessions import -`,
		Args: exactly("FILE or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := logDir(*state)
			if err != nil {
				return err
			}
			return importing(cmd.InOrStdin(), args[0], func(f *transfer.File) error {
				return openedLog(dir, func(l *sqlite.Log) error { return importSession(cmd.OutOrStdout(), l, f, args[0], !unverified) })
			})
		},
	}
	cmd.Flags().BoolVar(&unverified, "no-verify", false, "take it even where its events break the protocol's laws")
	return cmd
}

// importing begins to read what is named; "-" is stdin. What does not begin as an
// export does makes no log.
func importing(in io.Reader, name string, use func(*transfer.File) error) error {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		defer f.Close()
		in = f
	}
	f, err := transfer.Read(in)
	if err != nil {
		return usage("%s: %w", name, err)
	}
	return use(f)
}

// importSession reads, judges and stores a session in one pass: it is never held.
func importSession(out io.Writer, l eventlog.Importer, f *transfer.File, name string, judged bool) error {
	count := 0
	f.Import.Records = lawful(f.Import, judged, &count)
	err := l.Import(f.Session, f.Import)
	var wrong *transfer.LineError
	var unlawful *unlawfulError
	var coded *exitError
	switch {
	case errors.As(err, &coded):
		return &exitError{coded.code, fmt.Errorf("%s: %w; nothing was taken", name, err)}
	case errors.As(err, &unlawful):
		return &exitError{exitViolation, fmt.Errorf("%s: %w; nothing was taken (--no-verify takes it all the same)", name, unlawful)}
	case errors.As(err, &wrong):
		return usage("%s: %w; nothing was taken", name, wrong)
	case errors.Is(err, eventlog.ErrExists):
		return usage("%s: %w; remove it first, where this one is to take its place", name, err)
	case err != nil:
		return &exitError{exitFailed, fmt.Errorf("%s: %w", name, err)}
	}
	fmt.Fprintf(out, "imported %q: %d events, up to %d\n", f.Session, count, f.Import.Next-1)
	return nil
}

// unlawfulError says which law is broken first.
type unlawfulError struct{ found verify.Violation }

// Error says it.
func (e *unlawfulError) Error() string {
	return fmt.Sprintf("%s at event %d: %s", e.found.Rule, e.found.Index, e.found.Message)
}

// unreadable names an event that cannot be read; nil where it can.
func unreadable(seq int64, err error) error {
	if err == nil {
		return nil
	}
	return usage("event %d: %w", seq, err)
}

// lawful gives records, and counts them, until one breaks a law. Each is judged as a
// reader of the file is given it, its chain included. Without a judge an event has to
// be one that can be read: no gateway could serve the session else.
func lawful(m eventlog.Import, judged bool, count *int) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		judge, prev := verify.New(verify.Options{}), m.First-1
		for r, err := range m.Records {
			if err == nil && judged {
				if found := judge.AddRaw(transfer.Envelope(r, prev)); len(found) > 0 {
					err = &unlawfulError{found[0]}
				}
			} else if err == nil {
				_, err = protocol.DecodeEnvelope(r.Envelope())
				err = unreadable(r.Seq, err)
			}
			prev = r.Seq
			*count++
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
