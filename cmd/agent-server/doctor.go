package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"agent-server/gateway"
	"agent-server/harness/process"
	"agent-server/protocol"
)

// doctorFlags are what doctor was called with.
type doctorFlags struct {
	setup
	// timeout bounds the turn, not its end.
	timeout time.Duration
	json    bool
}

// defaultDoctor is longer than the slowest agent needs to start and to greet.
const defaultDoctor = 2 * time.Minute

// newDoctorCommand finds out why a harness does not work.
func newDoctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor ID",
		Short: "Run a hello turn on a harness, and say what is wrong with it",
		Long: `Look at one harness: is its executable there, which version is it, is a login found;
then run one real turn on it, "say hello", in an empty directory, and check every event
against the protocol's laws. The turn asks the harness's own model, which may cost a
little. What it asks for is refused.

What is wrong is said in plain words, with what to do. Exit codes: 0 it works, maybe
with remarks; 1 something is wrong; 2 usage, also a harness that nobody knows;
130 interrupted.`,
		Example: `  agent-server doctor demo
  agent-server doctor claude-code --timeout 30s
  agent-server doctor gemini --json`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.examine(cmd, protocol.HarnessID(args[0])) },
	}
	f.setup.flags(cmd)
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultDoctor, "how long the turn may take")
	cmd.Flags().BoolVar(&f.json, "json", false, "print what was found as one JSON object")
	return cmd
}

// The words of finding.Status.
const (
	// found right, worth a remark, wrong.
	findingOK   = "ok"
	findingWarn = "warn"
	findingFail = "fail"
)

// finding is one thing that was looked at.
type finding struct {
	// Check is what: executable, version, login, turn, stream or leftovers.
	Check string `json:"check"`
	// Status is ok, warn or fail.
	Status string `json:"status"`
	// Message is what was found; Advice what to do about it, "" where there is
	// nothing to do.
	Message string `json:"message"`
	Advice  string `json:"advice,omitzero"`
}

// report is all that was found.
type report struct {
	// Harness was looked at; OK: nothing is wrong with it.
	Harness protocol.HarnessID `json:"harness"`
	OK      bool               `json:"ok"`
	// Findings are in the order in which things were looked at.
	Findings []finding `json:"findings"`
}

// add notes a finding.
func (r *report) add(check, status, message, advice string) {
	r.Findings = append(r.Findings, finding{check, status, message, advice})
	r.OK = r.OK && status != findingFail
}

// examine looks at everything, and prints it.
func (f *doctorFlags) examine(cmd *cobra.Command, id protocol.HarnessID) error {
	if f.timeout <= 0 {
		return usage("--timeout %s: want a time above 0", f.timeout)
	}
	o, err := f.options()
	if err != nil {
		return usage("%w", err)
	}
	if id == protocol.HarnessACP && o.DefaultACP != "" {
		id = o.DefaultACP
	}
	at := slices.IndexFunc(o.Harnesses, func(r gateway.Registration) bool { return r.Harness.Info().ID == id })
	if at < 0 {
		return usage("no harness %q is known here: agent-server harnesses lists those that are", id)
	}
	o.Harnesses = o.Harnesses[at : at+1] // the others need not be asked
	o.DefaultACP = ""
	signals, usual := stopSignals()
	defer usual()
	r := &report{Harness: id, OK: true}
	err = unlessSignalled(cmd.Context(), signals, func(ctx context.Context) error { return f.look(ctx, o, r) })
	if errors.Is(err, errInterrupted) {
		return &exitError{exitInterrupted, nil}
	}
	if err != nil {
		return failed("examining "+string(id), err)
	}
	return r.print(cmd.OutOrStdout(), f.json)
}

// look opens a gateway of our own for it, and ends it again.
func (f *doctorFlags) look(ctx context.Context, o gateway.Options, r *report) error {
	adoptOrphans()
	noise := &noise{}
	o.Logger = noise.beside(o.Logger)
	h, err := openLocal(ctx, o)
	if err != nil {
		return usage("%w", err)
	}
	logID := h.Server().Capabilities.LogID
	entries, err := h.Harnesses(ctx)
	if err == nil && r.installed(entries[0], o.Harnesses[0]) {
		var x *examination
		if x, err = examined(ctx, h, r.Harness, f.timeout); err == nil {
			x.noise = noise.count()
			r.turn(x, o.Harnesses[0].Harness.Info().Install.Login.Hint)
		}
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), endBound)
	defer cancel()
	ending := errors.Join(h.shutdown(bound), h.close())
	if ctx.Err() == nil && err == nil && r.started() {
		r.leftovers(logID, ending)
	}
	return err
}

