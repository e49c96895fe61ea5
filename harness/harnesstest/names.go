package harnesstest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agent-server/harness/rpcline"
)

// names tell which request of now stands for which of the recording, so that a
// recorded answer still reaches who has asked: the ids differ once anything was
// otherwise. It knows two envelopes, JSON-RPC and the control requests of
// stream-json; what has neither needs no names.
type names struct {
	// then are the recorded requests, by what they ask, in order.
	then map[string][]string
	// now counts what was asked so far.
	now map[string]int
	// ids are now's by the recording's.
	ids map[string]string
}

// request is the id of a line that wants an answer, or that will be named in one.
type request struct {
	// asks is what it asks; "": it is none.
	asks string
	// id is as it stands in the line, for JSON-RPC; else without its quotes.
	id string
	// control: it is a control request.
	control bool
}

func newNames(wrote []string) *names {
	n := &names{then: map[string][]string{}, now: map[string]int{}, ids: map[string]string{}}
	for _, line := range wrote {
		if q := readRequest(line); q.asks != "" {
			n.then[q.asks] = append(n.then[q.asks], q.id)
		}
	}
	return n
}

// readRequest looks for a request in a line for a harness.
func readRequest(line string) request {
	if m, err := rpcline.Parse([]byte(line)); err == nil && m.Kind == rpcline.Request {
		return request{asks: m.Method, id: string(m.ID)}
	}
	var c struct {
		Type    string `json:"type"`
		ID      string `json:"request_id"`
		UUID    string `json:"uuid"`
		Request struct {
			Subtype string `json:"subtype"`
		} `json:"request"`
	}
	switch err := json.Unmarshal([]byte(line), &c); {
	case err != nil:
		return request{}
	case c.ID != "":
		return request{asks: c.Type + " " + c.Request.Subtype, id: c.ID, control: true}
	case c.UUID != "":
		return request{asks: c.Type, id: c.UUID}
	}
	return request{}
}

// written notes a line written now. Where the recording has no such request, the
// answer is one that says nothing; "" where none is due.
func (n *names) written(line string) (answer string) {
	q := readRequest(line)
	if q.asks == "" {
		return ""
	}
	at := n.now[q.asks]
	n.now[q.asks]++
	if then := n.then[q.asks]; at < len(then) {
		n.ids[then[at]] = q.id
		return ""
	}
	switch {
	case q.control:
		return `{"type":"control_response","response":{"subtype":"success","request_id":"` + q.id + `","response":{}}}`
	case strings.Contains(line, `"method"`):
		return `{"jsonrpc":"2.0","id":` + q.id + `,"result":{}}`
	}
	return ""
}

// line is a recorded line of the harness's with the ids of now.
func (n *names) line(line string) string {
	if m, err := rpcline.Parse([]byte(line)); err == nil && m.Kind != rpcline.Stray {
		if id := n.ids[string(m.ID)]; m.Kind == rpcline.Answer && id != "" {
			return strings.Replace(line, `"id":`+string(m.ID), `"id":`+id, 1)
		}
		return line
	}
	var pairs []string
	for _, then := range slices.Sorted(maps.Keys(n.ids)) {
		pairs = append(pairs, then, n.ids[then])
	}
	return strings.NewReplacer(pairs...).Replace(line)
}
