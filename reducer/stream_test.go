package reducer

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite what the streams of fixtures/vectors/fold are expected to give")

// vectorDir holds our own streams: see the README there.
var vectorDir = filepath.Join("..", "fixtures", "vectors", "fold")

// vectorRow is a line of a stream: its rule, an event with its changes, or last
// the state and the selectors.
type vectorRow struct {
	Rule      string          `json:"rule,omitempty"`
	Event     json.RawMessage `json:"event,omitempty"`
	Changes   json.RawMessage `json:"changes,omitempty"`
	State     json.RawMessage `json:"state,omitempty"`
	Selectors json.RawMessage `json:"selectors,omitempty"`
}

// vectorFile is one stream.
type vectorFile struct {
	name string // without its ending
	rule string
	rows []vectorRow // those with an event
	want string      // the whole file
}

// vectorFiles reads all streams.
func vectorFiles(tb testing.TB) []vectorFile {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(vectorDir, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no streams in %s: %v", vectorDir, err)
	}
	files := make([]vectorFile, len(paths))
	for i, path := range paths {
		files[i] = readVectorFile(tb, path)
	}
	return files
}

// readVectorFile reads one stream.
func readVectorFile(tb testing.TB, path string) vectorFile {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	f := vectorFile{name: strings.TrimSuffix(filepath.Base(path), ".jsonl"), want: string(raw)}
	for line := range bytes.Lines(raw) {
		var row vectorRow
		if err := json.Unmarshal(line, &row); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		if row.Event != nil {
			f.rows = append(f.rows, row)
		}
		f.rule += row.Rule
	}
	return f
}

// events decodes the stream's events.
func (f vectorFile) events(tb testing.TB) []protocol.Event {
	tb.Helper()
	raws := make([]json.RawMessage, len(f.rows))
	for i, row := range f.rows {
		raws[i] = row.Event
	}
	return decodeAll(tb, raws)
}

// folded spells the stream with what folding it gives.
func (f vectorFile) folded(tb testing.TB) string {
	tb.Helper()
	out := appendText([]byte{'{'}, "rule", f.rule)
	var c *Conversation
	for i, ev := range f.events(tb) {
		next, changes := ReduceWithChanges(c, ev)
		out = append(member(append(out, "}\n{"...), "event"), f.rows[i].Event...)
		out = append(member(out, "changes"), appendChanges(changes)...)
		c = next
	}
	out = c.AppendJSON(member(append(out, "}\n{"...), "state"))
	out = append(member(out, "selectors"), protocol.Encode(selected(c))...)
	return string(append(out, "}\n"...))
}

// selected is what the selectors say of a conversation, in the form in which the
// reference's streams have it.
func selected(c *Conversation) selectors {
	s := selectors{Groups: []group{}, Activity: AgentActivity(c), Pending: []string{}, Subagents: [][2]any{}}
	for _, g := range GroupIntoTurns(c) {
		s.Groups = append(s.Groups, group{g.TurnID, g.Role, len(g.Entries), g.IsLatest})
	}
	for _, p := range PendingPermissions(c) {
		s.Pending = append(s.Pending, p.RequestID)
	}
	for _, g := range SubagentGroups(c) {
		ids := []any{}
		for _, m := range g.Messages {
			ids = append(ids, m.MessageID)
		}
		s.Subagents = append(s.Subagents, [2]any{g.ToolCallID, ids})
	}
	return s
}

// Our own streams give, byte for byte, what they gave when they were last looked
// over.
func TestOwnStreams(t *testing.T) {
	t.Parallel()
	for _, f := range vectorFiles(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			got := f.folded(t)
			if *update {
				if err := os.WriteFile(filepath.Join(vectorDir, f.name+".jsonl"), []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(f.want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got; -update rewrites):\n%s", diff)
			}
		})
	}
}
