package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"agent-server/client"
	"agent-server/eventlog/transfer"
	"agent-server/protocol"
	"agent-server/transport"
	"agent-server/verify"
)

// newVerifyCommand judges what was recorded, by us or by anybody else's gateway.
func newVerifyCommand() *cobra.Command {
	var o verify.Options
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check recorded envelopes against the protocol's laws",
		Long: `Check recorded envelopes, one a line, as "run --json" and "sessions export" print them, or
as stdout of "serve" carries them: answers there are passed over. "-" is stdin. Sessions in one
file are judged each by itself; blank lines count for nothing.

Exit codes: 0 no violation; 1 a violation was found; 2 usage, also a file that
cannot be read or holds no event.`,
		Example: `  agent-server run "hello" --json > run.jsonl && agent-server verify run.jsonl
  agent-server run "hello" --json | agent-server verify -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifyFiles(cmd.OutOrStdout(), cmd.InOrStdin(), args, o)
		},
	}
	cmd.Flags().BoolVar(&o.Base, "base", false, "judge by the base protocol's rules alone, which know four harness ids (\"run --json\" names the real one)")
	return cmd
}

// verifyFiles judges each; one that cannot be read leaves the others judged. What
// was found goes to stdout, being the data here; why a file could not be read to
// stderr.
func verifyFiles(out io.Writer, stdin io.Reader, names []string, o verify.Options) error {
	w := bufio.NewWriter(out)
	violations := 0
	var faults []error
	for _, name := range names {
		n, err := verifyFile(w, stdin, name, o)
		violations += n
		if err != nil {
			faults = append(faults, err)
		}
	}
	faults = append(faults, w.Flush())
	err := errors.Join(faults...)
	switch {
	case violations > 0:
		return &exitError{exitViolation, err}
	case err != nil:
		return &exitError{exitUsage, err}
	}
	return nil
}

// verifyFile judges one file and prints a line a violation, then the count. They
// are printed as they are found: a long stream is read once and never held.
func verifyFile(out io.Writer, stdin io.Reader, name string, o verify.Options) (violations int, err error) {
	in := stdin
	if name != "-" { // a file of that name is ./-
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		in = f
	}
	set := verify.NewSet(o)
	tell := func(found []verify.Violation) {
		violations += len(found)
		for _, v := range found {
			fmt.Fprintf(out, "%s: %s at event %d: %s\n", name, v.Rule, v.Index, v.Message)
		}
	}
	events := 0
	err = eachEnvelope(in, func(line []byte) {
		events++
		tell(set.AddRaw(line))
	})
	if err != nil {
		return violations, fmt.Errorf("reading %s: %w", name, err)
	}
	if events == 0 {
		// What died before it said anything must not pass for verified.
		return 0, fmt.Errorf("%s: there is no event in it", name)
	}
	tell(set.Finish())
	fmt.Fprintf(out, "%s: %d events, %d violations\n", name, events, violations)
	return violations, nil
}

// eachEnvelope reads lines of any of these kinds, mixed as they may be:
//
//	{"sessionId":…,"seq":…,"event":…}            an envelope
//	{"jsonrpc":"2.0","method":"event","params":…} an envelope as it travels
//	{"jsonrpc":"2.0","id":…,…}                    an answer, passed over
//	{"agent-server/…":…}                          the head and the end of an export, passed over
//
// It gives each line that is to be judged. A line is valid during the
// call. One that is too long ends the reading: what is not seen is not judged.
func eachEnvelope(in io.Reader, f func(line []byte)) error {
	lines := transport.NDJSON(in, io.Discard, client.DefaultMaxLineBytes, 0, nil)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if line = envelopeOf(bytes.TrimSpace(line)); len(line) > 0 {
			f(line)
		}
	}
}

// message is a message of the wire, as far as it matters here. Whatever else is in
// it, and in which order, is not judged: only events have laws.
type message struct {
	// JSONRPC is "2.0" in every message.
	JSONRPC string `json:"jsonrpc"`
	// Method is event in the one notification that there is; "" in an answer.
	Method string `json:"method"`
	// Params is the envelope then.
	Params jsontext.Value `json:"params"`
}

// envelopeOf takes the envelope out of a message of the wire; nil where it
// carries none, being an answer or a batch of them. A line that is no message is
// an envelope, or is judged as one: what cannot be read is a violation, and never
// passed over. The envelope's bytes stay as they came, for they are judged too.
func envelopeOf(line []byte) []byte {
	if bytes.HasPrefix(line, []byte(transfer.Mark)) {
		return nil
	}
	if !bytes.Contains(line, []byte(`"jsonrpc"`)) { // most lines: nothing is decoded twice
		return line
	}
	var m message
	var batch []message
	lenient := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	switch {
	case json.Unmarshal(line, &batch, lenient) == nil:
		return nil
	case json.Unmarshal(line, &m, lenient) != nil || m.JSONRPC != "2.0":
		return line
	case m.Method == protocol.NotificationEvent:
		return m.Params
	}
	return nil
}
