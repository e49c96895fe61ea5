package demoagent

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the dialogues in testdata with what the agent says")

// TestDialogues plays testdata/*.txt, one file a story. The lines are:
//
//	# …            a remark
//	session        initialize and open the session demo-5eed-1, unchecked
//	prompt TEXT    session/prompt to it, under the next id
//	cancel         session/cancel for it
//	answer ID OPT  the client's answer to a permission request
//	> LINE         any line from the client; in double quotes, as Go writes them,
//	               if it is no plain text
//	< LINE         a line from the agent, likewise
//	! exit N       the agent ended the process
//	! stderr TEXT  the agent wrote to stderr
//
// After each client line the agent comes to rest and has to have written the
// lines that follow, and no others.
func TestDialogues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dialogues: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			inBubble(t, func(t *testing.T) {
				got := play(t, string(want))
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			})
		})
	}
}

// play runs the client's part of a dialogue and returns the dialogue with the
// agent's true part.
func play(t *testing.T, dialogue string) string {
	var got bytes.Buffer
	c := start(t)
	defer func() {
		if c.deaf == 0 {
			c.finish()
			return
		}
		c.stop() // nothing else ends hang hard
		if err := c.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	}()
	for line := range strings.Lines(dialogue) {
		if strings.HasPrefix(line, "<") || strings.HasPrefix(line, "!") {
			continue
		}
		got.WriteString(line)
		c.perform(strings.TrimSuffix(line, "\n"))
		for _, said := range c.lines() {
			fmt.Fprintf(&got, "< %s\n", quoted(said))
		}
		for _, said := range splitLines(c.errw.take()) {
			fmt.Fprintf(&got, "! stderr %s\n", said)
		}
		for _, code := range c.exit {
			fmt.Fprintf(&got, "! exit %d\n", code)
		}
		c.exit = nil
	}
	return got.String()
}

// perform does one line of the client's.
func (c *client) perform(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "", "#":
	case "session":
		c.call("initialize", `{"protocolVersion":1}`)
		c.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
		c.lines()
	case "prompt":
		c.prompt(firstSession, rest)
	case "cancel":
		c.cancel(firstSession)
	case "answer":
		id, option, _ := strings.Cut(rest, " ")
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}}`)
	case ">":
		if text, err := strconv.Unquote(rest); err == nil {
			rest = text
		}
		c.send(rest)
	default:
		c.t.Fatalf("unknown line %q", line)
	}
}

// quoted leaves plain text alone.
func quoted(line string) string {
	plain := utf8.ValidString(line) && line == strings.TrimSpace(line) && !strings.HasPrefix(line, `"`)
	if plain && strings.IndexFunc(line, unicode.IsControl) < 0 {
		return line
	}
	return strconv.Quote(line)
}
