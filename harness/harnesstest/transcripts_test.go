package harnesstest

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/fixtures"
	"agent-server/harness"
	"agent-server/internal/harnesses"
	"agent-server/protocol"
	"agent-server/session"
)

// transcripts of real CLIs lie beside the module where somebody has them; they are
// not part of it. Each was made by a driver of its own, and not for these tests.
const transcripts = "../../../shared/transcripts"

// players say which harness a transcript is played to; the first that matches counts.
var players = []struct {
	pattern string
	// harness is an id of the table; "": it is played to none, for this reason.
	harness protocol.HarnessID
	why     string
	// least is how many there are at least.
	least int
}{
	{"claude/*.jsonl", protocol.HarnessClaudeCode, "", 99},
	{"codex/*_exec_json_*.jsonl", protocol.HarnessCodexSDK, "", 12},
	{"codex/*.jsonl", protocol.HarnessCodexAppServer, "", 75},
	{"acp/claude-*.jsonl", "claude-agent-acp", "", 29},
	{"acp/codex-*.jsonl", "codex-acp", "", 30},
	{"acp/gemini-*.jsonl", "gemini", "", 34},
	{"acp/opencode-*.jsonl", "opencode", "", 25},
	{"acp/pi-*.jsonl", "", "pi's own protocol, for which there is no adapter", 21},
	{"README.md", "", "says what they are", 1},
}

// Law 194: every transcript there is plays through the harness it was made of, and
// none is left out unsaid. (That each turn ends as it did then is for the tests of the
// adapters, which know what the lines mean.)
func TestLaw194_everyTranscript(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(transcripts); err != nil {
		t.Skip("no transcripts here")
	}
	counts := make([]int, len(players))
	err := filepath.WalkDir(transcripts, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(transcripts, file)
		if err != nil {
			return err
		}
		at := playerOf(filepath.ToSlash(name))
		if at < 0 {
			t.Errorf("%s is played to no harness, and nobody says why", name)
			return nil
		}
		counts[at]++
		if id := players[at].harness; id != "" {
			t.Run(name, func(t *testing.T) { playTranscript(t, id, file) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range players {
		if counts[i] < p.least {
			t.Errorf("%s: %d, and there were %d", p.pattern, counts[i], p.least)
		}
	}
}

// playerOf is the place among players; -1: none takes it.
func playerOf(name string) int {
	for i, p := range players {
		if ok, _ := path.Match(p.pattern, name); ok {
			return i
		}
	}
	return -1
}

// said is one row of a transcript: who wrote what.
type said struct{ dir, line string }

// readTranscript reads rows; a raw value that is a string is the line itself.
func readTranscript(t *testing.T, file string) []said {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []said
	for row := range bytes.Lines(text) {
		var r struct {
			Dir  string          `json:"dir"`
			Raw  json.RawMessage `json:"raw"`
			Text string          `json:"rawtext"`
		}
		if json.Unmarshal(row, &r) != nil {
			continue // a row cut short
		}
		line := r.Text
		var b bytes.Buffer
		switch {
		case r.Raw == nil:
		case json.Unmarshal(r.Raw, &line) == nil:
		case json.Compact(&b, r.Raw) == nil:
			line = b.String()
		}
		for part := range strings.Lines(line) {
			rows = append(rows, said{r.Dir, strings.TrimSuffix(part, "\n")})
		}
	}
	return rows
}

// playTranscript makes the moves that the driver made, where a gateway would, and
// holds what comes of them to all that the suite asks.
func playTranscript(t *testing.T, id protocol.HarnessID, file string) {
	rows := readTranscript(t, file)
	r := &recording{open: fixtures.Row{At: 1, Session: sessionID, Entropy: strings.Repeat("7a", 32)}}
	for _, row := range rows {
		if row.dir == "in" {
			r.wrote = append(r.wrote, row.line)
		}
	}
	s := newStage(harnesses.Find(id), r, 194, nil)
	s.free, s.cfg = true, protocol.RunConfig{Harness: id, Cwd: "/workspace"}
	s.begin()
	for _, row := range rows {
		s.now++
		switch row.dir {
		case "in":
			s.client(row.line)
		case "out":
			s.line([]byte(s.names.line(row.line)))
		}
	}
	s.kill(harness.ExitStatus{Code: 1})
	s.finish()
	for _, fault := range s.faults {
		t.Errorf("%s\n%s", fault, s.tail())
	}
	if len(s.conv.Turns()) == 0 {
		t.Error("nothing was played: there is no turn")
	}
}

// begin starts a turn, where none is open.
func (s *stage) begin() {
	if _, open := s.m.Active(); open {
		return
	}
	s.step(session.StartTurn{
		Token: s.owe("start"), TurnID: "turn-" + string(rune('a'+s.tokens)), Input: protocol.TextInput("hello"), Config: s.cfg,
	})
}

// client makes a move of the recorded driver's.
func (s *stage) client(line string) {
	switch asks := readRequest(line).asks; {
	case asks == "user", asks == "turn/start", asks == "session/prompt":
		s.begin()
	case asks == "control_request interrupt", asks == "turn/interrupt", strings.Contains(line, `"session/cancel"`):
		if _, open := s.m.Active(); open {
			cancel(s)
		}
	case asks == "" && len(s.m.PendingPermissions()) > 0:
		option := "allow"
		if strings.Contains(line, "cancel") || strings.Contains(line, "den") || strings.Contains(line, "reject") {
			option = "reject"
		}
		s.step(session.ResolvePermission{Token: s.owe("resolve"), RequestID: s.m.PendingPermissions()[0],
			Outcome: protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: option}})
	}
}
