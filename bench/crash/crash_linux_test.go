package crash

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/transport"
	"agent-server/verify"
)

var (
	seeds = flag.Int("seeds", 30, "how many runs")
	seed  = flag.Int64("seed", -1, "one run alone")
)

// patience bounds every wait; nothing is measured by it.
const patience = time.Minute

// lives is how often a run's gateway is killed.
const lives = 4

var built struct {
	sync.Once
	path string
	err  error
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(code)
}

// binary is agent-server as it is now.
func binary(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "agent-server-crash-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "agent-server")
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", built.path, "agent-server/cmd/agent-server").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("building agent-server: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// TestCrash kills a gateway several times a run, and holds what the next one says
// against what was said before.
func TestCrash(t *testing.T) {
	first, last := int64(0), int64(*seeds)
	if *seed >= 0 {
		first, last = *seed, *seed+1
	}
	// On a busy machine a run's gateways may all be killed before they take a turn:
	// that tries nothing, and may not be so of many.
	var idle atomic.Int64
	t.Cleanup(func() {
		if n := idle.Load(); n*10 >= last-first {
			t.Errorf("in %d of %d runs no turn was ever acknowledged: nothing was tried", n, last-first)
		}
	})
	for s := first; s < last; s++ {
		t.Run(fmt.Sprintf("seed=%d", s), func(t *testing.T) {
			t.Parallel()
			r := &run{t: t, rand: rand.New(rand.NewPCG(uint64(s), 7)), dir: t.TempDir(), idle: &idle, seen: map[string]map[int64]string{},
				acked: map[string]protocol.TurnStartParams{}, answered: map[string]bool{}}
			for range lives {
				r.live()
			}
			r.last()
		})
	}
}

// run is one seed's: a state directory, and all that its clients were told.
type run struct {
	t    *testing.T
	rand *rand.Rand
	dir  string
	life int
	// idle counts the runs in which nothing was tried.
	idle *atomic.Int64

	mu sync.Mutex
	// seen are the envelopes that were received, spelled, by session and seq.
	seen map[string]map[int64]string
	// acked are the turns whose start was acknowledged, by turn id.
	acked map[string]protocol.TurnStartParams
	// answered are the requests whose answer was accepted.
	answered map[string]bool
}

// gateway is one life.
type gateway struct {
	*client.Client
	cmd  *exec.Cmd
	talk *bytes.Buffer
}

// open starts a gateway on the run's state, and a client of it.
func (r *run) open() *gateway {
	r.t.Helper()
	r.life++
	cmd := exec.Command(binary(r.t), "serve", "--listen", "0", "--state-dir", filepath.Join(r.dir, "state"), "--drain-timeout", "0s")
	cmd.Env = append(os.Environ(), "CRASH_RUN="+r.dir)
	g := &gateway{cmd: cmd, talk: &bytes.Buffer{}}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill() })
	url, token := r.listening(g, pipe)
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	framing, err := transport.DialClient(ctx, url, transport.ClientOptions{TokenFile: token})
	if err != nil {
		r.t.Fatal(err)
	}
	if g.Client, err = client.Attach(ctx, framing, client.Options{OpenHarnesses: true}); err != nil {
		r.t.Fatal(err)
	}
	return g
}

// listening reads where the gateway listens, and leaves its further talk to a buffer.
func (r *run) listening(g *gateway, pipe io.Reader) (url, token string) {
	r.t.Helper()
	var text strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(text.String(), "clients show the token in ") {
		n, err := pipe.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			r.t.Fatalf("life %d does not listen: %v\n%s", r.life, err, text.String())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, pipe) }()
	for line := range strings.Lines(text.String()) {
		if _, after, ok := strings.Cut(line, "listening on "); ok {
			url = strings.Fields(after)[0]
		}
		if _, after, ok := strings.Cut(line, "clients show the token in "); ok {
			token = strings.Fields(after)[0]
		}
	}
	return url, token
}

// prompts are what turns do: every shape of event, and every moment to be killed in.
var prompts = []string{
	"flood 3000", "deltas 200 500", "think", "tool", "ask", "ask", "edit", "fail", "plan", "big 200000", "compact",
	"hang", "hang tool", "hang silent", "sequence think; tool; plan; think", "deltas 40 2000",
}

// live is one life: clients do what clients do until the gateway is killed.
func (r *run) live() {
	r.t.Helper()
	g := r.open()
	r.check(g)
	killed := make(chan struct{})
	timer := time.AfterFunc(time.Duration(r.rand.IntN(400))*time.Millisecond, func() {
		_ = g.cmd.Process.Kill()
		close(killed)
	})
	defer timer.Stop()
	var done sync.WaitGroup
	feed := g.Follow("")
	done.Go(func() { r.note(g, feed) })
	for i := range 3 {
		entropy := rand.New(rand.NewPCG(r.rand.Uint64(), 3))
		done.Go(func() { r.drive(g, fmt.Sprintf("s%d", i), entropy, killed) })
	}
	done.Wait()
	<-killed
	_ = g.cmd.Wait()
	_ = g.Close()
}

// drive starts turn after turn in a session, and cancels some.
func (r *run) drive(g *gateway, session string, entropy *rand.Rand, killed <-chan struct{}) {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for n := 0; ; n++ {
		select {
		case <-killed:
			return
		default:
		}
		turn := fmt.Sprintf("%s-%d-%d", session, r.life, n)
		p := protocol.TurnStartParams{SessionID: &session, TurnID: &turn, Input: protocol.TextInput(prompts[entropy.IntN(len(prompts))]),
			Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: r.dir}}
		started, err := g.StartTurn(ctx, p)
		if err != nil {
			return // it was killed, or is about to be
		}
		r.mu.Lock()
		r.acked[turn] = p
		r.mu.Unlock()
		if strings.HasPrefix(p.Input.Text, "hang") {
			go func() {
				time.Sleep(time.Duration(entropy.IntN(50)) * time.Millisecond)
				_, _ = g.Cancel(ctx, session, turn)
			}()
		}
		for _, err := range started.Events(ctx) {
			if err != nil {
				return
			}
		}
	}
}

