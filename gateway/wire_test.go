package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agent-server/gateway"
	"agent-server/protocol"
)

// row is one line of a wire script; fixtures/wire/README.md says what it means.
type row struct {
	Note string          `json:"note"`
	In   json.RawMessage `json:"in"`
	Raw  *string         `json:"raw"`
	Fill int             `json:"fill"`
	Out  json.RawMessage `json:"out"`
}

// TestWireScripts plays each of fixtures/wire on a connection of its own.
func TestWireScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../fixtures/wire/*.jsonl")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d scripts: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			g := open(t, func(o *gateway.Options) {
				o.Harnesses = o.Harnesses[:1]
				o.DrainTimeout = 2 * time.Second
			})
			s := &script{peer: connect(t, g, gateway.ConnectOptions{}), bound: map[string]string{"$cwd": os.TempDir()}}
			for i, r := range rows(t, path) {
				s.play(fmt.Sprintf("%s:%d", filepath.Base(path), i+1), r)
			}
			s.finish()
		})
	}
}

// rows reads a script; a row that is none of the kinds is a fault of the script.
func rows(t *testing.T, path string) (out []row) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r row
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil || r.Note == "" && r.In == nil && r.Raw == nil && r.Out == nil {
			t.Fatalf("%s: row %s: %v", path, line, err)
		}
		out = append(out, r)
	}
	return out
}

// script is a script being played.
type script struct {
	*peer
	// at is the line behind the last one that was matched.
	at int
	// bound are the placeholders whose values are known.
	bound map[string]string
}

func (s *script) play(where string, r row) {
	s.t.Helper()
	switch {
	case r.In != nil:
		s.tell(s.fill(compact(r.In)))
	case r.Raw != nil:
		text := s.fill(*r.Raw)
		s.tell(text + strings.Repeat("x", max(0, r.Fill-len(text))))
	case r.Out != nil:
		s.expect(where, compact(r.Out))
	}
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	return b.String()
}

// fill puts known values in.
func (s *script) fill(text string) string {
	for name, value := range s.bound {
		text = strings.ReplaceAll(text, `"`+name+`"`, `"`+value+`"`)
	}
	return text
}

// expect waits for a line. Of events any may be left out; an answer must be the
// next one.
func (s *script) expect(where, want string) {
	s.t.Helper()
	pattern, names := s.pattern(want)
	var got said
	s.await(where+": "+want, func(l said) bool {
		if l.At < s.at {
			return false
		}
		m := pattern.FindStringSubmatch(l.Raw)
		if m == nil {
			if l.Method == "" {
				s.t.Fatalf("%s: the next answer is\n\t%s\nwant\n\t%s", where, l.Raw, want)
			}
			return false
		}
		for i, name := range names {
			s.bound[name] = m[i+1]
		}
		got = l
		return true
	})
	s.at = got.At + 1
}

// placeholder is one in a row, quotes included.
var placeholder = regexp.MustCompile(`"\$[a-z]+(:[a-zA-Z]+)?"`)

// kinds are what placeholders stand for, as patterns.
var kinds = map[string]string{
	`"$time"`: `[0-9]{13}`,
	`"$int"`:  `-?[0-9]+`,
	`"$uuid"`: `"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"`,
	`"$text"`: `"(?:[^"\\]|\\.)*"`,
	`"$part"`: `\{.*\}`,
}

// pattern is a row as a pattern; names are its groups, in order.
func (s *script) pattern(want string) (*regexp.Regexp, []string) {
	var b strings.Builder
	var names []string
	b.WriteString("^")
	rest := s.fill(want)
	for loc := placeholder.FindStringIndex(rest); loc != nil; loc = placeholder.FindStringIndex(rest) {
		b.WriteString(regexp.QuoteMeta(rest[:loc[0]]))
		word := rest[loc[0]:loc[1]]
		rest = rest[loc[1]:]
		name := strings.Trim(word, `"`)
		switch i := index(names, name); {
		case kinds[word] != "":
			b.WriteString(kinds[word])
		case i >= 0: // Go's patterns know no back-references: the same line says it twice
			fmt.Fprintf(&b, `"[^"]*"`)
		default:
			names = append(names, name)
			b.WriteString(`"([^"]*)"`)
		}
	}
	b.WriteString(regexp.QuoteMeta(rest) + "$")
	return regexp.MustCompile(b.String()), names
}

func index(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

// finish checks that no answer was left unlisted, and that every request had one:
// another request's answer is the next.
func (s *script) finish() {
	s.t.Helper()
	s.tell(`{"jsonrpc":"2.0","id":"finish","method":"turn/cancel","params":{"sessionId":"finish"}}`)
	s.expect("the end", `{"jsonrpc":"2.0","id":"finish","result":{"outcome":"no_active_turn"}}`)
	s.mu.Lock()
	sessions := map[string]bool{}
	for _, l := range s.lines {
		switch ev := l.Event.(type) {
		case *protocol.TurnStarted:
			sessions[ev.TurnID] = true
		case *protocol.TurnEnded:
			delete(sessions, ev.TurnID)
		}
	}
	s.mu.Unlock()
	for id := range sessions {
		s.t.Errorf("the script leaves turn %s running", id)
	}
}
