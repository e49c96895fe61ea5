package protocol

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncodeResults(t *testing.T) {
	t.Parallel()
	caps := AgentCapabilities{MultiTurn: true, ModelSwitch: ModelSwitchInSession}
	for _, c := range []struct {
		value any
		want  string
	}{
		{InitializeResult{ProtocolVersion: Version, Server: ServerInfo{Name: "agent-server"}, InstanceID: "i",
			Harnesses: map[HarnessID]AgentCapabilities{HarnessDemo: caps, HarnessACP: {ModelSwitch: ModelSwitchUnsupported}}},
			`{"protocolVersion":2,"server":{"name":"agent-server"},"instanceId":"i","harnesses":{` +
				`"acp":{"multiTurn":false,"sessionResume":false,"thinkingLevels":false,"images":false,"mcpServers":false,"permissionRequests":false,"modelSwitch":"unsupported"},` +
				`"demo":{"multiTurn":true,"sessionResume":false,"thinkingLevels":false,"images":false,"mcpServers":false,"permissionRequests":false,"modelSwitch":"in-session"}}}`},
		{TurnStartResult{SessionID: "s<", TurnID: "t\u2028"}, `{"sessionId":"s<","turnId":"t\u2028"}`},
		{TurnStartResult{SessionID: "s", TurnID: "t", Deduplicated: true}, `{"sessionId":"s","turnId":"t","deduplicated":true}`},
		{TurnCancelResult{Outcome: CancelNoActiveTurn}, `{"outcome":"no_active_turn"}`},
		{TurnCancelResult{Outcome: CancelNoActiveTurn, ActiveTurnID: new("h")}, `{"outcome":"no_active_turn","activeTurnId":"h"}`},
		{TurnCancelResult{Outcome: CancelUnconfirmed, TurnID: new("t")}, `{"outcome":"unconfirmed","turnId":"t"}`},
		{PermissionRespondResult{}, `{"accepted":false}`},
		{SessionCloseResult{Closed: true}, `{"closed":true}`},
		{EventsReplayResult{}, `{"events":[],"firstAvailableSeq":null,"latestSeq":null}`},
		{EventsReplayResult{Events: []Object{Object(`{"n":1.50}`)}, FirstAvailableSeq: new(int64(1)), LatestSeq: new(int64(9))},
			`{"events":[{"n":1.50}],"firstAvailableSeq":1,"latestSeq":9}`},
		{struct{}{}, `{}`},
		{map[string]int{"h": 8, "g": 7, "f": 6, "e": 5, "d": 4, "c": 3, "b": 2, "a": 1}, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`},
		{Envelope{SessionID: "s", Seq: 1, Event: &TurnStarted{}}, `{"sessionId":"s","seq":1,"event":{"type":"turn.started","sessionId":"","turnId":"","timestamp":0}}`},
	} {
		got := Encode(c.value)
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%T:\n%s", c.value, diff)
		}
	}
}

// TestEncodePanics: what has no JSON is a programmer's error.
func TestEncodePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a function was encoded")
		}
	}()
	Encode(func() {})
}

func TestDecodeResults(t *testing.T) {
	t.Parallel()
	var r TurnStartResult
	if err := Decode([]byte(`{"turnId":"t","sessionId":"s","new":1,"sessionID":"no"}`), &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(TurnStartResult{SessionID: "s", TurnID: "t"}, r); diff != "" {
		t.Error(diff)
	}
	if err := Decode([]byte(`{"turnId":7}`), &r); err == nil {
		t.Error("a number was taken for a turn id")
	}
}

// TestStandardLibraryReadsParams: a client may use the JSON package it likes.
func TestStandardLibraryReadsParams(t *testing.T) {
	t.Parallel()
	want := TurnStartParams{SessionID: new("s"), Input: Input{Items: []InputItem{{Type: InputImage, Data: new("QQ==")}}}, Config: RunConfig{Harness: HarnessACP, Cwd: "/"}}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(Encode(want)), string(raw)); diff != "" {
		t.Errorf("the two packages differ:\n%s", diff)
	}
	var got TurnStartParams
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"input":7}`), &got); !errors.As(err, new(*InputError)) {
		t.Errorf("a number as input: %v", err)
	}
}

