package fakemodel

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// DefaultGate is the gate of a stall marker that names none.
const DefaultGate = "default"

// Options are a server's settings; the zero value is a server on a free loopback port.
type Options struct {
	// Addr is the TCP address to listen on; "" is a free port of 127.0.0.1.
	Addr string
	// StallLimit bounds a stall, after which the connection is cut; 0 is two minutes.
	StallLimit time.Duration
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.StallLimit == 0 {
		o.StallLimit = 2 * time.Minute
	}
	return o
}

// Server answers requests until it is closed.
type Server struct {
	opts   Options
	url    string
	http   *http.Server
	ledger *ledger         // what was asked
	gates  gates           // where answers stand
	closed context.Context // ends with Close, and every answer with it
	end    context.CancelFunc

	mu      sync.Mutex // guards the start of an answer against Close
	ended   bool
	working sync.WaitGroup // the accept loop and the answers
}

// Start listens and serves; the server has to be closed.
func Start(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	listener, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("starting the fake model: %w", err)
	}
	s := &Server{opts: opts, url: "http://" + listener.Addr().String(), ledger: newLedger()}
	s.closed, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	// Serve returns when Close closes the listener; its error says no more than that.
	s.working.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

// URL is the base address, such as http://127.0.0.1:4711, for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return s.url }

// Requests returns all requests so far, in the order of their arrival.
func (s *Server) Requests() []Request {
	requests, _ := s.ledger.all()
	return requests
}

// Wait is how a test follows the model without sleeping. It returns nil as soon as the condition holds for the requests so far, looking again
// at each change, or the context's error.
func (s *Server) Wait(ctx context.Context, condition func([]Request) bool) error {
	if err := s.ledger.wait(ctx, condition); err != nil {
		return fmt.Errorf("waiting for requests to the fake model: %w", err)
	}
	return nil
}

// WaitStalled returns nil as soon as a request stands at the gate. Everything before the
// gate has been sent then, but a CLI may not have read or printed it yet: a test that
// depends on what was printed has to look at that as well.
func (s *Server) WaitStalled(ctx context.Context, gate string) error {
	return s.Wait(ctx, func(requests []Request) bool {
		for _, r := range requests {
			if r.State == Stalled && r.Gate == gate {
				return true
			}
		}
		return false
	})
}

// Release opens a gate for good: stalls there go on, later ones do not stop.
func (s *Server) Release(gate string) { s.gates.release(gate) }

// Close drops every connection and returns when all answers have ended. It may be called
// more than once.
func (s *Server) Close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.end()
	_ = s.http.Close() // an error closing the listener leaves nothing to do
	s.working.Wait()
}

// begin keeps Close from waiting before an answer is counted. It reports whether an answer may start; it has to call working.Done if so.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.working.Add(1)
	}
	return !s.ended
}
