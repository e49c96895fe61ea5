package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/transport"
)

// simClient is a user with a real client and its engine, one after the other connected
// by links that the world carries.
type simClient struct {
	w       *simWorld
	name    string
	session string
	c       *client.Client
	e       *client.Engine
	// door is where the client waits for its next connection.
	door chan transport.Framing
	link *simLink
	// sent counts what was asked for; submitted are the engine's turns, in order; shown
	// is what the view had, by item id.
	sent      int
	submitted []string
	shown     map[string]string
	feed      simFeed
	// calls are those beside the engine's own.
	calls []*simCall
}

// simCall is a call beside the engine, whose answer is owed.
type simCall struct {
	what string
	mu   sync.Mutex
	done bool
	err  error
}

// newSimClient is a client that is connected.
func newSimClient(w *simWorld, name, session string) *simClient {
	c := &simClient{w: w, name: name, session: session, door: make(chan transport.Framing), shown: map[string]string{}}
	ready := make(chan error, 1)
	go func() {
		var err error
		c.c, err = client.Keep(context.Background(), c.dial, client.Options{Name: name, AwaitServer: true, MinBackoff: 1, MaxBackoff: 1})
		ready <- err
	}()
	w.settle()
	for c.connect(); len(ready) == 0; w.settle() {
		c.link.up.order()
		c.link.down.order()
		c.link.up.carry(1)
		c.link.down.carry(1)
	}
	if err := <-ready; err != nil {
		panic(err) // no fault was put in
	}
	c.e = c.c.Open(session)
	c.feed.follow(w, c.c.Follow(session))
	w.settle()
	return c
}

