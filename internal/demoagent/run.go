package demoagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Run is the agent: it reads requests from in, answers on out and returns when
// in ends, having cancelled every turn and waited for it. That is a nil error;
// others are a failing read or write, a bad seed and the end of ctx.
//
// in and out carry one JSON object a line. errw takes the few lines that are
// meant for people. When Run has to stop before in ends it closes in, if it can,
// because nothing else ends a blocked read. It has no way to end a blocked
// write, so an agent whose output nobody reads ends with its process.
func Run(ctx context.Context, in io.Reader, out io.Writer, errw io.Writer, opts Options) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	a := newAgent(ctx, out, errw, opts)
	readCtx, stop := context.WithCancel(ctx)
	defer stop()
	err = a.serve(ctx, readLines(readCtx, in, maxLine))
	if closer, ok := in.(io.Closer); ok && !errors.Is(err, io.EOF) {
		_ = closer.Close() // only to end the read; its own error says nothing new
	}
	a.withdrawAll()
	a.turns.Wait()
	return endError(err, a.out.flush())
}

// endError is what Run returns: the end of the input is how a run should end.
func endError(serveErr, writeErr error) error {
	if errors.Is(serveErr, io.EOF) {
		serveErr = nil
	}
	return errors.Join(serveErr, writeErr)
}

// agent is one run. What mu guards is the state that the dispatching goroutine
// and the turns share; the rest is fixed at the start or guards itself.
type agent struct {
	opts  Options
	out   *lineWriter
	errw  io.Writer
	ended <-chan struct{} // closed at the end of Run's context
	turns sync.WaitGroup
	// quitting is closed when nobody is left to talk to.
	quitting chan struct{}

	mu          sync.Mutex
	initialized bool
	compactions bool                            // the client shows them
	ordinal     int                             // sessions begun so far
	sessions    map[string]*session             // by session id
	nextAsk     int64                           // id of our next request
	asks        map[int64]chan<- jsontext.Value // our open requests: where the result goes
}

// newAgent takes options that are filled in.
func newAgent(ctx context.Context, out, errw io.Writer, opts Options) *agent {
	return &agent{
		opts:     opts,
		out:      newLineWriter(out),
		errw:     errw,
		ended:    ctx.Done(),
		sessions: map[string]*session{},
		quitting: make(chan struct{}),
		asks:     map[int64]chan<- jsontext.Value{},
	}
}

// serve dispatches one line after the other until the input, the output or ctx
// is over. It returns io.EOF at the end of the input and nil when the output
// failed, whose error the writer keeps.
func (a *agent) serve(ctx context.Context, lines <-chan input) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.out.failed:
			return nil
		case line := <-lines:
			if line.err != nil {
				return line.err
			}
			a.receive(ctx, line)
		}
	}
}

// receive takes one line: a request, a notification, an answer, or nonsense,
// which is answered too, so that a client can see what it sent. Blank lines are
// skipped: they cannot be anybody's message.
func (a *agent) receive(ctx context.Context, line input) {
	if line.blank() {
		return
	}
	msg, fault := decode(line)
	switch {
	case fault != nil:
		a.respond(msg.id, nil, fault)
	case msg.method == "":
		a.settle(msg)
	case msg.id == nil:
		a.notified(msg)
	default:
		a.request(ctx, msg)
	}
}

// respond writes one answer: a result, or the error if there is one.
func (a *agent) respond(id jsontext.Value, result any, fault *rpcError) {
	answer := outgoing{JSONRPC: "2.0", ID: id, Error: fault}
	if fault == nil {
		answer.Result = result
	}
	a.out.write(encode(answer))
}

// warn writes a line for people. Nobody is told when that fails: there is no
// better place than stderr to say so.
func (a *agent) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(a.errw, format+"\n", args...)
}

// withdrawAll ends every turn at once: nobody is left to answer or to read.
func (a *agent) withdrawAll() {
	close(a.quitting)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if s.turn != nil {
			s.turn.withdraw()
		}
	}
}
