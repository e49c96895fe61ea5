package demoagent

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// option is an answer that a permission request offers.
type option struct {
	// OptionID is what the answer has to name.
	OptionID string `json:"optionId"`
	// Name is for people.
	Name string `json:"name"`
	// Kind is allow_once, allow_always or reject_once.
	Kind string `json:"kind"`
}

// The ids of the options. They are no kinds, because a client has to answer with
// the id, whatever it is called.
const (
	optionOnce   = "allow"
	optionAlways = "always"
	optionReject = "reject"
)

// options are the three that most agents offer. There is no reject_always: the
// mode dontAsk is that.
var options = []option{
	{optionOnce, "Allow", "allow_once"},
	{optionAlways, "Always allow", "allow_always"},
	{optionReject, "Reject", "reject_once"},
}

// askParams are those of session/request_permission.
type askParams struct {
	// SessionID is the session of the tool.
	SessionID string `json:"sessionId"`
	// ToolCall is the call as it was announced, whole, with its diff.
	ToolCall toolCall `json:"toolCall"`
	// Options are always the same three.
	Options []option `json:"options"`
}

// recallParams are those of $/cancel_request.
type recallParams struct {
	// RequestID is the id of our own request.
	RequestID int64 `json:"requestId"`
}

// permit finds out whether the open tool may run, asking if nothing else says
// so. A refusal comes with its reason. The error is errCancelled.
func (t *turn) permit(ctx context.Context) (refusal string, err error) {
	call := *t.tool
	switch t.agent.rule(t.session, call) {
	case rulingAllow:
		return "", nil
	case rulingRefuse:
		return "refused: the mode " + modeDontAsk + " asks nobody", nil
	}
	choice, err := t.ask(ctx, call)
	if err != nil {
		return "", err
	}
	switch choice {
	case optionAlways:
		t.agent.allowAlways(t.session, call.Name)
		return "", nil
	case optionOnce:
		return "", nil
	case optionReject:
		return "rejected by the user", nil
	}
	return "rejected: the permission request got no usable answer", nil
}

// ask puts the question to the client and waits for its answer, also after a
// cancel, because the client has to give one. It waits no longer when the turn
// is withdrawn, and then takes the question back.
func (t *turn) ask(ctx context.Context, call toolCall) (choice string, err error) {
	if ctx.Err() != nil {
		return "", errCancelled
	}
	id, answered := t.agent.expectAnswer()
	call.Update = ""
	t.agent.out.write(encode(outgoing{
		JSONRPC: "2.0", ID: jsontext.Value(strconv.FormatInt(id, 10)), Method: "session/request_permission",
		Params: askParams{SessionID: t.session.id, ToolCall: call, Options: options},
	}))
	select {
	case result := <-answered:
		choice, err = readChoice(result)
	case <-t.withdrawn:
		t.takeBack(id)
		err = errCancelled
	}
	if ctx.Err() != nil {
		err = errCancelled
	}
	return choice, err
}

// readChoice returns the chosen option's id; an answer that cannot be read
// chooses nothing. The error is errCancelled.
func readChoice(result jsontext.Value) (string, error) {
	var answer struct {
		Outcome struct {
			Outcome  string `json:"outcome"` // selected or cancelled
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return "", nil // as good as no: nothing runs on an answer that says nothing
	}
	switch answer.Outcome.Outcome {
	case "selected":
		return answer.Outcome.OptionID, nil
	case "cancelled":
		return "", errCancelled
	}
	return "", nil
}

// expectAnswer makes the id of a request of ours. Ids begin at 0, as most
// agents' do, because clients have taken 0 for no id.
func (a *agent) expectAnswer() (int64, <-chan jsontext.Value) {
	answered := make(chan jsontext.Value, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	id := a.nextAsk
	a.nextAsk++
	a.asks[id] = answered
	return id, answered
}

// takeBack tells the client that the question is no longer open.
func (t *turn) takeBack(id int64) {
	t.agent.mu.Lock()
	delete(t.agent.asks, id)
	t.agent.mu.Unlock()
	t.agent.out.write(encode(outgoing{
		JSONRPC: "2.0", Method: "$/cancel_request", Params: recallParams{RequestID: id},
	}))
}
