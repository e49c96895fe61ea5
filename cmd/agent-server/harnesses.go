package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"agent-server/protocol"
)

// harnessesFlags are what harnesses was called with.
type harnessesFlags struct {
	setup
	remote
	json bool
}

// newHarnessesCommand says what turns can be run on.
func newHarnessesCommand() *cobra.Command {
	var f harnessesFlags
	cmd := &cobra.Command{
		Use:   "harnesses",
		Short: "List the harnesses: installed or not, where, which version, logged in or not",
		Long: `List every harness that is known here, and what of it is installed. Each executable
that is there is asked for its version, which takes some seconds at most; nothing is
asked of a network. A login is looked for where the CLI keeps it:

  found       there is one, in that variable or file; whether it still holds, only a
              turn tells (agent-server doctor ID)
  not_found   there is none there; a CLI may have one elsewhere, as in a key store
  not_needed  it works without
  unknown     nobody here knows where it would be

CAN is what it is known to be able to, in the words of its capabilities: further turns
in one session, resume of an old session (run --resume), asks for permission, thinking
levels, images in a prompt, mcp servers, and another model between turns (model-restart:
by a new process). docs/harnesses.md says what shows each.

Exit codes: 0 listed; 2 usage; 3 the gateway at --connect could not be asked.`,
		Example: `  agent-server harnesses
  agent-server harnesses --json
  agent-server harnesses --connect ws://127.0.0.1:7777/ --token-file ~/.local/state/agent-server/token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.list(cmd) },
	}
	f.setup.flags(cmd)
	f.remote.flags(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a line, as harness/list gives it")
	return cmd
}

// list asks a gateway of our own, or the one that was named.
func (f *harnessesFlags) list(cmd *cobra.Command) error {
	o, err := f.setup.beside(cmd, &f.remote)
	if err != nil {
		return usage("%w", err)
	}
	signals, usual := stopSignals()
	defer usual()
	var h *host
	var entries []protocol.HarnessEntry
	err = unlessSignalled(cmd.Context(), signals, func(ctx context.Context) (err error) {
		if h, err = f.remote.orLocal(ctx, o); err == nil {
			entries, err = h.Harnesses(ctx)
		}
		return err
	})
	if h != nil {
		err = errors.Join(err, h.shutdown(context.Background()), h.close())
	}
	switch {
	case errors.Is(err, errInterrupted):
		return &exitError{exitInterrupted, nil}
	case err != nil:
		return failed("asking for the harnesses", err)
	}
	return f.print(cmd.OutOrStdout(), entries)
}

// print writes them, an object or a line each.
func (f *harnessesFlags) print(out io.Writer, entries []protocol.HarnessEntry) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if !f.json {
		fmt.Fprintln(w, "HARNESS\tAVAILABLE\tVERSION\tTESTED\tLOGIN\tCAN\tPATH")
	}
	for _, e := range entries {
		if !f.json {
			fmt.Fprintln(w, harnessLine(e))
			continue
		}
		line, err := json.Marshal(e)
		if err != nil {
			return &exitError{exitFailed, fmt.Errorf("writing harness %s: %w", e.ID, err)}
		}
		fmt.Fprintf(w, "%s\n", line)
	}
	if err := w.Flush(); err != nil {
		return &exitError{exitFailed, fmt.Errorf("printing the harnesses: %w", err)}
	}
	return nil
}

// harnessLine is one of them for people. What was not told is a dash.
func harnessLine(e protocol.HarnessEntry) string {
	available, where := "no", cell(e.Reason)
	if e.Available {
		available, where = "yes", cell(e.Path)
	}
	login := cell(e.Login)
	if e.LoginSource != nil {
		login += " (" + cell(e.LoginSource) + ")"
	}
	id := string(e.ID)
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", cell(&id), available, cell(e.Version), cell(e.TestedVersion), login, abilities(e.Capabilities), where)
}

// abilities are a harness's capabilities, a word each, as the help explains them; what
// it has not is left out.
func abilities(c protocol.AgentCapabilities) string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{
		{c.MultiTurn, "turns"}, {c.SessionResume, "resume"}, {c.PermissionRequests, "asks"}, {c.ThinkingLevels, "thinking"},
		{c.Images, "images"}, {c.MCPServers, "mcp"}, {c.ModelSwitch == protocol.ModelSwitchInSession, "model"},
		{c.ModelSwitch == protocol.ModelSwitchRestart, "model-restart"},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	if words == nil {
		return "-"
	}
	return strings.Join(words, ",")
}

// cell is a text in one cell of a table, whoever has written it: it moves no cursor,
// and makes no cell or line of its own.
func cell(text *string) string {
	if text == nil {
		return "-"
	}
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(harmless(*text))
}

// failed gives an error a code, unless it has one.
func failed(what string, err error) error {
	if errors.As(err, new(*exitError)) {
		return err
	}
	return &exitError{exitFailed, fmt.Errorf("%s: %w", what, err)}
}
