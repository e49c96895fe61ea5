package schema

import (
	"encoding/json"
	"testing"

	"agent-server/protocol"
)

// sent is an error as it stands in a response.
func sent(t *testing.T, e *protocol.Error) []byte {
	t.Helper()
	o := map[string]any{"code": e.Code, "message": e.Message}
	if e.Data != nil {
		o["data"] = json.RawMessage(e.Data)
	}
	return encode(t, o)
}

// TestErrorsAsMade: what the constructors make is what is described.
func TestErrorsAsMade(t *testing.T) {
	t.Parallel()
	valid := judgeOf(t, Methods(), "Error")
	for def, e := range map[string]*protocol.Error{
		"InvalidParamsError":           protocol.ErrInvalidParams([]protocol.Fault{{Path: "", Message: "must be an object"}}),
		"HarnessNotAvailableError":     protocol.ErrHarnessNotAvailable(protocol.HarnessACP, nil),
		"UnknownSessionError":          protocol.ErrUnknownSession("s"),
		"TurnActiveError":              protocol.ErrTurnActive("s", "t"),
		"ShuttingDownError":            protocol.ErrShuttingDown(),
		"ProtocolVersionMismatchError": protocol.ErrVersionMismatch(3),
		"SessionClosingError":          protocol.ErrSessionClosing("s"),
		"TurnConflictError":            protocol.ErrTurnConflict("s", "t"),
		"MethodNotFoundError":          protocol.ErrMethodNotFound("x"),
		"InternalError":                protocol.ErrInternal("x"),
		"OverloadedError":              protocol.ErrOverloaded("x", 5),
		"OtherError":                   {Code: -32099, Message: "of a later version"},
	} {
		raw := sent(t, e)
		if err := valid(raw); err != nil {
			t.Errorf("%v", err)
		}
		if err := judgeOf(t, Methods(), def)(raw); err != nil {
			t.Errorf("%s: %v", def, err)
		}
	}
	for what, e := range map[string]*protocol.Error{
		"bound to another harness": protocol.ErrHarnessBound("s", protocol.HarnessACP),
		"close while active":       protocol.ErrCloseWhileActive("s", "t"),
		"a line over the limit":    {Code: protocol.CodeInvalidRequest, Data: protocol.Object(`{"limitBytes":10485760}`)},
		"a cursor too old":         {Code: protocol.CodeSeqUnavailable, Data: protocol.Object(`{"afterSeq":1,"firstAvailableSeq":5,"latestSeq":9}`)},
	} {
		if err := valid(sent(t, e)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestErrorDataIsChecked: a known code with other data is not what is described.
func TestErrorDataIsChecked(t *testing.T) {
	t.Parallel()
	valid := judgeOf(t, Methods(), "Error")
	for what, body := range map[string]string{
		"no message":                 `{"code":-32603}`,
		"no turn":                    `{"code":-32002,"message":"busy","data":{}}`,
		"data left out":              `{"code":-32006,"message":"conflict"}`,
		"null for data":              `{"code":-32602,"message":"invalid params","data":null}`,
		"faults that are none":       `{"code":-32602,"message":"invalid params","data":[{"message":"x"}]}`,
		"a blank harness":            `{"code":-32000,"message":"not here","data":{"available":[""]}}`,
		"a wait that is negative":    `{"code":-32021,"message":"busy","data":{"retryAfterMs":-1}}`,
		"a code that is no integer":  `{"code":-32603.5,"message":"x"}`,
		"a code that is spelled out": `{"code":"-32603","message":"x"}`,
	} {
		if valid([]byte(body)) == nil {
			t.Errorf("%s: %s is valid", what, body)
		}
	}
}

// TestMessages: what a line is told apart by.
func TestMessages(t *testing.T) {
	t.Parallel()
	valid := judgeOf(t, Methods(), "Message")
	for body, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`:                                                      true,
		`{"jsonrpc":"2.0","id":"","method":"shutdown","params":[1]}`:                                        true,
		`{"jsonrpc":"2.0","id":1.5,"method":"session/close","params":{"sessionId":"s"}}`:                    true,
		`{"jsonrpc":"2.0","id":null,"method":"session/close","params":{"sessionId":"s"}}`:                   false,
		`{"jsonrpc":"2.0","id":1,"method":"session/close"}`:                                                 false,
		`{"jsonrpc":"2.0","id":1,"method":"session/open","params":{}}`:                                      false,
		`{"id":1,"method":"shutdown"}`:                                                                      false,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                              true,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-32603,"message":"x"}}`:                        false,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`:                                 true,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`:                                           false,
		`{"jsonrpc":"2.0","method":"event","params":{"sessionId":"s","seq":1,"event":{"type":"x"}}}`:        true,
		`{"jsonrpc":"2.0","method":"event","params":{"sessionId":"s","seq":0,"event":{"type":"x"}}}`:        false,
		`{"jsonrpc":"2.0","id":1,"method":"event","params":{"sessionId":"s","seq":1,"event":{"type":"x"}}}`: false,
	} {
		if err := valid([]byte(body)); (err == nil) != want {
			t.Errorf("%s: want valid %v, got %v", body, want, err)
		}
	}
}

// TestResultsAreChecked: each method's response is its own.
func TestResultsAreChecked(t *testing.T) {
	t.Parallel()
	for def, bodies := range map[string][]string{
		"InitializeResponse":        {`{}`, `{"protocolVersion":3,"server":{"name":"x"},"instanceId":"i","harnesses":{}}`, `{"protocolVersion":2,"server":{"name":"x"},"instanceId":"i","harnesses":{" ":{}}}`},
		"TurnStartResponse":         {`{}`, `{"sessionId":"s","turnId":"t","deduplicated":false}`},
		"TurnCancelResponse":        {`{}`, `{"outcome":"cancelled"}`, `{"outcome":"stopped","turnId":"t"}`, `{"outcome":"no_active_turn","activeTurnId":null}`},
		"PermissionRespondResponse": {`{}`, `{"accepted":"yes"}`},
		"EventsReplayResponse":      {`{"events":[]}`, `{"events":null,"firstAvailableSeq":null,"latestSeq":null}`, `{"events":[{}],"firstAvailableSeq":1,"latestSeq":1}`},
		"SessionCloseResponse":      {`{}`, `{"closed":null}`},
		"ShutdownResponse":          {`null`, `[]`},
	} {
		valid := judgeOf(t, Methods(), def)
		for _, body := range bodies {
			if valid([]byte(`{"jsonrpc":"2.0","id":1,"result":`+body+`}`)) == nil {
				t.Errorf("%s takes %s", def, body)
			}
		}
	}
}
