package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/transport"
)

// row is one line of a wire script; fixtures/wire/README.md says what it means.
type row struct {
	In   json.RawMessage `json:"in"`
	Raw  *string         `json:"raw"`
	Fill int             `json:"fill"`
	Out  json.RawMessage `json:"out"`
}

// TestLaw134_baseClientOverWebSocket plays each of fixtures/wire over a WebSocket: a
// client that knows the base alone is served there as on stdio, to the byte, and is
// sent nothing that it has not asked for.
func TestLaw134_baseClientOverWebSocket(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../fixtures/wire/*.jsonl")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d scripts: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			g := start(t, func(o *gateway.Options) { o.DrainTimeout = 2 * time.Second })
			addr, _ := listen(t, g, transport.ListenOptions{})
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := newScript(t, addr)
			n := 0
			for line := range bytes.Lines(text) {
				n++
				s.play(fmt.Sprintf("%s:%d", filepath.Base(path), n), line)
			}
			s.finish()
		})
	}
}

// script is a script that is being played.
type script struct {
	t testing.TB
	f transport.Framing
	// bound are the placeholders whose values are known; at is the line behind the
	// last that was matched.
	bound map[string]string
	at    int

	mu    sync.Mutex
	lines []string
	ended bool
}

func newScript(t testing.TB, addr string) *script {
	t.Helper()
	f, err := transport.DialClient(within(t), "ws://"+addr, transport.ClientOptions{Socket: transport.SocketOptions{CloseTimeout: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, f: f, bound: map[string]string{"$cwd": os.TempDir()}}
	var wg sync.WaitGroup
	wg.Go(s.read)
	t.Cleanup(func() {
		_ = f.Close()
		wg.Wait()
	})
	return s
}

func (s *script) read() {
	for {
		line, err := s.f.Next()
		s.mu.Lock()
		if err != nil {
			s.ended = true
			s.mu.Unlock()
			return
		}
		s.lines = append(s.lines, string(line))
		s.mu.Unlock()
	}
}

// line waits for the line at a place.
func (s *script) line(where string, at int) string {
	s.t.Helper()
	var line string
	eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if at < len(s.lines) {
			line = s.lines[at]
		}
		return line != "" || s.ended
	})
	if line == "" {
		s.t.Fatalf("%s: the connection has ended", where)
	}
	return line
}

func (s *script) play(where string, text []byte) {
	s.t.Helper()
	var r row
	if err := json.Unmarshal(text, &r); err != nil {
		s.t.Fatalf("%s: %v", where, err)
	}
	switch {
	case r.In != nil:
		s.tell(s.fill(compact(r.In)))
	case r.Raw != nil:
		line := s.fill(*r.Raw)
		s.tell(line + strings.Repeat("x", max(0, r.Fill-len(line))))
	case r.Out != nil:
		s.expect(where, compact(r.Out))
	}
}

func (s *script) tell(line string) {
	s.t.Helper()
	if err := s.f.Write([]byte(line + "\n")); err != nil {
		s.t.Fatal(err)
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

// expect waits for a line. Of events any may be left out; an answer must be the next.
func (s *script) expect(where, want string) {
	s.t.Helper()
	pattern, names := s.pattern(want)
	for ; ; s.at++ {
		line := s.line(where, s.at)
		if m := pattern.FindStringSubmatch(line); m != nil {
			for i, name := range names {
				s.bound[name] = m[i+1]
			}
			s.at++
			return
		}
		if !isEvent(line) {
			s.t.Fatalf("%s: the next answer is\n\t%s\nwant\n\t%s", where, line, want)
		}
	}
}

// placeholder is one in a row, quotes included; kinds are what they stand for.
var (
	placeholder = regexp.MustCompile(`"\$[a-z]+(:[a-zA-Z]+)?"`)
	kinds       = map[string]string{
		`"$time"`: `[0-9]{13}`, `"$int"`: `-?[0-9]+`, `"$uuid"`: `"[0-9a-f-]{36}"`, `"$text"`: `"(?:[^"\\]|\\.)*"`, `"$part"`: `\{.*\}`,
	}
)

// pattern is a row as a pattern; names are its groups, in order.
func (s *script) pattern(want string) (*regexp.Regexp, []string) {
	var b strings.Builder
	var names []string
	rest := s.fill(want)
	for loc := placeholder.FindStringIndex(rest); loc != nil; loc = placeholder.FindStringIndex(rest) {
		b.WriteString(regexp.QuoteMeta(rest[:loc[0]]))
		word := rest[loc[0]:loc[1]]
		rest = rest[loc[1]:]
		name := strings.Trim(word, `"`)
		switch {
		case kinds[word] != "":
			b.WriteString(kinds[word])
		case slices.Contains(names, name): // patterns know no back-references: the same line says it twice
			b.WriteString(`"[^"]*"`)
		default:
			names = append(names, name)
			b.WriteString(`"([^"]*)"`)
		}
	}
	return regexp.MustCompile("^" + b.String() + regexp.QuoteMeta(rest) + "$"), names
}

// finish checks that every request has had its one answer, and that no line has
// anything that the base does not know.
func (s *script) finish() {
	s.t.Helper()
	s.tell(`{"jsonrpc":"2.0","id":"finish","method":"turn/cancel","params":{"sessionId":"finish"}}`)
	s.expect("the end", `{"jsonrpc":"2.0","id":"finish","result":{"outcome":"no_active_turn"}}`)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		var m struct {
			Method string
			Params map[string]json.RawMessage
		}
		switch err := json.Unmarshal([]byte(line), &m); {
		case err != nil || m.Method == "": // a batch's answers, or one
		case m.Method != protocol.NotificationEvent:
			s.t.Errorf("a notification that is no event: %s", line)
		default:
			s.base(line, m.Params)
		}
	}
}

// base checks that an event is of the base, member for member.
func (s *script) base(line string, params map[string]json.RawMessage) {
	env, err := protocol.DecodeEnvelope(must(json.Marshal(params)))
	if err != nil || len(params) != 3 || env.PrevSeq != nil {
		s.t.Errorf("an envelope that is more than the base's: %s (%v)", line, err)
	}
	if _, unknown := env.Event.(*protocol.UnknownEvent); unknown {
		s.t.Errorf("an event that is none of the base's: %s", line)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