// TestWireErrors writes down code and data of every error: clients match both.
func TestWireErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  *Error
		code Code
		data string
	}{
		{ErrInvalidParams([]Fault{{"a.0", "is required"}}), -32602, `[{"path":"a.0","message":"is required"}]`},
		{ErrHarnessBound("s", HarnessACP), -32602, ``},
		{ErrHarnessNotAvailable(HarnessACP, nil), -32000, `{"available":[]}`},
		{ErrHarnessNotAvailable(HarnessACP, []HarnessID{HarnessDemo}), -32000, `{"available":["demo"]}`},
		{ErrUnknownSession("s"), -32001, ``},
		{ErrTurnActive("s", "t"), -32002, `{"turnId":"t"}`},
		{ErrCloseWhileActive("s", "t"), -32002, `{"turnId":"t"}`},
		{ErrShuttingDown(), -32003, ``},
		{ErrVersionMismatch(1), -32004, `{"supported":[2]}`},
		{ErrSessionClosing("s"), -32005, ``},
		{ErrTurnConflict("s", "t"), -32006, `{"turnId":"t"}`},
		{ErrMethodNotFound("x"), -32601, ``},
		{ErrInternal("x"), -32603, ``},
		{ErrOverloaded("x", 500), -32021, `{"retryAfterMs":500}`},
	} {
		if c.err.Code != c.code || string(c.err.Data) != c.data || c.err.Message == "" {
			t.Errorf("%v: code %d, data %s; want %d, %s", c.err, c.err.Code, c.err.Data, c.code, c.data)
		}
	}
}

func TestUUIDv7(t *testing.T) {
	t.Parallel()
	random := [10]byte{0xff, 0xff, 0xff, 0xff, 4, 5, 6, 7, 8, 9}
	if got, want := UUIDv7(0x0123456789ab, random), "01234567-89ab-7fff-bfff-040506070809"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if a, b := UUIDv7(1, random), UUIDv7(2, random); a >= b {
		t.Errorf("%s is not before %s", a, b)
	}
}

func TestVocabularies(t *testing.T) {
	t.Parallel()
	for r, clean := range map[StopReason]bool{StopEndTurn: true, StopMaxTokens: true, StopMaxTurnRequests: true, StopRefusal: true, StopCancelled: true, StopError: false, "tired": false, "": false} {
		if r.Clean() != clean {
			t.Errorf("%q clean: %v", r, !clean)
		}
	}
	for s, terminal := range map[ToolStatus]bool{ToolPending: false, ToolInProgress: false, ToolCompleted: true, ToolFailed: true, ToolCancelled: true} {
		if s.Terminal() != terminal {
			t.Errorf("%q terminal: %v", s, !terminal)
		}
	}
}

// TestEventMethods holds the methods of every event against its members.
func TestEventMethods(t *testing.T) {
	t.Parallel()
	for _, d := range eventDocuments {
		ev, err := DecodeEvent([]byte(d.body))
		if err != nil {
			t.Fatal(err)
		}
		o := parse(t, d.body).(map[string]any)
		turn, _ := o["turnId"].(string)
		if string(ev.Type()) != o["type"] || ev.Session() != o["sessionId"] || ev.Turn() != turn || float64(ev.Time()) != o["timestamp"] {
			t.Errorf("%s: %s %s %s %d", d.name, ev.Type(), ev.Session(), ev.Turn(), ev.Time())
		}
	}
	unknown, err := DecodeEvent([]byte(`{"type":"x","sessionId":"s","turnId":"t","timestamp":5}`))
	if err != nil {
		t.Fatal(err)
	}
	if unknown.Type() != "x" || unknown.Session() != "s" || unknown.Turn() != "" || unknown.Time() != 0 {
		t.Errorf("an unknown event has turn %q, time %d", unknown.Turn(), unknown.Time())
	}
	if bare := (&ErrorEvent{}); bare.Session() != "" || bare.Turn() != "" {
		t.Error("an error of no session has one")
	}
}
