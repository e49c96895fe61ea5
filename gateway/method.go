package gateway

import (
	"fmt"
	"os"
	"sort"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"

	"agent-server/protocol"
	"agent-server/session"
)

// method serves one kind of request: it answers, now or by a token, once.
type method func(g *Gateway, c *call, params []byte)

// methods is the table: a method is one row.
var methods = map[string]method{
	protocol.MethodInitialize:        (*Gateway).initialize,
	protocol.MethodTurnStart:         (*Gateway).turnStart,
	protocol.MethodTurnCancel:        (*Gateway).turnCancel,
	protocol.MethodPermissionRespond: (*Gateway).permissionRespond,
	protocol.MethodEventsReplay:      (*Gateway).eventsReplay,
	protocol.MethodSessionClose:      (*Gateway).sessionClose,
	protocol.MethodShutdown:          (*Gateway).shutdown,
}

// methodNames is what initialize tells.
func methodNames() []string {
	var names []string
	for _, m := range []string{protocol.MethodInitialize, protocol.MethodTurnStart, protocol.MethodTurnCancel,
		protocol.MethodPermissionRespond, protocol.MethodEventsReplay, protocol.MethodSessionClose, protocol.MethodShutdown} {
		names = append(names, m)
	}
	sort.Strings(names)
	return names
}

// serve routes one request. A fault of ours is answered, named in the log, and
// harms no other request.
func (g *Gateway) serve(c *call, req *jsonrpc2.Request) {
	m := methods[req.Method]
	if m == nil {
		c.fail(protocol.ErrMethodNotFound(req.Method))
		return
	}
	defer func() {
		if fault := recover(); fault != nil {
			g.zap.Error("a method panicked", zap.String("method", req.Method), zap.Any("fault", fault), zap.Stack("stack"))
			c.fail(protocol.ErrInternal("internal error"))
		}
	}()
	var params []byte
	if req.Params != nil {
		params = *req.Params
	}
	m(g, c, params)
}

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
	open := p.Capabilities != nil && p.Capabilities.OpenHarnesses != nil && *p.Capabilities.OpenHarnesses
	c.sub.open.Store(open)
	r := protocol.InitializeResult{ProtocolVersion: protocol.Version, InstanceID: g.instance,
		Server: protocol.ServerInfo{Name: "agent-server"}, Harnesses: g.registry.capabilities(),
		Capabilities: &protocol.ServerCapabilities{Durability: g.o.Durability, LogID: g.logID,
			MaxMessageBytes: g.o.MaxMessageBytes, IfBusy: []string{"reject"}, Methods: methodNames()}}
	if g.o.Version != "" {
		r.Server.Version = &g.o.Version
	}
	c.result(r)
}

func (g *Gateway) turnStart(c *call, params []byte) {
	p, faults := protocol.DecodeTurnStart(params, g.registry.known)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	g.admitting.RLock()
	defer g.admitting.RUnlock()
	if g.stopping.Load() {
		c.fail(protocol.ErrShuttingDown())
		return
	}
	reg := g.registrationFor(p)
	if reg == nil {
		c.fail(protocol.ErrHarnessNotAvailable(p.Config.Harness, g.registry.available()))
		return
	}
	g.startTurn(c, reg, p)
}

// registrationFor gives the harness that a turn asks for, if it is available
// here. On a session shown as acp, plain acp means that session's own.
func (g *Gateway) registrationFor(p protocol.TurnStartParams) *Registration {
	reg := g.registry.find(p.Config.Harness)
	if p.Config.Harness == protocol.HarnessACP && p.SessionID != nil {
		if s := g.lookup(*p.SessionID); s != nil {
			if own := s.bound(); own != nil && !own.Harness.Info().ID.Base() {
				reg = own
			}
		}
	}
	if reg == nil {
		return nil
	}
	if _, err := reg.resolve(); err != nil {
		return nil
	}
	return reg
}

func (g *Gateway) startTurn(c *call, reg *Registration, p protocol.TurnStartParams) {
	id, in := g.turnInput(p)
	c.session = id
	in.Token = g.tokens.issue(c)
	for {
		s, err := g.obtain(id)
		if err != nil {
			g.zap.Error("session cannot be opened", zap.String("session", id), zap.Error(err))
			g.answer(session.Answer{Token: in.Token, Err: protocol.ErrInternal("the log of session " + id + " cannot be opened")}, id, 0)
			return
		}
		if s.start(reg, in) {
			return
		}
	}
}

// turnInput mints the ids that were not given and looks at this machine.
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
	return id, session.StartTurn{TurnID: turn, Input: p.Input, Config: p.Config, Faults: localFaults(p.Config)}
}

// localFaults are what is wrong with a config on this machine.
func localFaults(cfg protocol.RunConfig) []protocol.Fault {
	info, err := os.Stat(cfg.Cwd)
	switch {
	case err != nil:
		return []protocol.Fault{{Path: "config.cwd", Message: fmt.Sprintf("cannot be used: %v", err)}}
	case !info.IsDir():
		return []protocol.Fault{{Path: "config.cwd", Message: "is not a directory: " + cfg.Cwd}}
	}
	return nil
}

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
	ask := func(t session.Token) session.Input { return session.CancelTurn{Token: t, TurnID: turn} }
	if !g.ask(c, p.SessionID, ask) {
		c.result(protocol.TurnCancelResult{Outcome: protocol.CancelNoActiveTurn})
	}
}

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

func (g *Gateway) sessionClose(c *call, params []byte) {
	p, faults := protocol.DecodeSessionClose(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	if !g.ask(c, p.SessionID, func(t session.Token) session.Input { return session.Close{Token: t} }) {
		c.result(protocol.SessionCloseResult{})
	}
}

// ask hands a request to a session's machine, which answers by the token. It
// gives false, nothing answered, where there is no machine.
func (g *Gateway) ask(c *call, id string, in func(session.Token) session.Input) bool {
	s := g.lookup(id)
	if s == nil {
		return false
	}
	c.session = id
	token := g.tokens.issue(c)
	if s.step(in(token)) {
		return true
	}
	// Nobody redeemed it meanwhile: only a machine does.
	return g.tokens.redeem(token) == nil
}

// shutdown answers first; a client that asks again is answered again.
func (g *Gateway) shutdown(c *call, _ []byte) {
	c.result(struct{}{})
	g.begin(g.o.DrainTimeout)
}
