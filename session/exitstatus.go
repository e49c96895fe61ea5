package session

import (
	"strconv"

	"agent-server/harness"
)

// describe says for people how a process ended: status or signal, and the last
// line that it wrote to stderr.
func describe(s harness.ExitStatus) string {
	text := "the harness exited with status " + strconv.Itoa(s.Code)
	if s.Signal != "" {
		text = "the harness was ended by signal " + s.Signal
	}
	if s.Fault != "" && !s.Asked {
		text += " (" + s.Fault + ")"
	}
	return text + reason(harness.LastLine(s.Stderr))
}
