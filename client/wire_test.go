package client_test

import (
	"testing"
	"time"

	"agent-server/fixtures/wire"
	"agent-server/gateway"
	"agent-server/transport"
)

// TestLaw134_baseClientOverWebSocket plays each of fixtures/wire over a WebSocket: a
// client that knows the base alone is served there as on stdio, to the byte, and is
// sent nothing that it has not asked for.
func TestLaw134_baseClientOverWebSocket(t *testing.T) {
	t.Parallel()
	for name, path := range wire.Scripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t, func(o *gateway.Options) { o.DrainTimeout = 2 * time.Second })
			addr, _ := listen(t, g, transport.ListenOptions{})
			f, err := transport.DialClient(within(t), "ws://"+addr, transport.ClientOptions{Socket: transport.SocketOptions{CloseTimeout: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			wire.Play(t, wire.Over(f), path, nil)
		})
	}
}
