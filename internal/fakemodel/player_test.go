package fakemodel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// mouth writes down what a player says, and fails at the given call.
type mouth struct {
	said   []string
	failAt int // 0 never fails
}

var errMouth = errors.New("nobody listens")

func (m *mouth) say(format string, args ...any) error {
	m.said = append(m.said, fmt.Sprintf(format, args...))
	if len(m.said) == m.failAt {
		return errMouth
	}
	return nil
}

func (m *mouth) open(kind kind, name string) error { return m.say("open %d %s", kind, name) }
func (m *mouth) write(piece string) error          { return m.say("write %s", piece) }
func (m *mouth) close() error                      { return m.say("close") }
func (m *mouth) event(e event) error               { return m.say("event %s", e.name) }

func (m *mouth) finish(stop string, failed *failure) error {
	if failed != nil {
		return m.say("fail %d", failed.status)
	}
	return m.say("finish %s", stop)
}

// plays runs the first reply of a prompt.
func plays(t *testing.T, m *mouth, prompt string, attempt int, wait error) State {
	t.Helper()
	s, err := parse(prompt)
	if err != nil {
		t.Fatal(err)
	}
	p := player{voice: m, attempt: attempt, wait: func(gate string) error {
		m.said = append(m.said, "wait "+gate)
		return wait
	}}
	return p.play(s.reply(0))
}

func TestPlayer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		prompt  string
		attempt int
		wait    error
		said    string
		state   State
	}{
		{prompt: "[[text say=ab pieces=2]]", said: "open 1 |write a|write b|close|finish end_turn", state: Done},
		{prompt: "[[tool raw=x pieces=1]]", said: "open 3 Bash|write x|close|finish tool_use", state: Done},
		{prompt: "[[tool raw=x pieces=1]][[stop reason=pause_turn]]",
			said: "open 3 Bash|write x|close|finish pause_turn", state: Done},
		{prompt: "[[text say=a]][[think say=b]]",
			said: "open 1 |write a|close|open 2 |write b|close|finish end_turn", state: Done},
		{prompt: "[[block]][[text say=a]][[block]][[block]]", said: "open 1 |write a|close|finish end_turn", state: Done},
		{prompt: "[[text say=a]][[stall gate=g]][[text say=b]]",
			said: "open 1 |write a|wait g|write b|close|finish end_turn", state: Done},
		{prompt: "[[stall]][[text]]", wait: errGone, said: "wait default", state: Gone},
		{prompt: "[[stall]][[text]]", wait: errCut, said: "wait default", state: Cut},
		{prompt: "[[text say=a]][[cut]]", said: "open 1 |write a", state: Cut},
		{prompt: "[[text say=a]][[cut times=1]]", attempt: 1, said: "open 1 |write a|close|finish end_turn", state: Done},
		{prompt: "[[error times=2]]", attempt: 1, said: "fail 500", state: Failed},
		{prompt: "[[error times=2]]", attempt: 2, said: "finish end_turn", state: Done},
		{prompt: "[[event type=ping]]", said: "event ping|finish end_turn", state: Done},
	} {
		m := &mouth{}
		state := plays(t, m, tc.prompt, tc.attempt, tc.wait)
		if diff := cmp.Diff(tc.said, strings.Join(m.said, "|")); diff != "" || state != tc.state {
			t.Errorf("%s: %s, want %s (-want +got):\n%s", tc.prompt, state, tc.state, diff)
		}
	}
}

// A client that is gone ends the reply at whatever call notices it.
func TestPlayerStopsWhenNobodyListens(t *testing.T) {
	t.Parallel()
	const prompt = "[[think say=a]][[text say=b]][[event]][[tool raw=x pieces=1]]"
	all := &mouth{}
	plays(t, all, prompt, 0, nil)
	for at := range all.said {
		m := &mouth{failAt: at + 1}
		if state := plays(t, m, prompt, 0, nil); state != Gone || len(m.said) != at+1 {
			t.Errorf("failing at call %d: %s after %d calls", at+1, state, len(m.said))
		}
	}
	m := &mouth{failAt: 1}
	if state := plays(t, m, "[[error]]", 0, nil); state != Gone {
		t.Errorf("failing at the failure: %s", state)
	}
}

// Whatever is said, a streamed answer adds up to the one in one piece.
func TestStreamAgreesWithWhole(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	rapid.Check(t, func(r *rapid.T) {
		prompt := strings.Join(rapid.SliceOfN(rapid.Map(
			rapid.IntRange(1, 9), func(n int) string {
				return []string{
					"[[text say=abcdefgh pieces=%d]]", "[[think say=éé pieces=%d]]",
					`[[tool input={"n":[1,2,3]} pieces=%d]]`, "[[block]]", "[[event]]",
				}[n%5]
			}), 1, 6).Draw(r, "markers"), " ")
		prompt = strings.ReplaceAll(prompt, "%d", fmt.Sprint(rapid.IntRange(1, 9).Draw(r, "pieces")))
		streamed := ask(t, srv, asks(prompt))
		_, message := whole(t, srv, asks(prompt))
		if got := said(message); got != streamed.text || message["stop_reason"] != streamed.stop {
			r.Errorf("whole %q, streamed %q %s", got, streamed.text, streamed.stop)
		}
	})
}

// said is all text, reasoning and input of a message.
func said(message obj) string {
	var all strings.Builder
	for _, block := range message["content"].([]any) {
		block := block.(obj)
		switch block["type"] {
		case "tool_use":
			all.WriteString(`{"n":[1,2,3]}`)
		default:
			all.WriteString(block[block["type"].(string)].(string))
		}
	}
	return all.String()
}
