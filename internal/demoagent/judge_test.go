package demoagent

import (
	"fmt"
	"slices"
)

// judge reads both directions of a conversation and says what an ACP client may
// not see. It knows the protocol and nothing of the scripts.
type judge struct {
	faults   []string
	requests map[int]*asked      // the client's, by id
	prompts  map[string][]int    // session to its prompts without an answer, in order
	tools    map[string]string   // tool call to status
	owner    map[string]string   // tool call to session
	asks     map[int]string      // the agent's open permission requests to tool call
	messages map[string][]string // session to its message ids in order
}

// asked is a request of the client's and what became of it.
type asked struct {
	method    string
	session   string
	cancelled bool // by a cancel that was sent while the turn surely ran
	answers   int
}

func newJudge() *judge {
	return &judge{
		requests: map[int]*asked{},
		prompts:  map[string][]int{},
		tools:    map[string]string{},
		owner:    map[string]string{},
		asks:     map[int]string{},
		messages: map[string][]string{},
	}
}

func (j *judge) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// sent notes a request before it is sent.
func (j *judge) sent(id int, method, session string) {
	j.requests[id] = &asked{method: method, session: session}
	if method == "session/prompt" {
		j.prompts[session] = append(j.prompts[session], id)
	}
}

// cancelled notes a cancel that is sent while the agent rests, so that the one
// prompt without an answer is the turn it hits.
func (j *judge) cancelled(session string) {
	for _, id := range j.prompts[session] {
		j.requests[id].cancelled = true
	}
}

// heard takes a line of the agent's.
func (j *judge) heard(w wireLine) {
	switch {
	case w.Method == "session/update":
		j.updated(w)
	case w.Method == "session/request_permission":
		j.wasAsked(w)
	case w.Method == "$/cancel_request":
		if _, open := j.asks[*w.Params.RequestID]; !open {
			j.fault("took back the question %d, which is not open", *w.Params.RequestID)
		}
		delete(j.asks, *w.Params.RequestID)
	case w.Method != "":
		j.fault("unknown method %s", w.Method)
	default:
		j.wasAnswered(w)
	}
}

func (j *judge) updated(w wireLine) {
	session, u := w.Params.SessionID, w.Params.Update
	if len(j.prompts[session]) == 0 {
		j.fault("%s of %s outside of a turn", u.Update, session)
	}
	switch u.Update {
	case kindMessage, kindThought:
		j.chunk(session, u.MessageID)
	case "tool_call", "tool_call_update":
		j.tool(session, u.Update, u.ToolCallID, u.Status)
	case "usage_update", "plan", "compaction_update", "compaction_summary_chunk":
	default:
		j.fault("unknown update %s", u.Update)
	}
}

// chunk wants that a message, once followed by another, gets no more text.
func (j *judge) chunk(session, id string) {
	ids := j.messages[session]
	switch {
	case len(ids) > 0 && ids[len(ids)-1] == id:
	case slices.Contains(ids, id) || id == "":
		j.fault("text for the old message %q", id)
	default:
		j.messages[session] = append(ids, id)
	}
}

// tool wants that states only move forward, from a tool_call on.
func (j *judge) tool(session, update, id, status string) {
	before, known := j.tools[id]
	order := []string{"pending", "in_progress", "completed", "failed"}
	switch {
	case known == (update == "tool_call"):
		j.fault("%s of %q, known: %v", update, id, known)
	case known && (before == "completed" || before == "failed"):
		j.fault("%q goes from %s to %s", id, before, status)
	case slices.Index(order, status) <= slices.Index(order, before):
		j.fault("%q goes from %s to %s", id, before, status)
	case known && j.owner[id] != session:
		j.fault("%q of %s is used by %s", id, j.owner[id], session)
	}
	j.tools[id], j.owner[id] = status, session
}

func (j *judge) wasAsked(w wireLine) {
	id := w.Params.ToolCall.ID
	if j.tools[id] != "pending" || j.owner[id] != w.Params.SessionID {
		j.fault("permission for %q, which is %q", id, j.tools[id])
	}
	if _, taken := j.asks[*w.ID]; taken {
		j.fault("the id %d is in use", *w.ID)
	}
	j.asks[*w.ID] = id
}

func (j *judge) wasAnswered(w wireLine) {
	if w.ID == nil || j.requests[*w.ID] == nil {
		j.fault("an answer to nothing: %+v", w)
		return
	}
	r := j.requests[*w.ID]
	if r.answers++; r.answers > 1 {
		j.fault("request %d is answered again", *w.ID)
	}
	if r.method != "session/prompt" {
		return
	}
	j.prompts[r.session] = slices.DeleteFunc(j.prompts[r.session], func(id int) bool { return id == *w.ID })
	refused := w.Error != nil && (w.Error.Code == codeInvalidRequest || w.Error.Code == codeNotFound)
	if !refused {
		j.turnEnded(w, r)
	}
}

// turnEnded wants nothing left open, and a cancel that came in time obeyed.
func (j *judge) turnEnded(w wireLine, r *asked) {
	for id, status := range j.tools {
		if j.owner[id] == r.session && status != "completed" && status != "failed" {
			j.fault("%q is %s at the end of prompt %d", id, status, *w.ID)
		}
	}
	for ask, tool := range j.asks {
		if j.owner[tool] == r.session {
			j.fault("question %d is open at the end of prompt %d", ask, *w.ID)
		}
	}
	withdrawn := w.Error != nil && w.Error.Code == codeCancelled
	stopped := w.Result != nil && w.Result.StopReason == "cancelled"
	if r.cancelled && !withdrawn && !stopped {
		j.fault("prompt %d was cancelled and is answered %+v, %v", *w.ID, w.Result, w.Error)
	}
}

// closed wants each request answered, when all is over.
func (j *judge) closed() {
	for id, r := range j.requests {
		if r.answers == 0 {
			j.fault("%s %d has no answer", r.method, id)
		}
	}
}
