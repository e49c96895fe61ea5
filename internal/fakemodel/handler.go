package fakemodel

import (
	"context"
	"io"
	"net/http"
	"time"
)

// api is one wire format.
type api interface {
	// read understands a request's body.
	read(body []byte) (exchange, error)
	// voice answers one request; id is the stem of the ids it gives out.
	voice(w http.ResponseWriter, ex exchange, id string, u usage) voice
	// count is the whole answer to a request that only counts tokens.
	count() string
}

// route is what an address does.
type route struct {
	api    api
	counts bool
}

// routes are the addresses that answer; a new API adds its own.
var routes = map[string]route{
	"POST /v1/messages":              {api: anthropic{}},
	"POST /v1/messages/count_tokens": {api: anthropic{}, counts: true},
	"POST /v1/responses":             {api: responses{}},
	"POST /v1/chat/completions":      {api: completions{}},
}

// routeOf is what a request's address does; known is false for one that does nothing.
// One API has the name of the model in its addresses.
func routeOf(r *http.Request) (to route, known bool) {
	if to, known = routes[r.Method+" "+r.URL.Path]; !known && r.Method == http.MethodPost {
		return geminiRoute(r.URL.Path)
	}
	return to, known
}

// serve answers one request. The whole body is read first: scripts need the end of
// the conversation, and a client that hangs up is noticed only after that.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.working.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client hung up while sending
	}
	req := Request{Method: r.Method, Path: r.URL.RequestURI(), Body: body, State: Answering}
	if to, known := routeOf(r); known && !to.counts {
		s.answer(w, r, req, to.api)
	} else {
		s.small(w, req, to.api)
	}
}

// small answers a request that no script reaches. A HEAD is a CLI's look whether anyone
// is there, so it succeeds at any address.
func (s *Server) small(w http.ResponseWriter, req Request, counter api) {
	req.State = Done
	switch {
	case counter != nil:
		writeJSON(w, http.StatusOK, []byte(counter.count()))
	case req.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	default:
		req.State = Failed
		http.Error(w, "the fake model has no such address", http.StatusNotFound)
	}
	s.ledger.enter(req, "")
}

// answer plays the script of one request. A request that makes no sense is answered with
// an error through the same voice, so that it shows up in the CLI as an API error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req Request, to api) {
	ex, err := to.read(req.Body)
	req.Prompt, req.Round, req.Side, req.Stream = ex.prompt, ex.round, ex.side, ex.stream
	number, attempt := s.ledger.enter(req, ex.key())
	var rep reply
	if err == nil {
		rep, err = ex.answer()
	}
	if err != nil {
		rep = refusal(err)
	}
	p := player{
		voice:   to.voice(w, ex, ex.id(attempt), rep.usage),
		wait:    func(gate string) error { return s.stand(r.Context(), number, gate) },
		attempt: attempt,
	}
	state := p.play(rep)
	if state == Cut || state == Gone {
		drop(w)
	}
	s.ledger.move(number, state, "")
}

// refusal is the reply to a request that makes no sense; its text is for a test's author.
func refusal(err error) reply {
	f := failure{status: http.StatusBadRequest, message: "fakemodel: " + err.Error()}
	return reply{steps: []step{f}, usage: defaultUsage}
}

// stand keeps a request at a gate. The request's context ends when the client hangs up,
// which the server notices because the body has been read.
func (s *Server) stand(ctx context.Context, number int, gate string) error {
	limit := time.NewTimer(s.opts.StallLimit)
	defer limit.Stop()
	s.ledger.move(number, Stalled, gate)
	select {
	case <-s.gates.opened(gate):
		s.ledger.move(number, Answering, "")
		return nil
	case <-ctx.Done():
		return errGone
	case <-s.closed.Done():
		return errGone
	case <-limit.C:
		return errCut
	}
}

// drop closes the connection without the end of the answer, which returning from the
// handler would send.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // already closed from the other side
	}
	_ = conn.Close() // nobody is left to tell
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that hung up shows in the request's context
}
