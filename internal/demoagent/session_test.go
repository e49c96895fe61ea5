package demoagent

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// quiet is an agent without a client.
func quiet() *agent {
	return newAgent(context.Background(), io.Discard, io.Discard, Options{Seed: testSeed})
}

// TestRule: each mode with each kind of tool, before and after "always".
func TestRule(t *testing.T) {
	t.Parallel()
	command := toolCall{Name: "run_command", Kind: "execute"}
	edit := toolCall{Name: "edit_file", Kind: "edit"}
	for _, test := range []struct {
		mode          string
		command, edit ruling
	}{
		{modeDefault, rulingAsk, rulingAsk},
		{modePlan, rulingAsk, rulingAsk},
		{modeAcceptEdits, rulingAsk, rulingAllow},
		{modeBypass, rulingAllow, rulingAllow},
		{modeDontAsk, rulingRefuse, rulingRefuse},
	} {
		t.Run(test.mode, func(t *testing.T) {
			t.Parallel()
			a := quiet()
			s := a.beginSession("", "/workspace")
			s.mode = test.mode
			got := []ruling{a.rule(s, command), a.rule(s, edit)}
			if diff := cmp.Diff([]ruling{test.command, test.edit}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			a.allowAlways(s, command.Name)
			got = []ruling{a.rule(s, command), a.rule(s, edit)}
			if diff := cmp.Diff([]ruling{rulingAllow, test.edit}, got); diff != "" {
				t.Errorf("after always (-want +got):\n%s", diff)
			}
		})
	}
}

// TestModesAreListed: what the answer lists is what set_mode takes and rule
// knows.
func TestModesAreListed(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, m := range modes {
		ids = append(ids, m.ID)
	}
	want := []string{modeDefault, modePlan, modeAcceptEdits, modeDontAsk, modeBypass}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestResumeInNewProcess: the id of one run is taken by the next, and what that
// one makes has ids of its own, with the seeds apart.
func TestResumeInNewProcess(t *testing.T) {
	t.Parallel()
	first := newAgent(context.Background(), io.Discard, io.Discard, Options{Seed: "aaaa"})
	old := first.beginSession("", "/workspace")
	second := newAgent(context.Background(), io.Discard, io.Discard, Options{Seed: "bbbb"})
	again := second.beginSession(old.id, "/workspace")
	if again.id != old.id {
		t.Errorf("%s was resumed as %s", old.id, again.id)
	}
	if a, b := old.ids.next("msg"), again.ids.next("msg"); a == b {
		t.Errorf("both runs made the message %s", a)
	}
	if fresh := second.beginSession("", "/workspace"); fresh.id == old.id {
		t.Errorf("the id %s was given out again", fresh.id)
	}
}

// TestSessionIDPattern: what is taken for one of the demo's ids.
func TestSessionIDPattern(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"demo-5eed-1":                            true,
		"demo-0123456789abcdef-42":               true,
		"demo-" + strings.Repeat("a", 32) + "-1": true,
		"demo-" + strings.Repeat("a", 33) + "-1": false,
		"demo-5eed-0":                            false,
		"demo-5eed-01":                           false,
		"demo-5eed-":                             false,
		"demo--1":                                false,
		"demo-5EED-1":                            false,
		"demo-5eed-1\n":                          false,
		" demo-5eed-1":                           false,
		"demo-5eed-1234567890123456789":          false,
		"":                                       false,
	} {
		if got := sessionIDPattern.MatchString(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// TestPromptText: what is read of a prompt, and what is refused.
func TestPromptText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		blocks []contentBlock
		want   string
		refuse string
	}{
		{name: "nothing", refuse: "empty"},
		{name: "text", blocks: []contentBlock{{"text", "a"}}, want: "a"},
		{name: "texts", blocks: []contentBlock{{"text", "a"}, {"text", "b"}}, want: "a\nb"},
		{name: "link", blocks: []contentBlock{{"resource_link", ""}, {"text", "b"}}, want: "b"},
		{name: "image", blocks: []contentBlock{{"text", "a"}, {"image", ""}}, refuse: `"image"`},
		{name: "no type", blocks: []contentBlock{{"", "a"}}, refuse: `""`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := promptText(test.blocks)
			if got != test.want || (err == nil) != (test.refuse == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.refuse) {
				t.Errorf("refused with %v", err)
			}
		})
	}
}

// TestSplitPrompt: where the first word ends.
func TestSplitPrompt(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][2]string{
		"":                   {"", ""},
		"  \n":               {"", ""},
		"tool":               {"tool", ""},
		" tool \n":           {"tool", ""},
		"flood 3 4":          {"flood", "3 4"},
		"error\ta  b\nc ":    {"error", "a  b\nc"},
		"deltas\u00a03 more": {"deltas\u00a03", "more"},
	} {
		first, rest := splitPrompt(prompt)
		if diff := cmp.Diff(want, [2]string{first, rest}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", prompt, diff)
		}
	}
}

// TestNumber: arguments that are there, absent, and no numbers.
func TestNumber(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text     string
		fallback int
		want     int
		ok       bool
	}{
		{"flood 5", 0, 5, true},
		{"flood 1", 0, 1, true},
		{"flood 9", 0, 9, true},
		{"flood 10", 0, 0, false},
		{"flood 0", 5, 0, false},
		{"flood -1", 5, 0, false},
		{"flood", 5, 5, true},
		{"flood", 0, 0, false},
		{"flood five", 5, 0, false},
		{"flood 5.0", 5, 0, false},
		{"flood 99999999999999999999", 5, 0, false},
	} {
		turn := &turn{text: test.text, script: scripts[0]}
		got, err := turn.number(0, test.fallback, 1, 9)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%q, else %d: got %d, %v", test.text, test.fallback, got, err)
		}
	}
}

// TestReadChoice: only a selection selects.
func TestReadChoice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		result    string
		want      string
		cancelled bool
	}{
		{`{"outcome":{"outcome":"selected","optionId":"allow"}}`, "allow", false},
		{`{"outcome":{"outcome":"selected","optionId":"other","_meta":{}}}`, "other", false},
		{`{"outcome":{"outcome":"selected"}}`, "", false},
		{`{"outcome":{"outcome":"cancelled"}}`, "", true},
		{`{"outcome":{"outcome":"cancelled","optionId":"allow"}}`, "", true},
		{`{"outcome":{"optionId":"allow"}}`, "", false},
		{`{"outcome":{"outcome":"selected","optionId":7}}`, "", false},
		{`{"outcome":"cancelled"}`, "", false},
		{`{}`, "", false},
		{`null`, "", false},
		{``, "", false},
	} {
		got, err := readChoice(jsontext.Value(test.result))
		if got != test.want || (err == errCancelled) != test.cancelled {
			t.Errorf("%s: got %q, %v", test.result, got, err)
		}
	}
}

// TestTokens: a quarter of the bytes, rounded up.
func TestTokens(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]int{0: 0, 1: 1, 4: 1, 5: 2, 8: 2} {
		if got := tokens(bytes); got != want {
			t.Errorf("%d bytes are %d tokens", bytes, got)
		}
	}
}

// TestContextIsFull: a session that said more than fits still tells a possible
// context.
func TestContextIsFull(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := startSession(t)
		c.prompt(firstSession, "flood 2 1000000")
		lines := c.lines()
		if got := lines[len(lines)-2]; !strings.Contains(got, `"used":200000,"size":200000`) {
			t.Errorf("the context is told as %s", got)
		}
		c.finish()
	})
}
