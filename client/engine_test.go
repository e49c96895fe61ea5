package client_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/transport"
)

// genesis is the fold of a session's whole log, as a server holds it.
func genesis(t testing.TB, c *client.Client, session string) string {
	t.Helper()
	envs, _, err := c.Replay(within(t), session, 1)
	if err != nil {
		t.Fatal(err)
	}
	var f reducer.Folded
	for _, env := range envs {
		f, _ = reducer.FoldEnvelope(f, env)
	}
	return string(f.Conversation.AppendJSON(nil))
}

// demo is a config for the demo.
func demo() protocol.RunConfig { return prompt("", "", "").Config }

// open is an engine, closed at the test's end.
func openEngine(t testing.TB, c *client.Client, session string) *client.Engine {
	t.Helper()
	e := c.Open(session)
	t.Cleanup(e.Close)
	return e
}

// prompts are the user's messages of a view, in order.
func prompts(v *client.View) (out []string) {
	for _, it := range v.Items {
		if m, ok := it.Entry.(*reducer.Message); ok && m.Role == protocol.RoleUser && len(m.Parts) > 0 {
			out = append(out, m.Parts[0].(*protocol.TextPart).Text)
		}
	}
	return out
}

// TestEngine: bursts of two users over connections that are cut: each turn runs
// once, each user's in order, nothing shown vanishes or doubles, and in the end
// everybody has the fold of the log, byte for byte.
func TestEngine(t *testing.T) {
	t.Parallel()
	const turns = 6
	g := start(t)
	addr, _ := listen(t, g, transport.ListenOptions{})
	p := newProxy(t, addr, seeded(11, 400, 30_000))
	local := attach(t, g, client.Options{})
	o := quick()
	o.AwaitServer = true
	var engines []*client.Engine
	for range 2 {
		engines = append(engines, openEngine(t, dial(t, p.addr, o), "s"))
	}
	watched := make(chan int, 2)
	var wg sync.WaitGroup
	for u, e := range engines {
		wg.Go(func() { watched <- watch(t, e, u, turns) })
	}
	for u, e := range engines {
		for i := range turns {
			if e.Submit(protocol.TextInput(fmt.Sprintf("flood 40 16 (%d.%d)", u, i)), demo()) == "" {
				t.Error("not taken")
			}
		}
	}
	for _, e := range engines {
		eventually(t, func() bool { return len(prompts(e.View())) == 2*turns })
		if err := e.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	want := genesis(t, local, "s")
	for u, e := range engines {
		v := e.View()
		if got := string(v.Conversation.AppendJSON(nil)); got != want || len(v.Outbox) > 0 || len(e.Failures()) > 0 {
			t.Errorf("user %d: failures %v, state\n\t%s\nwant\n\t%s", u, e.Failures(), got, want)
		}
		if n := <-watched; n < 5 {
			t.Errorf("only %d views were given", n)
		}
	}
	if p.cuts.Load() < 3 {
		t.Errorf("only %d connections were cut", p.cuts.Load())
	}
}

// watch follows an engine's views to the end and checks that no message of its user
// vanishes or doubles, or passes another one of the same user.
func watch(t *testing.T, e *client.Engine, user, turns int) (views int) {
	w := e.Subscribe()
	mine := fmt.Sprintf("(%d.", user)
	for last := 0; ; views++ {
		v, err := w.Next(within(t))
		if err != nil {
			t.Errorf("Next: %v", err)
			return views
		}
		n, seen := 0, map[string]bool{}
		for _, text := range prompts(v) {
			if seen[text] {
				t.Errorf("%s is shown twice", text)
			}
			seen[text] = true
			if strings.Contains(text, mine) {
				if !strings.Contains(text, fmt.Sprint(mine, n, ")")) {
					t.Errorf("%s stands in place %d", text, n)
				}
				n++
			}
		}
		if n < last {
			t.Errorf("of %d messages %d are left", last, n)
		}
		last = n
		if n == turns && len(v.Outbox) == 0 {
			return views
		}
	}
}

// TestEngineRejects: a turn that the server will never take leaves the outbox and is
// reported with its input; the next one runs.
func TestEngineRejects(t *testing.T) {
	t.Parallel()
	g := start(t)
	e := openEngine(t, attach(t, g, client.Options{}), "s")
	if err := e.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	bad := demo()
	bad.Cwd = "/nowhere/at/all"
	turn := e.Submit(protocol.TextInput("never"), bad)
	e.Submit(protocol.TextInput("hello"), demo())
	eventually(t, func() bool { return len(e.Failures()) == 1 })
	if err := e.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	f := e.Failures()[0]
	if !isCode(f.Err, protocol.CodeInvalidParams) || f.TurnID != turn || f.Input.Text != "never" {
		t.Errorf("reported %+v", f)
	}
	if got := prompts(e.View()); len(got) != 1 || got[0] != "hello" {
		t.Errorf("shown is %v", got)
	}
}

// TestEngineEnds: an engine ends with its client, and by Close; whoever waits is
// told.
func TestEngineEnds(t *testing.T) {
	t.Parallel()
	m := newMute(hello)
	c := over(t, m, client.Options{})
	e := openEngine(t, c, "s")
	done := make(chan error, 2)
	go func() { done <- e.Settled(within(t)) }()
	_ = m.Close()
	if err := <-done; !errors.Is(err, client.ErrClosed) {
		t.Errorf("Settled: %v", err)
	}
	e.Close()
	if e.Submit(protocol.TextInput("x"), demo()) != "" || c.Open("s").Ready(within(t)) == nil {
		t.Error("an engine of a client that has ended takes turns")
	}
	g := start(t)
	other := openEngine(t, attach(t, g, client.Options{}), "s")
	w := other.Subscribe()
	if v, err := w.Next(within(t)); err != nil || v == nil {
		t.Errorf("the first view: %v", err)
	}
	go func() { done <- other.Settled(within(t)) }()
	<-done
	other.Close()
	for {
		if _, err := w.Next(within(t)); err != nil {
			if !errors.Is(err, client.ErrClosed) {
				t.Errorf("Next: %v", err)
			}
			return
		}
	}
}
