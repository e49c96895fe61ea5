package transport

import (
	"context"
	"fmt"
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

	// inputEnded is closed at the peer's EOF; finishing when the writer is to say
	// what is due and stop; flushed when it has stopped; closing when the
	// connection has ended.
	inputEnded chan struct{}
	finishing  chan struct{}
	flushed    chan struct{}
	closing    chan struct{}
	endInput   func()
	finish     func()
	closeOnce  sync.Once
	// readerGone tells wg that the library reads no more.
	readerGone func()
	wg         sync.WaitGroup

	// inbox holds the members of a batch that were read and not yet handed on.
	// The library's read goroutine alone uses it.
	inbox []handed

	// outgoing is the response being sent, caught before the library encodes
	// it; the library's own send lock guards it.
	outgoing *jsonrpc2.Response

	// mu guards everything below; room is signalled when there may be room for
	// another request.
	mu      sync.Mutex
	room    *sync.Cond
	closed  bool
	next    uint64
	pending map[uint64]*pending
	answers []answer
	queued  int64
	ready   chan struct{}
}

// Open serves a connection until its peer or Finish ends it.
func Open(f Framing, h jsonrpc2.Handler, src Source, o Options) *Stream {
	s := &Stream{o: o.withDefaults(), framing: f, source: src, pending: map[uint64]*pending{}, ready: make(chan struct{}, 1),
		inputEnded: make(chan struct{}), finishing: make(chan struct{}), flushed: make(chan struct{}), closing: make(chan struct{})}
	s.room = sync.NewCond(&s.mu)
	s.endInput = sync.OnceFunc(func() { close(s.inputEnded) })
	s.finish = sync.OnceFunc(func() { close(s.finishing) })
	s.readerGone = sync.OnceFunc(s.wg.Done)
	s.wg.Add(1)
	s.wg.Go(s.writeLoop)
	quiet := jsonrpc2.SetLogger(zap.NewStdLog(s.o.Logger))
	catch := jsonrpc2.OnSend(func(_ *jsonrpc2.Request, r *jsonrpc2.Response) { s.outgoing = r })
	s.conn = jsonrpc2.NewConn(context.Background(), s, paramsHandler{s, h}, quiet, catch)
	return s
}

// InputEnded is closed when the peer has said all it will, and all of it was
// handed to the handler. The stream goes on writing until Finish.
func (s *Stream) InputEnded() <-chan struct{} { return s.inputEnded }

// Closed is closed when the connection has ended, whoever ended it.
func (s *Stream) Closed() <-chan struct{} { return s.closing }

// Finish writes what is due (events that are visible, answers that were given),
// for FlushTimeout at most, and ends the connection. It is an error if something
// was left unsaid.
func (s *Stream) Finish(ctx context.Context) error {
	s.finish()
	ctx, cancel := context.WithTimeout(ctx, s.o.FlushTimeout)
	defer cancel()
	var err error
	select {
	case <-s.flushed:
	case <-ctx.Done():
		err = fmt.Errorf("flushing the connection: %w", ctx.Err())
	}
	_ = s.conn.Close() // that it was closed before is no news
	return err
}

// Wait waits until everything the stream has started has ended. Finish, or the
// connection's own end, comes first. Where closing the framing does not end a
// read that waits (a terminal), it waits for that read.
func (s *Stream) Wait() { s.wg.Wait() }

// Close implements jsonrpc2.ObjectStream; the library calls it. It may be called
// again.
func (s *Stream) Close() error {
	var err error
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.answers, s.queued = nil, 0
		s.room.Broadcast()
		s.mu.Unlock()
		close(s.closing)
		err = s.framing.Close()
		s.source.Close()
	})
	return err
}

// abort ends the connection from within the writer: a medium that takes no more
// is no use for reading either.
func (s *Stream) abort() {
	s.endInput()
	if err := s.Close(); err != nil {
		s.o.Logger.Debug("closing the connection failed", zap.Error(err))
	}
}

// isClosed says whether the connection has ended.
func (s *Stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
