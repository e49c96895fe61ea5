package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"time"

	"agent-server/protocol"
)

// NewID mints a UUIDv7: session and turn ids are the client's to choose.
func NewID() string {
	var r [10]byte
	_, _ = rand.Read(r[:]) // which does not fail
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
// lost answer is the same turn. The caller reads Events, or closes the turn: its
// events are kept for it from before the request was sent, so that none is missed.
func (c *Client) StartTurn(ctx context.Context, p protocol.TurnStartParams) (*Turn, error) {
	if p.SessionID == nil {
		p.SessionID = new(NewID())
	}
	if p.TurnID == nil {
		p.TurnID = new(NewID())
	}
	feed := c.follow(*p.SessionID, true, *p.TurnID)
	var r protocol.TurnStartResult
	if err := c.call(ctx, protocol.MethodTurnStart, repeat, p, &r); err != nil {
		feed.Close()
		return nil, err
	}
	return &Turn{SessionID: r.SessionID, TurnID: r.TurnID, Deduplicated: r.Deduplicated, feed: feed}, nil
}

// Events gives the session's envelopes from the turn's start to its turn.ended,
// decoded; of a turn that had been admitted before, also those that are past. An
// error ends it, but for a *GapError, after which it goes on. It is consumed
// once.
func (t *Turn) Events(ctx context.Context) iter.Seq2[protocol.Envelope, error] {
	return func(yield func(protocol.Envelope, error) bool) {
		defer t.Close()
		p := passage{turn: t.TurnID, yield: yield}
		if t.Deduplicated && !p.past(ctx, t) {
			return
		}
		for {
			env, err := t.feed.Next(ctx)
			if !p.take(env, err) {
				return
			}
		}
	}
}

// passage picks a turn's events out of its session's.
type passage struct {
	turn  string
	yield func(protocol.Envelope, error) bool
	// begun is true from the turn's start on.
	begun bool
	// last is the seq up to which the past was given.
	last int64
}

// past gives what the log holds of a turn. One whose start is gone is begun all
// the same, behind the news that something is missing. It gives false at the end.
// The feed was there before, so that between past and present nothing is missed.
func (p *passage) past(ctx context.Context, t *Turn) bool {
	envs, first, err := t.feed.c.Replay(ctx, t.SessionID, 1)
	if err != nil {
		p.yield(protocol.Envelope{}, err)
		return false
	}
	if first > 1 && !slices.ContainsFunc(envs, func(e protocol.Envelope) bool { return begins(e, p.turn) }) {
		gap := &GapError{SessionID: t.SessionID, FirstAvailableSeq: first}
		if p.begun = true; !p.yield(protocol.Envelope{}, gap) {
			return false
		}
	}
	for _, env := range envs {
		if !p.take(env, nil) {
			return false
		}
		p.last = env.Seq
	}
	return true
}

// take passes on what belongs to the turn, and news of what is lost; it gives false
// when all was given, or the caller wants no more.
func (p *passage) take(env protocol.Envelope, err error) bool {
	if err != nil {
		_, gap := err.(*GapError)
		return p.yield(env, err) && gap
	}
	p.begun = p.begun || begins(env, p.turn)
	if !p.begun || env.Seq <= p.last {
		return true
	}
	ended, ok := env.Event.(*protocol.TurnEnded)
	return p.yield(env, nil) && !(ok && ended.TurnID == p.turn)
}

// Close lets the turn's events go; the turn itself runs on.
func (t *Turn) Close() { t.feed.Close() }

// RunTurn starts a turn and gives its events to its end. Where it is not admitted
// the first and only thing given is the error. To leave the loop early does not
// end the turn: Cancel does.
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

// Cancel asks for the end of a session's turn; turn "": whichever is active. It
// answers within 5 s: cancelled, where the harness has confirmed it; unconfirmed,
// and the turn's own end is the truth; or no_active_turn, with what runs instead.
// It may be called while the turn's events are being consumed.
func (c *Client) Cancel(ctx context.Context, session, turn string) (protocol.TurnCancelResult, error) {
	p := protocol.TurnCancelParams{SessionID: session}
	if turn != "" {
		p.TurnID = &turn
	}
	var r protocol.TurnCancelResult
	err := c.call(ctx, protocol.MethodTurnCancel, fate(turn != ""), p, &r)
	return r, err
}

// Respond answers a permission request with an option that it offers, or with a
// cancel. false: it was no longer open; the first answer wins, whoever gives it.
func (c *Client) Respond(ctx context.Context, session, request string, outcome protocol.PermissionOutcome) (bool, error) {
	var r protocol.PermissionRespondResult
	p := protocol.PermissionRespondParams{SessionID: session, RequestID: request, Outcome: outcome}
	err := c.call(ctx, protocol.MethodPermissionRespond, unknown, p, &r)
	return r.Accepted, err
}

// CloseSession ends a session. false: the server knows none by that id. While a
// turn runs it is refused. The session's log outlives it, and its id may be used
// again.
func (c *Client) CloseSession(ctx context.Context, session string) (bool, error) {
	var r protocol.SessionCloseResult
	err := c.call(ctx, protocol.MethodSessionClose, unknown, protocol.SessionCloseParams{SessionID: session}, &r)
	return r.Closed, err
}

// Shutdown asks the gateway to end; the connection ends with it, later. Running
// turns may go on for as long as the gateway lets them.
func (c *Client) Shutdown(ctx context.Context) error {
	var r struct{}
	if err := c.call(ctx, protocol.MethodShutdown, unknown, nil, &r); err != nil {
		return fmt.Errorf("asking for shutdown: %w", err)
	}
	return nil
}
