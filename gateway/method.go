package gateway

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"

	"agent-server/protocol"
	"agent-server/session"
)

// method serves one kind of request: it answers, now or by a token, once. It does
// not wait: the next request of the connection stands behind it.
type method func(g *Gateway, c *call, params []byte)

// methodTable is the table: a method is one row. A gateway holds it, so that
// initialize can name what stands in it.
func methodTable() map[string]method {
	return map[string]method{
		protocol.MethodInitialize:        (*Gateway).initialize,
		protocol.MethodTurnStart:         (*Gateway).turnStart,
		protocol.MethodTurnCancel:        (*Gateway).turnCancel,
		protocol.MethodPermissionRespond: (*Gateway).permissionRespond,
		protocol.MethodEventsReplay:      (*Gateway).eventsReplay,
		protocol.MethodSessionClose:      (*Gateway).sessionClose,
		protocol.MethodShutdown:          (*Gateway).shutdown,

		protocol.MethodSessionSnapshot:    (*Gateway).sessionSnapshot,
		protocol.MethodSessionSubscribe:   (*Gateway).sessionSubscribe,
		protocol.MethodSessionUnsubscribe: (*Gateway).sessionUnsubscribe,
		protocol.MethodSessionList:        (*Gateway).sessionList,
		protocol.MethodHarnessList:        (*Gateway).harnessList,
	}
}

// serve routes one request. A fault of ours is answered, named in the log, and
// harms no other request.
func (g *Gateway) serve(c *call, req *jsonrpc2.Request) {
	m := g.methods[req.Method]
	if m == nil {
		c.fail(protocol.ErrMethodNotFound(req.Method))
		return
	}
	// A fault inside a session is caught there; what comes up here is a method's
	// own.
	defer g.caught(c, req.Method)
	var params []byte
	if req.Params != nil {
		params = *req.Params
	}
	m(g, c, params)
}

// caught answers for a method that has panicked; deferred. What the fault says is
// told to nobody, not to the log either: it may hold anything.
func (g *Gateway) caught(c *call, method string) {
	if fault := recover(); fault != nil {
		g.zap.Error("a method panicked", zap.String("method", method), kindOfFault(fault), zap.Stack("stack"))
		c.fail(protocol.ErrInternal("internal error"))
	}
}

// kindOfFault is what the log is told of a panic: its type, never its value.
func kindOfFault(fault any) zap.Field { return zap.String("fault", fmt.Sprintf("%T", fault)) }

