package rpcline

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Calls are our open requests. Then is what is to become of an answer, in
// whatever form the caller likes best. The zero value has none open and counts
// ids from 1, so that no id of ours is a peer's idea of false.
type Calls[Then any] struct {
	last int64
	open map[int64]Then
}

// Add registers a request and gives the id to write it with.
func (c *Calls[Then]) Add(then Then) int64 {
	if c.open == nil {
		c.open = map[int64]Then{}
	}
	c.last++
	c.open[c.last] = then
	return c.last
}

// Take gives what is to become of the answer with this id, once; false for an id
// that we did not use, or that was answered.
func (c *Calls[Then]) Take(id jsontext.Value) (Then, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	then, ok := c.open[n]
	if err != nil || !ok {
		var none Then
		return none, false
	}
	delete(c.open, n)
	return then, true
}

// Forget lets go of a request: its answer, if one comes, is nobody's.
func (c *Calls[Then]) Forget(id int64) { delete(c.open, id) }

// Open counts the requests without an answer.
func (c *Calls[Then]) Open() int { return len(c.open) }