// note keeps what is received, and answers what is asked.
func (r *run) note(g *gateway, feed *client.Feed) {
	defer feed.Close()
	for {
		env, err := feed.Next(r.t.Context())
		var gap *client.GapError
		if errors.As(err, &gap) {
			r.t.Errorf("life %d: %v", r.life, err)
			continue
		}
		if err != nil {
			return
		}
		r.remember(env)
		if ask, is := env.Event.(*protocol.PermissionRequested); is {
			go r.answer(g, ask)
		}
	}
}

// remember notes an envelope as it was sent.
func (r *run) remember(env protocol.Envelope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[env.SessionID] == nil {
		r.seen[env.SessionID] = map[int64]string{}
	}
	r.seen[env.SessionID][env.Seq] = string(protocol.AppendEnvelope(nil, env))
}

// answer allows what is asked.
func (r *run) answer(g *gateway, ask *protocol.PermissionRequested) {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	accepted, err := g.Respond(ctx, ask.SessionID, ask.RequestID, protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: ask.Options[0].OptionID})
	if err == nil && accepted {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.answered[ask.RequestID] = true
	}
}

// check holds what a gateway has of the lives before it against what they had said.
func (r *run) check(g *gateway) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	started, ended, resolved := map[string]int{}, map[string]int{}, map[string]bool{}
	for session, seen := range r.seen {
		envs, _, err := g.Replay(ctx, session, 1)
		if err != nil {
			r.t.Fatalf("life %d: reading %s: %v", r.life, session, err)
		}
		if faults := verify.Stream(envs, verify.Options{}); len(faults) > 0 {
			r.t.Errorf("life %d: %s: %v", r.life, session, faults)
		}
		held := map[int64]string{}
		for _, env := range envs {
			held[env.Seq] = string(protocol.AppendEnvelope(nil, env))
			switch e := env.Event.(type) {
			case *protocol.TurnStarted:
				started[e.TurnID]++
			case *protocol.TurnEnded:
				ended[e.TurnID]++
			case *protocol.PermissionResolved:
				resolved[e.RequestID] = resolved[e.RequestID] || e.Outcome.Outcome == protocol.OutcomeSelected
			}
			r.remember(env)
		}
		r.same(session, seen, held)
	}
	for turn := range r.acked {
		if started[turn] != 1 || ended[turn] != 1 {
			r.t.Errorf("life %d: turn %s was acknowledged, and is started %d and ended %d times", r.life, turn, started[turn], ended[turn])
		}
	}
	for request := range r.answered {
		if !resolved[request] {
			r.t.Errorf("life %d: the accepted answer to %s is lost", r.life, request)
		}
	}
	r.retry(ctx, g)
	r.nothingLeft(g)
}

// same wants every event that was sent at its place; a delta may be gone, with a filler
// there instead.
func (r *run) same(session string, seen, held map[int64]string) {
	r.t.Helper()
	for seq, was := range seen {
		now, is := held[seq]
		if is && now == was || strings.Contains(was, `"message.part.delta"`) && (!is || strings.Contains(now, protocol.MetaElided)) {
			continue
		}
		if strings.Contains(was, protocol.MetaElided) {
			continue
		}
		r.t.Errorf("life %d: %s at %d\nwas sent %.300s\nis held  %.300s", r.life, session, seq, was, now)
	}
}

// retry sends one acknowledged turn again: it is known, and does not run a second time.
func (r *run) retry(ctx context.Context, g *gateway) {
	r.t.Helper()
	for turn, p := range r.acked {
		again, err := g.StartTurn(ctx, p)
		if err != nil || !again.Deduplicated {
			r.t.Errorf("life %d: turn %s again: %v, %+v", r.life, turn, err, again)
			return
		}
		again.Close()
		return
	}
}

// nothingLeft wants no process of a run but its gateway.
func (r *run) nothingLeft(g *gateway) {
	r.t.Helper()
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		env, _ := os.ReadFile(path)
		if bytes.Contains(env, []byte("CRASH_RUN="+r.dir+"\x00")) && filepath.Dir(path) != fmt.Sprintf("/proc/%d", g.cmd.Process.Pid) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			r.t.Errorf("life %d: left running: %q", r.life, line)
		}
	}
}

// last is a life that nobody kills: everything is checked, and the sessions go on.
func (r *run) last() {
	r.t.Helper()
	g := r.open()
	r.check(g)
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for session := range r.seen {
		p := protocol.TurnStartParams{SessionID: &session, Input: protocol.TextInput("think"),
			Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: r.dir}}
		for env, err := range g.RunTurn(ctx, p) {
			if err != nil {
				r.t.Errorf("%s does not go on: %v", session, err)
				break
			}
			r.remember(env)
		}
	}
	if err := g.cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Error(err)
	}
	_ = g.cmd.Wait()
	_ = g.Close()
	events := 0
	for _, seen := range r.seen {
		events += len(seen)
	}
	r.t.Logf("%d turns acknowledged, %d answers accepted, %d events", len(r.acked), len(r.answered), events)
	if len(r.acked) == 0 {
		r.idle.Add(1)
	}
}
