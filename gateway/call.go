package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"

	"agent-server/protocol"
	"agent-server/session"
)

// call is one request whose answer is owed.
type call struct {
	sub  *Subscriber
	conn *jsonrpc2.Conn
	id   jsonrpc2.ID
	// session is the session whose machine owes the answer; "" where the
	// handler answers itself.
	session string
}

// barrier is what precedes an answer; it rides in the response's meta member,
// which the stream takes off. It is transport.Barrier, spelled here so that this
// package needs no transport.
type barrier struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
	Effect  int64  `json:"effect,omitzero"`
}

// result answers with a result struct of package protocol, at once: nothing need
// be sent before it.
func (c *call) result(v any) { c.send(v, nil, barrier{}) }

// resultWith answers, and does something when the answer has its place among what the
// connection is sent.
func (c *call) resultWith(v any, take func()) {
	c.send(v, nil, barrier{Effect: c.sub.effect(take)})
}

// fail answers with an error.
func (c *call) fail(err *protocol.Error) { c.send(nil, err, barrier{}) }

// send is the one place where answers leave. What the peer does with them is
// the stream's business.
func (c *call) send(v any, fault *protocol.Error, b barrier) {
	resp := &jsonrpc2.Response{ID: c.id}
	if fault != nil {
		resp.Error = wireError(fault)
	} else {
		raw := json.RawMessage(protocol.Encode(v))
		resp.Result = &raw
	}
	if b.Seq > 0 || b.Effect > 0 {
		raw := json.RawMessage(protocol.Encode(b))
		resp.Meta = &raw
	}
	if err := c.conn.SendResponse(context.Background(), resp); err != nil {
		// The connection is gone; what was decided stays decided.
		c.sub.gw.zap.Debug("answer not sent", zap.String("connection", c.sub.o.Name), zap.Error(err))
	}
}

// wireError is the one mapping from our errors to the library's.
func wireError(e *protocol.Error) *jsonrpc2.Error {
	out := &jsonrpc2.Error{Code: int64(e.Code), Message: e.Message}
	if e.Data != nil {
		raw := json.RawMessage(e.Data)
		out.Data = &raw
	}
	return out
}

// answer gives a token what it is owed, after the session has been sent up to
// seq; 0: at once.
func (g *Gateway) answer(a session.Answer, sessionID string, seq int64) {
	c := g.tokens.redeem(a.Token)
	if c == nil {
		// A session that was given up has answered all of its own.
		g.zap.Error("a request was answered before", zap.String("session", sessionID))
		return
	}
	c.send(a.Result, a.Err, barrier{Session: sessionID, Seq: seq})
}

// crowdedRetry is what a client is told to wait where all sessions are taken: they
// become free as others close theirs, which nobody can foresee.
const crowdedRetry = 5 * time.Second

// overload is what a turn is refused with that would open a session too many.
func (g *Gateway) overload() *protocol.Error {
	return protocol.ErrOverloaded(fmt.Sprintf("%d sessions are open, which is the limit; session/close frees one", g.o.MaxSessions), crowdedRetry.Milliseconds())
}

// refuseAll answers every open request of a session with an error: its machine is
// given up, and nobody else will.
func (g *Gateway) refuseAll(sessionID string, err *protocol.Error) {
	for _, c := range g.tokens.take(sessionID) {
		c.fail(err)
	}
}
