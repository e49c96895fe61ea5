package transport

import (
	"encoding/json"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport/rpc"
)

// pending is a request that was handed to the library under a number of ours:
// the caller's own id bytes are kept here, digit for digit.
type pending struct {
	// id is what stood behind "id", as it stood there.
	id []byte
	// params wait until the library hands the request to the handler; nil: there
	// are none.
	params []byte
	// batch is the batch it came in; nil: none.
	batch *batch
}

// batch gathers the answers of one batch; it is written as one array when the
// last has come. The stream's lock guards it.
type batch struct {
	// open counts the answers still owed.
	open int
	// bytes are the answers so far, joined by commas.
	bytes    []byte
	barriers []Barrier
	effects  []int64
}

// answer is a line to be written, after its barriers have been passed.
type answer struct {
	// id is the request's; nil: what is answered was none. A batch needs it.
	id       []byte
	line     []byte
	barriers []Barrier
	// effects are told to the Source once the line has its place; see Effector.
	effects []int64
}

// overflow is what a member of a batch is answered with whose place is taken: what
// gathers unwritten for one array has a bound, as everything queued has.
func overflow(id []byte) []byte {
	if id == nil {
		id = []byte("null")
	}
	return rpc.EncodeResponse(id, &jsonrpc2.Response{Error: &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: "batch answer too large"}})
}

// join adds one member's answer; it gives the whole, once. The whole waits for
// every barrier of its members: none may be overtaken.
func (b *batch) join(a answer) (answer, bool) {
	if len(b.bytes) > 0 {
		b.bytes = append(b.bytes, ',')
	}
	b.bytes = append(b.bytes, a.line...)
	b.barriers = append(b.barriers, a.barriers...)
	b.effects = append(b.effects, a.effects...)
	b.open--
	if b.open > 0 {
		return answer{}, false
	}
	whole := make([]byte, 0, len(b.bytes)+3)
	whole = append(append(append(whole, '['), b.bytes...), ']')
	return answer{line: whole, barriers: b.barriers, effects: b.effects}, true
}

// place takes barrier and effect off a response, for its answer; a meta member that
// is none of ours is dropped with them.
func (a *answer) place(r *jsonrpc2.Response) {
	if r.Meta == nil {
		return
	}
	var b Barrier
	if err := json.Unmarshal(*r.Meta, &b); err != nil {
		return
	}
	if b.Seq != 0 {
		a.barriers = []Barrier{b}
	}
	if b.Effect != 0 {
		a.effects = []int64{b.Effect}
	}
}
