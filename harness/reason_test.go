package harness_test

import (
	"strings"
	"testing"

	"agent-server/harness"
)

func TestLastLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 400)
	for text, want := range map[string]string{
		"":                     "",
		"\n \n":                "",
		"one":                  "one",
		"one\ntwo\n\n":         "two",
		"one\r\ntwo\r\n":       "two",
		"one\n  two":           "two",
		"bad \xff bytes":       "bad  bytes",
		"first\n" + long:       strings.Repeat("é", 250),
		"first\na" + long:      "a" + strings.Repeat("é", 249),
		"first\n" + " " + long: strings.Repeat("é", 250),
	} {
		if got := harness.LastLine(text); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}
