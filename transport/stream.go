package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"
)

// Stream is one connection being served: the library's read loop on one side,
// one writer on the other.
//
// The call tree: Open → jsonrpc2.NewConn → ReadObject (frames, answers what is no
// request itself) → handler → SendResponse → WriteObject (queues) → write loop →
// Framing.Write.
type Stream struct {
	o       Options
	framing Framing
	source  Source
	conn    *jsonrpc2.Conn

	// inputEnded is closed at the peer's EOF; closing when the connection is to
	// end; flushed when the writer has stopped.
	inputEnded chan struct{}
	closing    chan struct{}
	flushed    chan struct{}
	finishing  chan struct{}
	closeOnce  sync.Once
	finishOnce sync.Once
	endOnce    sync.Once
	wg         sync.WaitGroup

	// inbox holds the members of a batch that were read and not yet handed on.
	// The library's read goroutine alone uses it.
	inbox []handed

	// outgoing is the response being sent, caught before the library encodes
	// it; the library's own send lock guards it.
	outgoing *jsonrpc2.Response

	mu      sync.Mutex
	room    *sync.Cond
	closed  bool
	next    uint64
	pending map[uint64]*pending
	answers []answer
	queued  int64
	ready   chan struct{}
}

// handed is a request on its way to the library.
type handed struct {
	number uint64
	method []byte
}

// Open serves a connection until its peer or Finish ends it.
func Open(f Framing, h jsonrpc2.Handler, src Source, o Options) *Stream {
	s := &Stream{o: o.withDefaults(), framing: f, source: src, pending: map[uint64]*pending{}, ready: make(chan struct{}, 1),
		inputEnded: make(chan struct{}), closing: make(chan struct{}), flushed: make(chan struct{}), finishing: make(chan struct{})}
	s.room = sync.NewCond(&s.mu)
	s.wg.Go(s.writeLoop)
	quiet := jsonrpc2.SetLogger(zap.NewStdLog(s.o.Logger))
	catch := jsonrpc2.OnSend(func(_ *jsonrpc2.Request, r *jsonrpc2.Response) { s.outgoing = r })
	s.conn = jsonrpc2.NewConn(context.Background(), s, paramsHandler{s, h}, quiet, catch)
	return s
}

// InputEnded is closed when the peer has said all it will. The stream goes on
// writing until Finish.
func (s *Stream) InputEnded() <-chan struct{} { return s.inputEnded }

// Closed is closed when the connection has ended, whoever ended it.
func (s *Stream) Closed() <-chan struct{} { return s.closing }

// Finish writes what is due, for FlushTimeout at most, and ends the connection.
func (s *Stream) Finish(ctx context.Context) error {
	s.finishOnce.Do(func() { close(s.finishing) })
	ctx, cancel := context.WithTimeout(ctx, s.o.FlushTimeout)
	defer cancel()
	var err error
	select {
	case <-s.flushed:
	case <-ctx.Done():
		err = fmt.Errorf("flushing the connection: %w", ctx.Err())
	}
	_ = s.conn.Close()
	return err
}

// Wait waits until everything the stream has started has ended. Finish, or the
// connection's own end, comes first.
func (s *Stream) Wait() { s.wg.Wait() }

// Close implements jsonrpc2.ObjectStream; the library calls it once.
func (s *Stream) Close() error {
	var err error
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.room.Broadcast()
		s.mu.Unlock()
		close(s.closing)
		err = s.framing.Close()
		s.source.Close()
	})
	return err
}

