package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-server/protocol"
	"agent-server/reducer"

	"github.com/google/go-cmp/cmp"
)

// vectorDir holds one stream a file; its README says how they are written.
var vectorDir = filepath.Join("..", "fixtures", "vectors", "verify")

// vector is one file: the first line, and the lines that follow.
type vector struct {
	Violations []Violation `json:"violations"`
	// Base is the verdict under Base; absent: Violations without ours.
	Base    []Violation `json:"base"`
	Fold    string      `json:"fold"`
	Options struct {
		Chained bool `json:"chained"`
	} `json:"options"`
	lines [][]byte
}

// ownVectors reads every file that matches the pattern below vectorDir, by name.
func ownVectors(t *testing.T, pattern string) map[string]vector {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(vectorDir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]vector{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
		var v vector
		if err := json.Unmarshal(lines[0], &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		v.lines = lines[1:]
		found[strings.TrimSuffix(filepath.Base(path), ".jsonl")] = v
	}
	return found
}

// adder is what a Verifier and a Set have in common; the tests run both.
type adder interface {
	Add(protocol.Envelope) []Violation
	AddRaw([]byte) []Violation
	Finish() []Violation
}

// verdict plays the lines into a; a line {"cancelled": turn} is told, not added.
func (v vector) verdict(t *testing.T, a adder, cancelled func(turnID string)) []Violation {
	t.Helper()
	var found []Violation
	for _, raw := range v.lines {
		if turnID := member(raw, "cancelled"); turnID != nil {
			cancelled(strings.Trim(string(turnID), `"`))
			continue
		}
		found = append(found, a.AddRaw(raw)...)
	}
	return append(found, a.Finish()...)
}

// verifier is a Verifier with the fold that the vector asks for.
func (v vector) verifier(t *testing.T, base bool) *Verifier {
	t.Helper()
	made := New(Options{Base: base, Chained: v.Options.Chained})
	if v.Fold != "" {
		made.folds.reduce = brokenFolds[v.Fold]
		if made.folds.reduce == nil {
			t.Fatalf("no broken fold is called %s", v.Fold)
		}
	}
	return made
}

// brokenFolds break the rules that no stream can break while the fold is right.
var brokenFolds = map[string]func(*reducer.Conversation, protocol.Event) *reducer.Conversation{
	"panics-at-usage": func(c *reducer.Conversation, ev protocol.Event) *reducer.Conversation {
		if ev.Type() == protocol.TypeSessionUsage {
			panic("no gauge")
		}
		return reducer.Reduce(c, ev)
	},
	"loses-last-byte": func(c *reducer.Conversation, ev protocol.Event) *reducer.Conversation {
		if part, ok := ev.(*protocol.MessagePart); ok {
			if text, ok := part.Part.(*protocol.TextPart); ok && text.Text != "" {
				e, p := *part, *text
				p.Text = p.Text[:len(p.Text)-1]
				e.Part = &p
				ev = &e
			}
		}
		return reducer.Reduce(c, ev)
	},
	"counts-twice": func(c *reducer.Conversation, ev protocol.Event) *reducer.Conversation {
		if end, ok := ev.(*protocol.TurnEnded); ok {
			if turn, known := c.Turn(end.TurnID); known && turn.Status == reducer.TurnOver {
				e := *end
				e.TurnID += "'"
				ev = &e
			}
		}
		return reducer.Reduce(c, ev)
	},
}

// base is the verdict that the vector expects under Base.
func (v vector) base() []Violation {
	if v.Base != nil {
		return v.Base
	}
	return slices.DeleteFunc(slices.Clone(v.Violations), func(x Violation) bool { return isOurs(x.Rule) })
}

func isOurs(r Rule) bool {
	return slices.ContainsFunc(book, func(e entry) bool { return e.rule == r && e.ours })
}

// Every rule has a stream that breaks it, and it alone; the reason is the rule's
// own (a timestamp that is wrong is also no valid schema).
func TestEachRuleHasAStreamThatBreaksItAlone(t *testing.T) {
	t.Parallel()
	broken := map[Rule]bool{}
	for name, v := range ownVectors(t, "*.jsonl") {
		rule, _, _ := strings.Cut(name, ".")
		for _, want := range v.Violations {
			if want.Rule != Rule(rule) && Rule(rule) != TimestampValid {
				t.Errorf("%s expects a breach of %s", name, want.Rule)
			}
			broken[want.Rule] = true
		}
	}
	for _, rule := range Rules() {
		if !broken[rule] {
			t.Errorf("no stream breaks %s", rule)
		}
	}
}

// Law 65: the verdict on a stream is what breaks its rules, each at its event, and
// nothing else.
func TestLaw65_verdicts(t *testing.T) {
	t.Parallel()
	all := ownVectors(t, "*.jsonl")
	for name, v := range ownVectors(t, "clean/*.jsonl") {
		if len(v.Violations) > 0 {
			t.Errorf("clean/%s expects violations", name)
		}
		all["clean/"+name] = v
	}
	for name, v := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := v.verifier(t, false)
			if diff := cmp.Diff(v.Violations, v.verdict(t, made, made.Cancelled), anyOrder); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			based := v.verifier(t, true)
			if diff := cmp.Diff(v.base(), v.verdict(t, based, based.Cancelled), anyOrder); diff != "" {
				t.Errorf("verdict under Base (-want +got):\n%s", diff)
			}
		})
	}
}

