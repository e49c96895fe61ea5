package e2e

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"

	"agent-server/client"
	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/harness/claudecode"
	"agent-server/protocol"
	"agent-server/transport"
)

// host is a gateway that serves one client, and that client.
type host struct {
	*client.Client
	t     *testing.T
	place place
	// closing ends both, once.
	closing func() error
	ended   bool
}

// clientOptions ask for every harness by its own id.
var clientOptions = client.Options{Name: "e2e", OpenHarnesses: true}

// spawn starts the gateway as a client would: the command itself, on stdio.
func (p place) spawn(t *testing.T) *host {
	t.Helper()
	args := []string{"serve"}
	if a := acpAgentOf(p.agent); a != nil {
		args = append(args, "--acp-agent", string(a.id)+"="+strings.Join(a.command(t), " "))
	}
	args = append(args, "--stdio", "--log-level", "info")
	if cli, err := cliPath(claudeBinary); err == nil {
		args = append(args, "--claude-path", cli)
	}
	if p.state != "" {
		args = append(args, "--log", "sqlite", "--state-dir", p.state)
	}
	var talk bytes.Buffer
	if cli, err := cliPath(codexBinary); err == nil {
		args = append(args, "--codex-path", cli)
	}
	cmd := exec.Command(binary(t), args...)
	cmd.Env, cmd.Dir, cmd.Stderr = p.environ(t), p.cwd, &talk
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.Spawn(ctx, cmd, clientOptions)
	if err != nil {
		t.Fatalf("%v\nstderr: %s", err, talk.String())
	}
	h := &host{Client: c, t: t, place: p, closing: c.Close}
	t.Cleanup(func() {
		h.end()
		if t.Failed() {
			t.Logf("the gateway said: %s", talk.String())
		}
	})
	return h
}

// embed runs the gateway in this process, so that an observer sees its steps.
func (p place) embed(t *testing.T, observer gateway.Observer) *host {
	t.Helper()
	gw, err := gateway.New(gateway.Options{Harnesses: p.harnesses(t), Environ: p.environ(t), Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	sub := gw.Connect(gateway.ConnectOptions{Pause: true, Name: "e2e"})
	stream := transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), sub, sub, transport.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.Attach(ctx, transport.NDJSON(here, here, client.DefaultMaxLineBytes, 0, here.Close), clientOptions)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{Client: c, t: t, place: p, closing: func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := errors.Join(gw.Shutdown(ctx, 0), stream.Finish(ctx), c.Close())
		stream.Wait()
		return errors.Join(err, gw.Close())
	}}
	t.Cleanup(h.end)
	return h
}

// harnesses are those of the command.
func (p place) harnesses(t *testing.T) []gateway.Registration {
	t.Helper()
	list := []gateway.Registration{
		{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: binary(t), Args: []string{"demo-agent"}},
	}
	if cli, err := cliPath(claudeBinary); err == nil {
		list = append(list, gateway.Registration{Harness: claudecode.New(claudecode.Options{}), Path: cli})
	}
	if a := acpAgentOf(p.agent); a != nil {
		list = append(list, a.registration(t))
	}
	return append(list, codexHarnesses()...)
}

// environ is the whole environment of a gateway, with what each CLI needs to work
// offline.
func (p place) environ(t *testing.T) []string {
	t.Helper()
	env := append(claudeEnv(p.srv, p.home), p.codexEnv(t)...)
	if a := acpAgentOf(p.agent); a != nil {
		env = append(env, a.settings(t, p)...)
	}
	return env
}

// end ends client and gateway, and wants nothing left of either.
func (h *host) end() {
	h.t.Helper()
	if h.ended {
		return
	}
	h.ended = true
	if err := h.closing(); err != nil {
		h.t.Errorf("ending the gateway: %v", err)
	}
	h.place.nothingLeft(h.t)
}
