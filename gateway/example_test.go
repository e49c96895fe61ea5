package gateway_test

import (
	"context"
	"fmt"
	"net"
	"os"

	"agent-server/client"
	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/transport"
)

// A gateway and a client in one program, over a pipe in memory: the wire is the
// same as everywhere else.
func ExampleNew() {
	gw, err := gateway.New(gateway.Options{Harnesses: []gateway.Registration{{
		// The demo agent is a subcommand of the command agent-server.
		Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: "agent-server", Args: []string{"demo-agent"},
	}}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	here, there := net.Pipe()
	sub := gw.Connect(gateway.ConnectOptions{Pause: true})
	stream := transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), sub, sub, transport.Options{})

	ctx := context.Background()
	c, err := client.Attach(ctx, transport.NDJSON(here, here, client.DefaultMaxLineBytes, 0, here.Close), client.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	turn := protocol.TurnStartParams{
		Input:  protocol.TextInput("hello"),
		Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: os.TempDir()},
	}
	var conv *reducer.Conversation // nil is the empty conversation
	for env, err := range c.RunTurn(ctx, turn) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			break
		}
		conv = reducer.Reduce(conv, env.Event)
	}
	fmt.Println(conv.Len(), "messages")

	_ = gw.Shutdown(ctx, 0)
	_ = stream.Finish(ctx)
	_ = c.Close()
	stream.Wait()
	_ = gw.Close()
}