// dial waits until the world lets the client in.
func (c *simClient) dial(ctx context.Context) (transport.Framing, error) {
	select {
	case f := <-c.door:
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect links a client that waits for it to the gateway.
func (c *simClient) connect() bool {
	room := 0
	if c.w.kind.lag > 0 {
		room = 4 << 10
	}
	l := newLink(room)
	select {
	case c.door <- l.client():
	default:
		return false
	}
	c.link = l
	sub := c.w.g.Connect(ConnectOptions{Name: c.name, Reach: ReachLoopback})
	if c.w.plant == skips {
		l.serve(sub, skipping{sub})
	} else {
		l.serve(sub, sub)
	}
	return true
}

// cut ends the link, with everything that is on its way.
func (c *simClient) cut() bool {
	if c.link == nil || c.link.ended() {
		return false
	}
	c.link.cut()
	<-c.link.gone
	return true
}

// close ends the client.
func (c *simClient) close() {
	c.e.Close()
	if err := c.c.Close(); err != nil {
		c.w.fail("closing %s: %v", c.name, err)
	}
	<-c.link.gone
	c.feed.done.Wait()
}

// carry lets a line arrive, in one direction; false: none is on its way.
func (c *simClient) carry(l *lane, sign string, times int) bool {
	line, ok := l.carry(times)
	if ok {
		c.w.note("%s%s%d %s", c.name, sign, times, c.numbered(line))
		c.w.settle()
	}
	return ok
}

// idMember is the id of a request or an answer.
var idMember = regexp.MustCompile(`^\{"jsonrpc":"2.0","id":(\d+),`)

// numbered is a line with the ids of its link's requests as they were carried: the
// client gives them in the order in which its goroutines come.
func (c *simClient) numbered(line []byte) string {
	text := strings.TrimSpace(string(line))
	if m := idMember.FindStringSubmatch(text); m != nil {
		if c.link.ids[m[1]] == 0 {
			c.link.ids[m[1]] = len(c.link.ids) + 1
		}
		text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s`, c.link.ids[m[1]], text[len(m[0]):])
	}
	return text
}

// scripts are what prompts make the harness do.
var simScripts = []string{"done", "open;delta ab;delta cd;close;done", "open;delta x;close;open;delta y;delta z;close;done", "open;delta q;crash", "crash",
	"open;delta a;close;ask;open;delta b;close;done", "ask;ask;done", "open;delta s;hang", "open;flood 60;close;done", "hang"}

// turn is a turn's content; one in eight is not to be taken.
func (c *simClient) turn(r *rand.Rand) (protocol.Input, protocol.RunConfig) {
	config := protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/"}
	if r.IntN(8) == 0 {
		config.Cwd = "/nowhere/to/be/found"
	}
	return protocol.TextInput(simScripts[r.IntN(len(simScripts))]), config
}

// submit gives the engine a turn.
func (c *simClient) submit(r *rand.Rand) bool {
	if c.sent >= 8 {
		return false
	}
	c.sent++
	id := c.e.Submit(c.turn(r))
	c.submitted = append(c.submitted, id)
	c.w.note("%s submits %s", c.name, id)
	return true
}

// queue starts a turn that waits where another runs.
func (c *simClient) queue(r *rand.Rand) bool {
	if c.sent >= 8 {
		return false
	}
	c.sent++
	input, config := c.turn(r)
	c.begin(fmt.Sprintf("%s.q%d", c.name, c.sent), input.Text, config.Cwd)
	return true
}

// cancel cancels whatever runs, or a turn of this client's.
func (c *simClient) cancel(r *rand.Rand) bool {
	turn := ""
	if len(c.submitted) > 0 && r.IntN(2) == 0 {
		turn = c.submitted[r.IntN(len(c.submitted))]
	}
	c.call("cancel "+turn, func(ctx context.Context) error {
		_, err := c.c.Cancel(ctx, c.session, turn)
		return err
	})
	return true
}

// respond answers a permission request that the client is shown, perhaps as another one
// does.
func (c *simClient) respond(option string) bool {
	for _, p := range c.e.View().Conversation.Permissions() {
		if p.Outcome == nil {
			outcome := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: option}
			c.call("respond "+p.RequestID, func(ctx context.Context) error {
				first, err := c.c.Respond(ctx, c.session, p.RequestID, outcome)
				if err == nil && first {
					c.w.accept(p.RequestID)
				}
				return err
			})
			return true
		}
	}
	return false
}

// closeSession closes the session, where nothing runs in it.
func (c *simClient) closeSession() bool {
	c.call("close", func(ctx context.Context) error {
		_, err := c.c.CloseSession(ctx, c.session)
		return err
	})
	return true
}

// call makes a call that the world does not wait for.
func (c *simClient) call(what string, do func(context.Context) error) {
	k := &simCall{what: what}
	c.calls = append(c.calls, k)
	c.w.note("%s asks: %s", c.name, what)
	c.w.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 24*time.Hour)
		defer cancel()
		err := do(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.done, k.err = true, err
	})
}

// answered says whether it was, and with which error.
func (k *simCall) answered() (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.done, k.err
}

// waits says whether a call has no answer yet.
func (c *simClient) waits() bool {
	return slices.ContainsFunc(c.calls, func(k *simCall) bool { done, _ := k.answered(); return !done })
}

// settled says whether the engine expects nothing more.
func (c *simClient) settled() bool {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return c.e.Settled(now) == nil
}

// failed says whether the engine has told what became of a turn that will not run.
func (c *simClient) failed(turn string) bool {
	return slices.ContainsFunc(c.e.Failures(), func(f client.Failure) bool { return f.TurnID == turn })
}

// look judges what is shown, as the engine's own simulation does: nothing doubles, and
// nothing that was shown vanishes but what its user was told of; what turns from
// intended to known changes in nothing.
func (c *simClient) look() {
	now := map[string]string{}
	for _, it := range c.e.View().Items {
		if _, twice := now[it.ID]; twice {
			c.w.fail("law 2: %s is shown %s twice", c.name, it.ID)
		}
		now[it.ID] = ""
		if m, ok := it.Entry.(*reducer.Message); ok && slices.Contains(c.submitted, m.TurnID) && m.Role == protocol.RoleUser {
			now[it.ID] = fmt.Sprint(m.TurnID, m.OutputIndex, string(protocol.Encode(m.Parts)))
		}
	}
	for id, was := range c.shown {
		is, there := now[id]
		switch {
		case !there && !c.failed(strings.TrimPrefix(id, "echo-")):
			c.w.fail("%s was shown %s, which vanished", c.name, id)
		case there && is != was:
			c.w.fail("law 2: %s: %s changed from %s to %s", c.name, id, was, is)
		}
	}
	c.shown = now
}

// simFeed is a feed that is read: each envelope once, in order.
type simFeed struct {
	done sync.WaitGroup
	// last is the seq that it gave last; 0: it begins.
	last int64
}

// follow reads until the client's end.
func (f *simFeed) follow(w *simWorld, feed *client.Feed) {
	f.done.Go(func() {
		defer feed.Close()
		for {
			env, err := feed.Next(context.Background())
			var gap *client.GapError
			var lost *client.HostLostError
			switch {
			case errors.As(err, &gap), errors.As(err, &lost):
				f.last = 0
			case errors.Is(err, client.ErrClosed):
				return
			case err != nil:
				w.fail("law 99: a feed ended: %v", err)
				return
			case f.last != 0 && env.Seq != f.last+1:
				w.fail("law 98: a feed gave seq %d behind %d", env.Seq, f.last)
			default:
				f.last = env.Seq
			}
		}
	})
}