// ReadObject implements jsonrpc2.ObjectStream. It never gives an error for bad
// input: that is answered here, and reading goes on.
func (s *Stream) ReadObject(v any) error {
	for len(s.inbox) == 0 {
		if err := s.admit(); err != nil {
			return err
		}
		line, err := s.framing.Next()
		if err := s.take(line, err); err != nil {
			return err
		}
	}
	h := s.inbox[0]
	s.inbox = s.inbox[1:]
	// The library is handed a line of ours: our number for the id, no params
	// (paramsHandler gives them back), so that it has nothing to refuse.
	return json.Unmarshal(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%s}`, h.number, h.method), v)
}

// admit waits until there is room for another request: answers that the peer
// does not read, and requests not yet answered, are bounded.
func (s *Stream) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && (s.queued > s.o.MaxAnswerBytes || len(s.pending) >= s.o.MaxInFlight) {
		s.room.Wait()
	}
	if s.closed {
		return io.EOF
	}
	return nil
}

// take deals with one line, or with what came instead of one.
func (s *Stream) take(line []byte, err error) error {
	var over *OversizeError
	switch {
	case errors.As(err, &over):
		s.refuse(jsonrpc2.CodeInvalidRequest, over.Error(), fmt.Sprintf(`{"limitBytes":%d}`, over.Limit))
		return nil
	case err != nil:
		return s.end(err)
	}
	if len(trimBlank(line)) > 0 {
		s.accept(line)
	}
	return nil
}

// end notes the end of input and waits for the connection's: answers and events
// still due go on being written.
func (s *Stream) end(err error) error {
	if !errors.Is(err, io.EOF) {
		s.o.Logger.Debug("reading the connection failed", zap.Error(err))
	}
	s.endOnce.Do(func() { close(s.inputEnded) })
	<-s.closing
	return io.EOF
}

// accept takes a line apart: requests go to the inbox, the rest is answered or
// dropped.
func (s *Stream) accept(line []byte) {
	members, isBatch, err := split(line)
	switch {
	case err != nil:
		s.refuse(jsonrpc2.CodeParseError, errNotJSON.Error(), "")
	case !isBatch:
		s.member(parse(members[0]), nil)
	case len(members) == 0:
		s.refuse(jsonrpc2.CodeInvalidRequest, "an empty batch", "")
	case len(members) > maxBatch:
		s.refuse(jsonrpc2.CodeInvalidRequest, fmt.Sprintf("a batch of more than %d members", maxBatch), "")
	default:
		s.batch(members)
	}
}

func (s *Stream) batch(members [][]byte) {
	b := &batch{}
	messages := make([]message, len(members))
	for i, m := range members {
		messages[i] = parse(m)
		if k := messages[i].kind; k == request || k == invalid {
			b.open++
		}
	}
	for _, m := range messages {
		s.member(m, b)
	}
}

func (s *Stream) member(m message, b *batch) {
	switch m.kind {
	case request:
		s.mu.Lock()
		s.next++
		s.pending[s.next] = &pending{id: m.id, params: m.params, batch: b}
		s.inbox = append(s.inbox, handed{s.next, m.method})
		s.mu.Unlock()
	case invalid:
		s.queue(answer{line: refusal(jsonrpc2.CodeInvalidRequest, "not a JSON-RPC 2.0 request", "")}, b)
	}
}

func (s *Stream) refuse(code int64, text, data string) {
	s.queue(answer{line: refusal(code, text, data)}, nil)
}

// WriteObject implements jsonrpc2.ObjectStream: it swaps the caller's id back,
// takes the barrier off, and queues.
func (s *Stream) WriteObject(any) error {
	r := s.outgoing
	s.outgoing = nil
	if r == nil {
		return errors.New("this stream sends answers only")
	}
	s.mu.Lock()
	p := s.pending[r.ID.Num]
	delete(s.pending, r.ID.Num)
	s.room.Broadcast()
	s.mu.Unlock()
	if p == nil {
		return fmt.Errorf("request %d was answered before", r.ID.Num)
	}
	s.queue(answer{line: encode(p.id, r), barriers: barriersOf(r)}, p.batch)
	return nil
}

// queue hands an answer to the writer, through its batch if it has one.
func (s *Stream) queue(a answer, b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b != nil {
		whole, done := b.join(a)
		if !done {
			return
		}
		a = whole
	}
	a.line = append(a.line, '\n')
	s.answers = append(s.answers, a)
	s.queued += int64(len(a.line))
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// paramsHandler gives a request its params back, byte for byte.
type paramsHandler struct {
	s    *Stream
	next jsonrpc2.Handler
}

// Handle implements jsonrpc2.Handler.
func (h paramsHandler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	h.s.mu.Lock()
	if p := h.s.pending[req.ID.Num]; p != nil && p.params != nil {
		raw := json.RawMessage(p.params)
		req.Params = &raw
	}
	h.s.mu.Unlock()
	h.next.Handle(ctx, conn, req)
}