// initialize says who answers, and sets the connection's capabilities anew: what
// a second one does not ask for is no longer granted. No harness is started for
// it; version and login are none of its business.
func (g *Gateway) initialize(c *call, params []byte) {
	p, faults := protocol.DecodeInitialize(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	if p.ProtocolVersion != protocol.Version {
		c.fail(protocol.ErrVersionMismatch(p.ProtocolVersion))
		return
	}
	v := viewOf(p.Capabilities)
	c.sub.asked.Store(&v)
	r := protocol.InitializeResult{ProtocolVersion: protocol.Version, InstanceID: g.instance,
		Server: protocol.ServerInfo{Name: "agent-server"}, Harnesses: g.registry.capabilities(),
		Capabilities: &protocol.ServerCapabilities{Durability: g.durability(), LogID: g.logID,
			MaxMessageBytes: g.o.MaxMessageBytes, IfBusy: g.registry.ifBusy(), Methods: slices.Sorted(maps.Keys(g.methods))}}
	if g.o.Version != "" {
		r.Server.Version = &g.o.Version
	}
	c.resultWith(r, func() { c.sub.become(v) })
}

// turnStart checks what does not depend on the session, and passes the turn on.
// The order of these checks is the protocol's, down to the machine's: what is
// refused first says what the next try will meet.
func (g *Gateway) turnStart(c *call, params []byte) {
	p, faults := protocol.DecodeTurnStart(params, g.registry.known)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	if g.stopping.Load() {
		c.fail(protocol.ErrShuttingDown())
		return
	}
	// Before the lock: a file system may not answer, and nobody may wait for that.
	reg := g.registrationFor(p)
	seen := g.inspect(c.sub.o.Reach, reg, p.Config)
	// Held until the machine has the turn: a shutdown that begins behind it finds
	// the session, one that began before it is seen here. Only a shutdown ever locks
	// it whole, so that where it is not to be had one has begun.
	if !g.admitting.TryRLock() {
		c.fail(protocol.ErrShuttingDown())
		return
	}
	defer g.admitting.RUnlock()
	switch {
	case g.stopping.Load():
		c.fail(protocol.ErrShuttingDown())
	case seen.broken:
		c.fail(protocol.ErrInternal("internal error"))
	case !seen.runnable:
		c.fail(protocol.ErrHarnessNotAvailable(p.Config.Harness, seen.available))
	default:
		g.startTurn(c, reg, p, seen.faults)
	}
}

// registrationFor gives the harness that a turn asks for, whether or not it can be
// run now; nil: none is registered. On a session shown as acp, plain acp means that session's
// own: a base client writes back what it was shown. Whether the session is bound
// to another harness is its machine's to say.
func (g *Gateway) registrationFor(p protocol.TurnStartParams) *Registration {
	reg := g.registry.find(p.Config.Harness)
	if p.Config.Harness == protocol.HarnessACP && p.SessionID != nil {
		// A session that only the log knows is bound, too.
		if s, refused := g.known(*p.SessionID); refused == nil {
			if own := s.bound(); own != nil && !own.Harness.Info().ID.Base() {
				reg = own
			}
		}
	}
	return reg
}

// startTurn gives the turn to its session's machine, which answers.
func (g *Gateway) startTurn(c *call, reg *Registration, p protocol.TurnStartParams, faults []protocol.Fault) {
	id, in := g.turnInput(p)
	in.Faults = faults
	in.Token = g.tokens.issue(c, id)
	for { // once, but for a session that is forgotten meanwhile
		s, err := g.obtain(id)
		if err != nil {
			g.zap.Error("session cannot be opened", zap.String("session", id), zap.Error(err))
			g.answer(session.Answer{Token: in.Token, Err: refusal(id)}, id, 0)
			return
		}
		switch d, moved := s.start(reg, in); {
		case moved: // the gateway has let it go between obtain and start
		case d == barred:
			g.answer(session.Answer{Token: in.Token, Err: refusal(id)}, id, 0)
			return
		case d == crowded:
			g.answer(session.Answer{Token: in.Token, Err: g.overload()}, id, 0)
			return
		default:
			return
		}
	}
}

// turnInput mints the ids that were not given.
func (g *Gateway) turnInput(p protocol.TurnStartParams) (string, session.StartTurn) {
	id, turn := "", ""
	if p.SessionID != nil {
		id = *p.SessionID
	} else {
		id = g.mint()
	}
	if p.TurnID != nil {
		turn = *p.TurnID
	} else {
		turn = g.mint()
	}
	return id, session.StartTurn{TurnID: turn, Input: p.Input, Config: p.Config, IfBusy: p.IfBusy, Trace: traceOf(p.Meta)}
}

// turnCancel: a session that was never started has no turn either.
func (g *Gateway) turnCancel(c *call, params []byte) {
	p, faults := protocol.DecodeTurnCancel(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	turn := ""
	if p.TurnID != nil {
		turn = *p.TurnID
	}
	// Its answer may come seconds later: the harness has to confirm it.
	ask := func(t session.Token) session.Input { return session.CancelTurn{Token: t, TurnID: turn} }
	if !g.ask(c, p.SessionID, ask) {
		c.result(protocol.TurnCancelResult{Outcome: protocol.CancelNoActiveTurn})
	}
}

// permissionRespond: of a session without a machine no request is open. Which
// option was offered is the broker's to know; here any string passes.
func (g *Gateway) permissionRespond(c *call, params []byte) {
	p, faults := protocol.DecodePermissionRespond(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	ask := func(t session.Token) session.Input {
		return session.ResolvePermission{Token: t, RequestID: p.RequestID, Outcome: p.Outcome}
	}
	if !g.ask(c, p.SessionID, ask) {
		c.result(protocol.PermissionRespondResult{})
	}
}

// sessionClose: what is closed or was never started is not closed again. The
// machine, or who acts where there is none, says session.ended and answers in one
// step, so that no other request ever meets a close in flight.
func (g *Gateway) sessionClose(c *call, params []byte) {
	p, faults := protocol.DecodeSessionClose(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	in := session.Close{Force: p.Force != nil && *p.Force}
	ask := func(t session.Token) session.Input { return session.Close{Token: t, Force: in.Force} }
	if !g.ask(c, p.SessionID, ask) && !g.closeDormant(c, in, p.SessionID) {
		c.result(protocol.SessionCloseResult{})
	}
}

// ask hands a request to a session's machine, which answers by the token, now or
// later. It gives false, nothing answered, where there is no machine: the method
// then says what holds of a session that is not there.
func (g *Gateway) ask(c *call, id string, in func(session.Token) session.Input) bool {
	s := g.lookup(id)
	if s == nil {
		return false
	}
	token := g.tokens.issue(c, id)
	return g.settleDoor(s.ask(token, in(token)), token, id)
}

// settleDoor answers a request that no machine has taken; false, nothing answered,
// where there is none.
func (g *Gateway) settleDoor(d door, token session.Token, id string) bool {
	switch d {
	case absent:
		// Nobody has redeemed it meanwhile: only a machine does.
		return g.tokens.redeem(token) == nil
	case barred:
		g.answer(session.Answer{Token: token, Err: refusal(id)}, id, 0)
	}
	return true
}

// shutdown answers first, whatever its params; a client that asks again is
// answered again. Who embeds the gateway learns of the end by Done.
func (g *Gateway) shutdown(c *call, _ []byte) {
	c.result(struct{}{})
	g.begin(g.o.DrainTimeout)
}
