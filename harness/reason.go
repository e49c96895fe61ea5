package harness

import "strings"

// maxLastLine bounds what of a process's last words goes into an error, in bytes.
const maxLastLine = 500

// LastLine is the last line of a text that is not blank, as valid UTF-8, cut to
// its first 500 bytes; "" where there is none. A process that fails says there
// why.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if len(text) > maxLastLine {
		text = text[:maxLastLine]
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, ""))
}
