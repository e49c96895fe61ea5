package gateway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	script "agent-server/fixtures/wire"
	"agent-server/gateway"
)

// TestWireScripts plays each of fixtures/wire on a connection of its own.
func TestWireScripts(t *testing.T) {
	t.Parallel()
	for name, path := range script.Scripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, func(o *gateway.Options) {
				o.Harnesses = o.Harnesses[:1]
				o.DrainTimeout = 2 * time.Second
			})
			script.Play(t, &scripted{peer: connect(t, g, gateway.ConnectOptions{})}, path, nil)
		})
	}
}

// scripted is a peer that a script speaks through; at is the next line's place.
type scripted struct {
	*peer
	at int
}

func (s *scripted) Tell(line string) error {
	s.tell(line)
	return nil
}

func (s *scripted) Next(ctx context.Context) (string, error) {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.grown.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.at >= len(s.lines) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if s.ended {
			return "", errors.New("the connection has ended")
		}
		s.grown.Wait()
	}
	s.at++
	return s.lines[s.at-1].Raw, nil
}
