package session

import (
	"strconv"
	"strings"

	"agent-server/harness"
)

// maxReason bounds what of a process's last words goes into an error, in bytes.
const maxReason = 500

// describe says for people how a process ended: status or signal, and the last
// line that it wrote to stderr.
func describe(s harness.ExitStatus) string {
	text := "the harness exited with status " + strconv.Itoa(s.Code)
	if s.Signal != "" {
		text = "the harness was ended by signal " + s.Signal
	}
	return text + reason(lastLine(s.Stderr))
}

// lastLine is the last line that is not blank, cut to its first bytes; "" where
// there is none.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if len(text) > maxReason {
		text = text[:maxReason]
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, ""))
}
