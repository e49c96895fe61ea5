package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"agent-server/protocol"
)

// verdict is all that the exit code of a run depends on.
//
// Where a run went wrong in several ways, all are said and the gravest counts, in
// this order:
//
//	a violation           1    whatever else: it is a fault of the gateway
//	an interrupt        130    the user knows why it ended
//	usage                 2    nothing was run
//	everything else       3    a timeout, a failed turn, a full disk
//	none of these         0
type verdict struct {
	story
	// interrupted: a signal asked for the end. timedOut: the clock did.
	interrupted, timedOut bool
	// stuck: the follower was left behind in a write.
	stuck bool
	// output is why stdout took no more; recording why the recording is not
	// whole; closing what went wrong when the gateway was closed. nil: nothing.
	output, recording, closing error
}

// exit says what the verifier has found, and gives the exit code with what is yet
// to be said. "verified" is said of a failed turn too: a failure can be lawful,
// and mostly is. Of a run that was cut nothing is said; it has no end to judge.
func (v verdict) exit(f *runFlags, talk io.Writer) error {
	for _, x := range v.found {
		fmt.Fprintf(talk, "violation: %s at event %d: %s\n", x.Rule, x.Index, x.Message)
	}
	if v.judged && len(v.found) == 0 && v.events > 0 {
		fmt.Fprintf(talk, "verified: %d events, no violation\n", v.events)
	}
	faults := errors.Join(v.fault(f), v.recording, v.closing)
	switch code := (*exitError)(nil); {
	case len(v.found) > 0:
		return &exitError{exitViolation, faults}
	case v.interrupted:
		return &exitError{exitInterrupted, errors.Join(v.recording, v.closing)}
	case errors.As(v.err, &code) && code.code == exitUsage:
		return &exitError{exitUsage, faults}
	case faults != nil || !v.ended.StopReason.Clean():
		return &exitError{exitFailed, faults}
	}
	return nil
}

// fault is why the turn was no success; nil where there is none, or where the
// turn's own error, shown already, is all there is to say.
func (v verdict) fault(f *runFlags) error {
	switch {
	case v.output != nil:
		return fmt.Errorf("showing the turn: %w", v.output)
	case v.timedOut:
		return fmt.Errorf("the turn did not end within %s", f.timeout)
	case v.err != nil:
		return v.err
	case f.json && v.ended.Error != nil:
		return fmt.Errorf("the turn failed: %s: %s", v.ended.Error.Category, v.ended.Error.Message)
	}
	return nil
}

// refusal words what turn/start was refused with. What the flags have brought
// about is usage; what this gateway cannot do at the moment is a failure, which a
// script may try again.
func refusal(err error) error {
	var wire *protocol.Error
	if !errors.As(err, &wire) {
		return fmt.Errorf("starting the turn: %w", err)
	}
	if wire.Code != protocol.CodeInvalidParams && wire.Code != protocol.CodeHarnessNotAvailable {
		return fmt.Errorf("starting the turn: %s", wire.Message)
	}
	return usage("%s", faultText(wire))
}

// flagOf says which flag a member of the params comes from. What stands not here
// run does not send.
var flagOf = map[string]string{
	"config.cwd": "--cwd", "config.harness": "--harness", "config.model": "--model",
	"config.permissionMode": "--permission-mode", "config.resumeSessionId": "--resume", "input": "PROMPT",
}

// faultText lists the faults of a refusal by flag: whoever typed one does not know
// the wire. A refusal without faults speaks for itself.
func faultText(wire *protocol.Error) string {
	var faults []protocol.Fault
	if json.Unmarshal(wire.Data, &faults) != nil || len(faults) == 0 {
		return wire.Message
	}
	var texts []string
	for _, x := range faults {
		name := x.Path
		if flag, ok := flagOf[name]; ok {
			name = flag
		}
		texts = append(texts, name+": "+x.Message)
	}
	return strings.Join(texts, "; ")
}