// However a stream comes in, the verdict is one: as lines, as decoded envelopes,
// in whole, and as one of the sessions of a set.
func TestTheWayInDoesNotMatter(t *testing.T) {
	t.Parallel()
	all := ownVectors(t, "clean/*.jsonl")
	for name, v := range ownVectors(t, "*.jsonl") {
		if v.Fold == "" {
			all[name] = v
		}
	}
	for name, v := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := Options{Chained: v.Options.Chained}
			set := NewSet(opts)
			got := v.verdict(t, set, func(turnID string) { set.Cancelled("s1", turnID) })
			if diff := cmp.Diff(v.Violations, got, anyOrder); diff != "" {
				t.Errorf("verdict of a Set (-want +got):\n%s", diff)
			}
			envs, ok := v.decoded()
			if !ok {
				return // what does not decode, or is told besides, has one way in
			}
			if diff := cmp.Diff(v.Violations, Stream(envs, opts), anyOrder); diff != "" {
				t.Errorf("verdict of Stream (-want +got):\n%s", diff)
			}
		})
	}
}

// decoded is the vector as envelopes; false where a line is none.
func (v vector) decoded() (envs []protocol.Envelope, ok bool) {
	for _, raw := range v.lines {
		env, err := protocol.DecodeEnvelope(raw)
		if err != nil {
			return nil, false
		}
		envs = append(envs, env)
	}
	return envs, true
}

// The files are written as the wire writes: what is malformed aside, each line
// is the canonical encoding of itself.
func TestVectorsAreCanonical(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*.jsonl", "clean/*.jsonl"} {
		for name, v := range ownVectors(t, pattern) {
			for i, raw := range v.lines {
				env, err := protocol.DecodeEnvelope(raw)
				if err != nil {
					continue
				}
				if got := protocol.AppendEnvelope(nil, env); !bytes.Equal(got, raw) {
					t.Errorf("%s, line %d:\n  is %s\nwants %s", name, i+2, raw, got)
				}
			}
		}
	}
}

// The constants of rule.go are the book: none is forgotten.
func TestTheBookHasEveryRule(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("rule.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []Rule
	for text := range strings.Lines(string(source)) {
		if _, value, ok := strings.Cut(text, " Rule = "); ok {
			named = append(named, Rule(strings.Trim(strings.TrimSpace(value), `"`)))
		}
	}
	if diff := cmp.Diff(named, Rules()); diff != "" {
		t.Errorf("rule.go and the book (-rule.go +book):\n%s", diff)
	}
	if got := fmt.Sprint(len(named)); got != "30" {
		t.Errorf("%s rules, the protocol page lists 30", got)
	}
}
