package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"agent-server/client"
	"agent-server/eventlog"
	"agent-server/transport"
	"agent-server/verify"
)

func newVerifyCommand() *cobra.Command {
	var base bool
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check recorded envelopes against the protocol's laws",
		Long: `Check recorded envelopes, one a line, as "run --json" prints them or as the wire
carries them (whole notifications are taken too). "-" is stdin. Sessions in one
file are judged each by itself. Exit code 1: a violation was found.`,
		Example: `  agent-server run "hello" --json > run.jsonl && agent-server verify run.jsonl
  agent-server run "hello" --json | agent-server verify -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bad := 0
			for _, name := range args {
				n, err := verifyFile(cmd.OutOrStdout(), cmd.InOrStdin(), name, verify.Options{Base: base})
				if err != nil {
					return &exitError{exitUsage, err}
				}
				bad += n
			}
			if bad > 0 {
				return &exitError{code: exitViolation}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&base, "base", false, "judge by the base protocol's rules alone")
	return cmd
}

// verifyFile judges one file and prints a line a violation, then the count.
func verifyFile(out io.Writer, stdin io.Reader, name string, o verify.Options) (int, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		in = f
	}
	set := verify.NewSet(o)
	found, events, err := judge(set, in)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	w := bufio.NewWriter(out)
	for _, v := range found {
		fmt.Fprintf(w, "%s: %s at event %d: %s\n", name, v.Rule, v.Index, v.Message)
	}
	fmt.Fprintf(w, "%s: %d events, %d violations\n", name, events, len(found))
	return len(found), w.Flush()
}

func judge(set *verify.Set, in io.Reader) (found []verify.Violation, events int, err error) {
	lines := transport.NDJSON(in, io.Discard, client.DefaultMaxLineBytes, 0, nil)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return append(found, set.Finish()...), events, nil
		}
		if err != nil {
			return nil, events, err
		}
		if line = envelopeOf(bytes.TrimSpace(line)); len(line) > 0 {
			events++
			found = append(found, set.AddRaw(line)...)
		}
	}
}

// envelopeOf takes the envelope out of a whole notification.
func envelopeOf(line []byte) []byte {
	if rest, ok := bytes.CutPrefix(line, []byte(eventlog.Prefix)); ok {
		return bytes.TrimSuffix(rest, []byte("}"))
	}
	return line
}