// installed reports what is known without a turn; false: there is nothing to run.
func (r *report) installed(e protocol.HarnessEntry, reg gateway.Registration) bool {
	if !e.Available {
		command := reg.Path
		if command == "" {
			command = reg.Harness.Info().Executable
		}
		r.add("executable", findingFail, "it is not installed: "+lookedFor(command), "install it, or say where it is: "+pathFlag(r.Harness))
		return false
	}
	r.add("executable", findingOK, *e.Path, "")
	switch {
	case e.Version == nil && reg.Harness.Info().Install.Version != nil:
		r.add("version", findingWarn, "it does not say its version when it is asked with "+strings.Join(reg.Harness.Info().Install.Version, " "), "run it by hand: it may not be what it seems")
	case e.Version == nil && e.TestedVersion == nil:
		r.add("version", findingWarn, "not known, and none was tested", "")
	case e.Version == nil:
		r.add("version", findingOK, "not known; "+*e.TestedVersion+" was tested", "")
	case e.TestedVersion == nil && r.Harness != protocol.HarnessDemo:
		r.add("version", findingWarn, *e.Version+"; none was tested", "")
	case e.TestedVersion != nil && *e.Version != *e.TestedVersion:
		r.add("version", findingWarn, *e.Version+", and "+*e.TestedVersion+" was tested", "if it does not work, try the tested one")
	default:
		r.add("version", findingOK, *e.Version, "")
	}
	r.login(e, reg.Harness.Info().Install.Login.Hint)
	return true
}

// login reports what is known of one. That none is found is no fault: it may be
// elsewhere, and the turn will tell.
func (r *report) login(e protocol.HarnessEntry, hint string) {
	switch *e.Login {
	case protocol.LoginFound:
		r.add("login", findingOK, "found: "+*e.LoginSource, "")
	case protocol.LoginNotNeeded:
		r.add("login", findingOK, "not needed", "")
	case protocol.LoginNotFound:
		r.add("login", findingWarn, "none is found where it keeps one; the turn will tell", hint)
	default:
		r.add("login", findingOK, "unknown: nobody here knows where it would be; the turn will tell", "")
	}
}

// lookedFor says where a command was looked for.
func lookedFor(command string) string {
	if strings.ContainsRune(command, os.PathSeparator) {
		return command + " is not there, or may not be run"
	}
	return fmt.Sprintf("no command %s in any directory of PATH (%s)", command, os.Getenv("PATH"))
}

// pathFlag says how an operator names an executable.
func pathFlag(id protocol.HarnessID) string {
	switch id {
	case protocol.HarnessClaudeCode:
		return "--claude-path FILE"
	case protocol.HarnessCodexAppServer, protocol.HarnessCodexSDK:
		return "--codex-path FILE"
	}
	return fmt.Sprintf(`--acp-agent %s="COMMAND ARG…", or agents.%s.command in the file of --config`, id, id)
}

// started says whether a turn was run.
func (r *report) started() bool {
	return slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Check == "turn" })
}

// leftovers looks for processes that have outlived the gateway, and ends them.
func (r *report) leftovers(logID string, ending error) {
	found, err := process.Sweep(logID + ".")
	switch err = errors.Join(ending, err); {
	case err != nil:
		r.add("leftovers", findingFail, "it did not end in order: "+err.Error(), "look for its processes, and end them")
	case found > 0:
		r.add("leftovers", findingFail, fmt.Sprintf("%d processes outlived it, and were ended now", found), "")
	default:
		r.add("leftovers", findingOK, "none", "")
	}
}

// print writes it for people or for programs; the exit code is 1 where something is
// wrong.
func (r *report) print(out io.Writer, asJSON bool) error {
	var b strings.Builder
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			return &exitError{exitFailed, fmt.Errorf("writing the report: %w", err)}
		}
		fmt.Fprintf(&b, "%s\n", line)
	} else {
		r.write(&b)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return &exitError{exitFailed, fmt.Errorf("printing the report: %w", err)}
	}
	if !r.OK {
		return &exitError{exitViolation, nil}
	}
	return nil
}

// write is the report for people.
func (r *report) write(b *strings.Builder) {
	for _, f := range r.Findings {
		fmt.Fprintf(b, "%-4s  %-10s  %s\n", f.Status, f.Check, strings.ReplaceAll(harmless(f.Message), "\n", "\n                  "))
		if f.Advice != "" {
			fmt.Fprintf(b, "                  → %s\n", harmless(f.Advice))
		}
	}
	verdict := "works"
	if !r.OK {
		verdict = "does not work"
	}
	fmt.Fprintf(b, "%s %s\n", r.Harness, verdict)
}
