package gateway

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"sync"

	"agent-server/transport"
)

// lane is one direction of a simulated connection: whole lines, in order, that are on
// their way until the world lets them arrive.
type lane struct {
	// room bounds what is on its way, in bytes: beyond it a write waits; 0: nothing does;
	// negative: nor does it, and many write.
	room int

	mu    sync.Mutex
	moved *sync.Cond
	// fresh is what was written since the world has looked, by whoever came first;
	// written is behind what is on its way in an order that the seed alone decides.
	fresh   [][]byte
	written [][]byte
	bytes   int
	arrived [][]byte
	ended   bool
}

func newLane(room int) *lane {
	l := &lane{room: room}
	l.moved = sync.NewCond(&l.mu)
	return l
}

// write puts lines on their way.
func (l *lane) write(lines []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(lines) {
		for l.room > 0 && l.bytes >= l.room && !l.ended {
			l.moved.Wait()
		}
		if l.ended {
			return io.ErrClosedPipe
		}
		l.fresh = append(l.fresh, bytes.Clone(line))
		l.bytes += len(line)
	}
	return nil
}

// next is the next line that has arrived.
func (l *lane) next() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.arrived) == 0 && !l.ended {
		l.moved.Wait()
	}
	if len(l.arrived) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	line := l.arrived[0]
	l.arrived = l.arrived[1:]
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// numberedHead is what in a request depends on who came first.
var numberedHead = regexp.MustCompile(`^\{"jsonrpc":"2.0","id":\d+,"method"`)

// order puts what was written at the same time, by goroutines that do not know of each
// other, into one order. Answers and events have theirs: one goroutine writes them.
func (l *lane) order() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fresh) > 1 && l.room < 0 {
		slices.SortStableFunc(l.fresh, func(a, b []byte) int {
			return bytes.Compare(numberedHead.ReplaceAll(a, nil), numberedHead.ReplaceAll(b, nil))
		})
	}
	l.written, l.fresh = append(l.written, l.fresh...), nil
}

// carry lets one line arrive so many times, 0 being a loss; false: none is on its way.
func (l *lane) carry(times int) (line []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.written) == 0 || l.ended {
		return nil, false
	}
	line, l.written = l.written[0], l.written[1:]
	l.bytes -= len(line)
	for range times {
		l.arrived = append(l.arrived, line)
	}
	l.moved.Broadcast()
	return line, true
}

// end loses what has not arrived.
func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.fresh, l.written = true, nil, nil
	l.moved.Broadcast()
}

// simLink is one connection between a client and a gateway.
type simLink struct {
	up, down *lane
	stream   *transport.Stream
	// ids number its requests as they were carried.
	ids map[string]int
	// gone is closed when the gateway's end of it is through.
	gone chan struct{}
}

// wireEnd is one end of a link: a transport.Framing.
type wireEnd struct {
	in, out *lane
	l       *simLink
}

func (e wireEnd) Next() ([]byte, error)    { return e.in.next() }
func (e wireEnd) Write(lines []byte) error { return e.out.write(lines) }
func (e wireEnd) Close() error             { e.l.cut(); return nil }

// newLink is a link that nobody serves yet; room bounds what waits for its client.
func newLink(room int) *simLink {
	return &simLink{up: newLane(-1), down: newLane(room), ids: map[string]int{}, gone: make(chan struct{})}
}

// client is the client's end.
func (l *simLink) client() transport.Framing { return wireEnd{l.down, l.up, l} }

// serve serves the link until it ends, as the command does a socket.
func (l *simLink) serve(sub *Subscriber, src transport.Source) {
	// A small budget: a round of the writer is cut into several.
	l.stream = transport.Open(wireEnd{l.up, l.down, l}, sub, src, transport.Options{WriteBudget: 2 << 10})
	go func() {
		defer close(l.gone)
		select {
		case <-l.stream.InputEnded():
		case <-l.stream.Closed():
		}
		_ = l.stream.Finish(context.Background()) // what was left unsaid was lost with the link
		l.stream.Wait()
	}()
}

// cut ends both directions, with all that was on its way.
func (l *simLink) cut() {
	l.up.end()
	l.down.end()
}

// ended says whether it was cut, by whomever.
func (l *simLink) ended() bool {
	l.up.mu.Lock()
	defer l.up.mu.Unlock()
	return l.up.ended
}
