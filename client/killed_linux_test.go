package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/client"
	"agent-server/eventlog/sqlite"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/transport"
)

// listenUntilKilled is a gateway on a durable log, as a command that only a signal
// ends.
func listenUntilKilled(dir, address string) error {
	log, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		return err
	}
	o := options()
	o.Log = log
	g, err := gateway.New(o)
	if err != nil {
		return err
	}
	l, err := transport.Listen(context.Background(), transport.ListenOptions{Address: address, InsecureNoAuth: true}, func(transport.Peer) (jsonrpc2.Handler, transport.Source) {
		sub := g.Connect(gateway.ConnectOptions{})
		return sub, sub
	})
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	select {}
}

// killable starts such a gateway.
func killable(t *testing.T, dir, address string) (cmd *exec.Cmd, addr string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "listen", dir, address)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	addr, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, cmd) })
	return cmd, strings.TrimSpace(addr)
}

// kill is kill -9.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = cmd.Wait() // killed, or waited for before
}

// TestEngineAcrossKill: a gateway that is killed in the middle of a burst, three times,
// and comes back on its log: every submitted turn was admitted once and has ended, and
// both users hold the fold of the log, byte for byte.
func TestEngineAcrossKill(t *testing.T) {
	t.Parallel()
	const turns = 8
	dir := t.TempDir()
	cmd, addr := killable(t, dir, "127.0.0.1:0")
	o := quick()
	o.AwaitServer = true
	writer, reader := openEngine(t, dial(t, addr, o), "s"), openEngine(t, dial(t, addr, o), "s")
	var submitted []string
	for i := range turns {
		submitted = append(submitted, writer.Submit(protocol.TextInput(fmt.Sprintf("deltas 60 500 (%d)", i)), demo()))
	}
	for n := range 3 {
		eventually(t, func() bool { return len(writer.View().Outbox) <= turns-1-2*n })
		kill(t, cmd)
		cmd, _ = killable(t, dir, addr)
	}
	var states []string
	for _, e := range []*client.Engine{writer, reader} {
		eventually(t, func() bool { return len(writer.View().Outbox) == 0 && len(prompts(e.View())) == turns })
		if err := e.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		states = append(states, string(e.View().Conversation.AppendJSON(nil)))
		if len(e.Failures()) > 0 {
			t.Errorf("failures: %v", e.Failures())
		}
	}
	all := writer.View().Conversation.Turns()
	for i, turn := range all {
		if turn.TurnID != submitted[i] || turn.Status == reducer.TurnActive {
			t.Errorf("turn %d is %s, %s; submitted was %s", i, turn.TurnID, turn.Status, submitted[i])
		}
	}
	if want := genesis(t, dial(t, addr, o), "s"); len(all) != turns || states[0] != want || states[1] != want {
		t.Errorf("%d turns; the log folds to\n\t%s\nthe engines hold\n\t%s\n\t%s", len(all), want, states[0], states[1])
	}
}
