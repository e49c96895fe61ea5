package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"time"

	"agent-server/protocol"
)

// NewID mints a UUIDv7: session and turn ids are the client's to choose.
func NewID() string {
	var r [10]byte
	_, _ = rand.Read(r[:])
	return protocol.UUIDv7(time.Now().UnixMilli(), r)
}

// Turn is a turn that was admitted, and its events.
type Turn struct {
	// SessionID and TurnID are its identity.
	SessionID, TurnID string
	// Deduplicated is true where it had been admitted before.
	Deduplicated bool
	feed         *Feed
}

// StartTurn starts a turn. Ids left out are minted here, so that a retry after a
// lost answer is the same turn. The caller reads Events, or closes the turn.
func (c *Client) StartTurn(ctx context.Context, p protocol.TurnStartParams) (*Turn, error) {
	if p.SessionID == nil {
		p.SessionID = new(NewID())
	}
	if p.TurnID == nil {
		p.TurnID = new(NewID())
	}
	feed := c.follow(*p.SessionID, true)
	var r protocol.TurnStartResult
	if err := c.call(ctx, protocol.MethodTurnStart, p, &r); err != nil {
		feed.Close()
		return nil, err
	}
	return &Turn{SessionID: r.SessionID, TurnID: r.TurnID, Deduplicated: r.Deduplicated, feed: feed}, nil
}

// Events gives the session's envelopes from the turn's start to its turn.ended,
// decoded. An error ends it, but for a *GapError, after which it goes on.
func (t *Turn) Events(ctx context.Context) iter.Seq2[protocol.Envelope, error] {
	return func(yield func(protocol.Envelope, error) bool) {
		defer t.Close()
		for {
			env, err := t.feed.Next(ctx)
			_, gap := err.(*GapError)
			if !yield(env, err) || err != nil && !gap {
				return
			}
			if ended, ok := env.Event.(*protocol.TurnEnded); ok && ended.TurnID == t.TurnID {
				return
			}
		}
	}
}

// Close lets the turn's events go; the turn itself runs on.
func (t *Turn) Close() { t.feed.Close() }

// RunTurn starts a turn and gives its events to its end.
func (c *Client) RunTurn(ctx context.Context, p protocol.TurnStartParams) iter.Seq2[protocol.Envelope, error] {
	return func(yield func(protocol.Envelope, error) bool) {
		t, err := c.StartTurn(ctx, p)
		if err != nil {
			yield(protocol.Envelope{}, err)
			return
		}
		t.Events(ctx)(yield)
	}
}

// Cancel asks for the end of a session's turn; turn "": whichever is active.
func (c *Client) Cancel(ctx context.Context, session, turn string) (protocol.TurnCancelResult, error) {
	p := protocol.TurnCancelParams{SessionID: session}
	if turn != "" {
		p.TurnID = &turn
	}
	var r protocol.TurnCancelResult
	err := c.call(ctx, protocol.MethodTurnCancel, p, &r)
	return r, err
}

// Respond answers a permission request. false: it was no longer open.
func (c *Client) Respond(ctx context.Context, session, request string, outcome protocol.PermissionOutcome) (bool, error) {
	var r protocol.PermissionRespondResult
	p := protocol.PermissionRespondParams{SessionID: session, RequestID: request, Outcome: outcome}
	err := c.call(ctx, protocol.MethodPermissionRespond, p, &r)
	return r.Accepted, err
}

// CloseSession ends a session. false: the server knows none by that id.
func (c *Client) CloseSession(ctx context.Context, session string) (bool, error) {
	var r protocol.SessionCloseResult
	err := c.call(ctx, protocol.MethodSessionClose, protocol.SessionCloseParams{SessionID: session}, &r)
	return r.Closed, err
}

// Shutdown asks the gateway to end.
func (c *Client) Shutdown(ctx context.Context) error {
	var r struct{}
	if err := c.call(ctx, protocol.MethodShutdown, nil, &r); err != nil {
		return fmt.Errorf("asking for shutdown: %w", err)
	}
	return nil
}
