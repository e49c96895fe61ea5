package transport_test

import (
	"bufio"
	"net"
	"sync"
	"testing"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// hooked is a source in which something happens just before the heads are read.
type hooked struct {
	*source
	once sync.Once
	hook func()
}

func (h *hooked) Mark() {
	h.once.Do(h.hook)
	h.source.Mark()
}

// Law 87: an answer that was queued before the head moved is written before the
// events that the head shows, whenever the writer looks. Here both happen while it
// is about to look.
func TestLaw87_answerWithItsHead(t *testing.T) {
	t.Parallel()
	late := make(chan func(), 1)
	src := &hooked{source: newSource()}
	here, there := net.Pipe()
	w := &wire{t: t, src: src.source, peer: here, lines: bufio.NewReader(here)}
	w.stream = transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		late <- func() { send(c, r, "1") }
	}), src, transport.Options{})
	defer w.hangUp()
	w.tell(`{"jsonrpc":"2.0","id":1,"method":"turn/start"}`)
	answer := await(t, late, "the request")
	src.hook = func() {
		src.log("s", 3)
		answer()
		src.show("s")
	}
	src.log("other", 1)
	src.show("other")
	hearAll(w, answerOf("1"), "other:1", "s:1", "s:2", "s:3")
}

// Law 110: what an answer changes of a connection's reading holds from that
// answer's place in the bytes on, before it and behind it alike.
func TestLaw110_effectInItsPlace(t *testing.T) {
	t.Parallel()
	var w *wire
	at := map[string]transport.Barrier{"first": {Effect: 2}, "behind": {Session: "s", Seq: 4, Effect: 3}}
	w = dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		w.src.log("s", 3)
		sendAfter(c, r, "1", at[r.Method])
		w.src.show("s")
	}, transport.Options{})
	defer w.hangUp()
	w.tell(`{"jsonrpc":"2.0","id":1,"method":"first"}`)
	hearAll(w, answerOf("1"), "s:3")
	w.tell(`[{"jsonrpc":"2.0","id":2,"method":"behind"}]`)
	hearAll(w, "s:4", "["+answerOf("2")+"]", "s:4", "s:5", "s:6")
}
