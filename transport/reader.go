package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"

	"agent-server/transport/rpc"
)

// handed is a request on its way to the library: under our number, by which its
// answer is found again.
type handed struct {
	number uint64
	method []byte
}

// ReadObject implements jsonrpc2.ObjectStream. It never gives an error for bad
// input: that is answered here, and reading goes on. An error is the
// connection's end.
func (s *Stream) ReadObject(v any) error {
	for len(s.inbox) == 0 {
		if err := s.admit(); err != nil {
			s.readerGone()
			return err
		}
		line, err := s.framing.Next()
		if err := s.take(line, err); err != nil {
			s.readerGone()
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

// take deals with one line, or with what came instead of one. Its error is the end
// of reading.
func (s *Stream) take(line []byte, err error) error {
	var over *OversizeError
	switch {
	case errors.As(err, &over):
		s.refuse(jsonrpc2.CodeInvalidRequest, over.Error(), fmt.Sprintf(`{"limitBytes":%d}`, over.Limit))
		return nil
	case err != nil:
		return s.end(err)
	}
	if len(rpc.TrimSpace(line)) > 0 {
		s.accept(line)
	}
	return nil
}

// end notes the end of input and waits for the connection's: answers and events
// still due go on being written. The library would close the connection on any
// error, so that it is given none before.
func (s *Stream) end(err error) error {
	if !errors.Is(err, io.EOF) {
		s.o.Logger.Debug("reading the connection failed", zap.Error(err))
	}
	s.endInput()
	<-s.closing
	return io.EOF
}

// accept takes a line apart: requests go to the inbox, the rest is answered or
// dropped.
func (s *Stream) accept(line []byte) {
	members, isBatch, err := rpc.Split(line)
	switch {
	case err != nil:
		s.refuse(jsonrpc2.CodeParseError, rpc.ErrNotJSON.Error(), "")
	case !isBatch:
		s.member(rpc.Parse(members[0]), nil)
	case len(members) == 0:
		s.refuse(jsonrpc2.CodeInvalidRequest, "an empty batch", "")
	case len(members) > rpc.MaxBatch:
		s.refuse(jsonrpc2.CodeInvalidRequest, fmt.Sprintf("a batch of more than %d members", rpc.MaxBatch), "")
	default:
		s.batch(members)
	}
}

// batch counts first how many answers there will be: the last one of them sends
// the array.
func (s *Stream) batch(members [][]byte) {
	b := &batch{}
	messages := make([]rpc.Message, len(members))
	for i, m := range members {
		messages[i] = rpc.Parse(m)
		if k := messages[i].Kind; k == rpc.Request || k == rpc.Invalid {
			b.open++
		}
	}
	for _, m := range messages {
		s.member(m, b)
	}
}

// member takes one message; b is nil outside a batch. Notifications and
// responses are dropped.
func (s *Stream) member(m rpc.Message, b *batch) {
	switch m.Kind {
	case rpc.Request:
		s.mu.Lock()
		s.next++
		s.pending[s.next] = &pending{id: m.ID, params: m.Params, batch: b}
		s.inbox = append(s.inbox, handed{s.next, m.Method})
		s.mu.Unlock()
	case rpc.Invalid:
		s.queue(answer{line: rpc.Refusal(jsonrpc2.CodeInvalidRequest, "not a JSON-RPC 2.0 request", "")}, b)
	}
}

// refuse answers what was no request.
func (s *Stream) refuse(code int64, text, data string) {
	s.queue(answer{line: rpc.Refusal(code, text, data)}, nil)
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
		req.Params, p.params = &raw, nil // the request's alone from here on
	}
	h.s.mu.Unlock()
	h.next.Handle(ctx, conn, req)
}
