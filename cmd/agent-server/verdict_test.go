package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"agent-server/protocol"
	"agent-server/verify"
)

// TestExitCodes: each verdict has its code, and its reason is said.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	clean := &protocol.TurnEnded{StopReason: protocol.StopEndTurn}
	failed := &protocol.TurnEnded{StopReason: protocol.StopError, Error: &protocol.TurnError{Category: "auth", Message: "no key"}}
	unknown := &protocol.TurnEnded{StopReason: "_odd"}
	found := []verify.Violation{{Rule: verify.SeqContiguous}}
	broken := errors.New("broken pipe")
	for _, c := range []struct {
		name  string
		v     verdict
		flags runFlags
		code  int
		says  string
	}{
		{"clean", verdict{story: story{ended: clean}}, runFlags{}, exitOK, ""},
		{"violation", verdict{story: story{ended: clean, found: found}}, runFlags{}, exitViolation, ""},
		{"a violation wins over failure", verdict{story: story{ended: failed, found: found}}, runFlags{}, exitViolation, ""},
		{"a violation wins over an interrupt", verdict{story: story{ended: clean, found: found}, interrupted: true}, runFlags{}, exitViolation, ""},
		{"usage", verdict{story: story{err: usage("no such mode")}}, runFlags{}, exitUsage, "no such mode"},
		{"failed, shown already", verdict{story: story{ended: failed}}, runFlags{}, exitFailed, ""},
		{"failed, as data", verdict{story: story{ended: failed}}, runFlags{json: true}, exitFailed, "auth: no key"},
		{"unknown stop reason", verdict{story: story{ended: unknown}}, runFlags{}, exitFailed, ""},
		{"timed out", verdict{story: story{ended: clean}, timedOut: true}, runFlags{timeout: 5e9}, exitFailed, "did not end within 5s"},
		{"lost", verdict{story: story{err: context.Canceled}}, runFlags{}, exitFailed, "canceled"},
		{"stuck", verdict{story: story{err: errStuck}, stuck: true}, runFlags{}, exitFailed, "not being read"},
		{"unshown", verdict{story: story{ended: clean}, output: broken}, runFlags{}, exitFailed, "broken pipe"},
		{"unrecorded", verdict{story: story{ended: clean}, recording: broken}, runFlags{}, exitFailed, "broken pipe"},
		{"unclosed", verdict{story: story{ended: clean}, closing: broken}, runFlags{}, exitFailed, "broken pipe"},
		{"interrupted", verdict{story: story{ended: clean}, interrupted: true}, runFlags{}, exitInterrupted, ""},
		{"interrupted twice", verdict{story: story{err: context.Canceled}, interrupted: true}, runFlags{}, exitInterrupted, ""},
		{"interrupted, unrecorded", verdict{story: story{ended: clean}, interrupted: true, recording: broken}, runFlags{}, exitInterrupted, "broken pipe"},
	} {
		code, text := exitOK, ""
		if err := c.v.exit(&c.flags, io.Discard); err != nil {
			var exit *exitError
			if !errors.As(err, &exit) {
				t.Fatalf("%s: %v has no code", c.name, err)
			}
			code, text = exit.code, exit.Error()
		}
		if code != c.code || !strings.Contains(text, c.says) || c.says == "" && text != "" {
			t.Errorf("%s: code %d, %q; want %d, %q", c.name, code, text, c.code, c.says)
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	faults := []protocol.Fault{{Path: "config.permissionMode", Message: "is above the cap"}, {Path: "config.maxTurns", Message: "no"}}
	for _, c := range []struct {
		name string
		err  error
		code int
		says string
	}{
		{"faults by flag", protocol.ErrInvalidParams(faults), exitUsage, "--permission-mode: is above the cap; config.maxTurns: no"},
		{"bound", protocol.ErrHarnessBound("s", "demo"), exitUsage, "demo"},
		{"gone meanwhile", protocol.ErrHarnessNotAvailable("x", nil), exitUsage, "x"},
		{"ours", protocol.ErrInternal("the log cannot be written"), 0, "starting the turn: the log cannot be written"},
		{"connection", errors.New("closed"), 0, "starting the turn: closed"},
	} {
		got := refusal(c.err)
		var exit *exitError
		code := 0
		if errors.As(got, &exit) {
			code = exit.code
		}
		if code != c.code || !strings.Contains(got.Error(), c.says) {
			t.Errorf("%s: code %d, %q", c.name, code, got)
		}
	}
}
