package protocol

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// second drops the first result of a params decoder.
func second[T any](decode func([]byte) (T, []Fault)) func([]byte) []Fault {
	return func(raw []byte) []Fault {
		_, faults := decode(raw)
		return faults
	}
}

func anyHarness(raw []byte) (TurnStartParams, []Fault) { return DecodeTurnStart(raw, nil) }

const wholeConfig = `{"harness":"acp","cwd":"/","model":"m","thinkingLevel":"low","additionalDirectories":["/a"],"systemPromptAppend":"","maxTurns":3,` +
	`"permissionMode":"plan","resumeSessionId":"r","resumeSessionAt":"a","mcpServers":{"x":{"type":"stdio","command":"c","args":["a"],"env":{"K":"v"}},` +
	`"y":{"type":"http","url":"u","headers":{"H":"v"}},"z":{"type":"sse","url":"u","headers":{"H":"v"}}},"env":{"KEY":"v"},"apiKey":"k","disableTools":true,"includeRaw":false}`

const wholeInput = `[{"type":"text","text":"hi","id":"1","elements":[{"byteRange":[0,2],"placeholder":"p"}]},` +
	`{"type":"image","data":"QQ==","mimeType":"image/png","id":"2"},{"type":"file","url":"u","mimeType":"m","filename":"f","id":"3"}]`

// A map has no members of its own, so any of its values may go.
var paramDocuments = []document{
	{name: "initialize", decode: second(DecodeInitialize),
		optional: "client client.version capabilities capabilities.openHarnesses capabilities.chainedSeq capabilities.deltas capabilities.events",
		body:     `{"protocolVersion":2,"client":{"name":"","version":""},"capabilities":{"openHarnesses":true,"chainedSeq":true,"deltas":true,"events":"subscribed"}}`},
	{name: "turn/start", decode: second(anyHarness),
		body: `{"sessionId":"s","turnId":"t","input":` + wholeInput + `,"config":` + wholeConfig + `,"ifBusy":"queue","_meta":{"traceparent":"x"}}`,
		free: "_meta", any: "_meta",
		optional: "sessionId turnId ifBusy _meta input.0.id input.0.elements input.0.elements.0.placeholder input.1.id input.2.id input.2.filename " +
			"config.model config.thinkingLevel config.additionalDirectories config.systemPromptAppend config.maxTurns config.permissionMode " +
			"config.resumeSessionId config.resumeSessionAt config.mcpServers config.mcpServers.x config.mcpServers.x.args config.mcpServers.x.env " +
			"config.mcpServers.x.env.K config.mcpServers.y config.mcpServers.y.headers config.mcpServers.y.headers.H config.mcpServers.z " +
			"config.mcpServers.z.headers config.mcpServers.z.headers.H config.env config.env.KEY config.apiKey config.disableTools config.includeRaw",
		moved: map[string]string{"input.1.data": "input.1", "input.2.url": "input.2"}},
	{name: "turn/cancel", decode: second(DecodeTurnCancel), optional: "turnId", body: `{"sessionId":"s","turnId":"t"}`},
	{name: "permission/respond", decode: second(DecodePermissionRespond), optional: "outcome.updatedInput", free: "outcome.updatedInput",
		body: `{"sessionId":"s","requestId":"r","outcome":{"outcome":"selected","optionId":"o","updatedInput":{"a":null}}}`},
	{name: "events/replay", decode: second(DecodeEventsReplay), optional: "limit", body: `{"sessionId":"s","fromSeq":1,"limit":2}`},
	{name: "session/close", decode: second(DecodeSessionClose), body: `{"sessionId":"s","nobody":1,"force":true}`, optional: "nobody force", any: "nobody"},
	{name: "session/list", decode: second(DecodeSessionList), optional: "limit cursor", body: `{"limit":1,"cursor":"c"}`},
	{name: "session/snapshot", decode: second(DecodeSessionSnapshot), body: `{"sessionId":"s"}`},
	{name: "session/subscribe", decode: second(DecodeSessionSubscribe), optional: "afterSeq snapshot deltas",
		body: `{"sessionId":"s","afterSeq":0,"snapshot":"auto","deltas":false}`},
	{name: "session/unsubscribe", decode: second(DecodeSessionUnsubscribe), body: `{"sessionId":"s"}`},
}

func TestParamWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		document, paths string
		bad, good       []any
	}{
		{"turn/start", "sessionId turnId", []any{""}, []any{" "}},
		{"turn/cancel", "sessionId turnId", []any{""}, []any{" "}},
		{"permission/respond", "sessionId requestId outcome.optionId", nil, []any{""}},
		{"permission/respond", "outcome.outcome", []any{"", "allowed"}, []any{"cancelled"}},
		{"turn/start", "config.thinkingLevel", []any{"", "extreme"}, []any{"off", "medium", "high", "xhigh"}},
		{"turn/start", "config.permissionMode", []any{"", "acceptEdits"}, []any{"default", "accept_edits", "dont_ask", "bypass_permissions"}},
		{"turn/start", "config.mcpServers.x.type", []any{"", "ws"}, nil},
		{"turn/start", "config.mcpServers.y.type", nil, []any{"sse"}},
		{"turn/start", "ifBusy", []any{"", "wait", "Queue"}, []any{"reject", "steer"}},
		{"initialize", "capabilities.events", []any{"", "none"}, []any{"all"}},
		{"session/subscribe", "snapshot", []any{"", "yes"}, []any{"always", "never"}},
		{"session/subscribe", "afterSeq", []any{-1, 0.5}, []any{0, 7}},
		{"events/replay", "limit", []any{0, -1}, []any{1}},
		{"session/list", "limit", []any{0}, []any{1}},
		{"turn/start", "config.harness", []any{"", " "}, []any{"demo"}},
		{"turn/start", "config.cwd config.model config.apiKey config.env.KEY", nil, []any{""}},
		{"turn/start", "input.0.text input.1.data input.2.url", []any{""}, []any{" "}},
		{"turn/start", "input.0.type", []any{"", "audio", "Text"}, nil},
		{"turn/start", "input.0.id input.1.mimeType input.2.filename", nil, []any{""}},
		{"turn/start", "input", nil, []any{"", []any{}}},
		{"turn/start", "input.0.elements.0.byteRange",
			[]any{[]any{}, []any{1}, []any{1, 2, 3}, []any{2, 1}}, []any{[]any{0, 0}, []any{3, 3}, []any{0, 1e6}}},
		{"turn/start", "input.0.elements.0.byteRange.0", []any{-1, 0.5, 3}, []any{2}},
	} {
		d := find(t, c.document)
		for _, path := range strings.Fields(c.paths) {
			for _, v := range c.bad {
				want := path
				if v == any(3) {
					want, _ = split(path) // the pair is out of order, not one of it
				}
				d.expect(t, path, "another value", v, want)
			}
			for _, v := range c.good {
				d.expect(t, path, "another value", v, "")
			}
		}
	}
}

func TestInitializeWithoutParams(t *testing.T) {
	t.Parallel()
	want := []Fault{{"protocolVersion", "is required"}}
	for _, raw := range []string{"", "null", " null ", "{}"} {
		if _, faults := DecodeInitialize([]byte(raw)); cmp.Diff(want, faults) != "" {
			t.Errorf("%q: %v", raw, faults)
		}
	}
}

func TestParamsMustBeThere(t *testing.T) {
	t.Parallel()
	for _, d := range paramDocuments {
		if d.name == "initialize" || d.name == "session/list" {
			continue
		}
		for raw, want := range map[string]string{"": "must be an object", "null": "must be an object, not null", "[]": "must be an object, not an array", "{": "must be valid JSON"} {
			if diff := cmp.Diff([]Fault{{"", want}}, d.decode([]byte(raw))); diff != "" {
				t.Errorf("%s with params %q:\n%s", d.name, raw, diff)
			}
		}
	}
}

// TestTurnStartFaultsAllAtOnce: one answer says everything that is wrong.
func TestTurnStartFaultsAllAtOnce(t *testing.T) {
	t.Parallel()
	_, faults := DecodeTurnStart([]byte(`{"sessionId":"","input":[{"type":"image","mimeType":"m"}],"config":{"harness":"nope","cwd":"/",
		"mcpServers":{"x":{"type":"stdio"}},"env":{"KEY":1,"KEY":2},"maxTurns":0}}`), HarnessID.Base)
	want := []Fault{
		{"sessionId", "must not be empty"},
		{"input.0", "must have exactly one of data and url"},
		{"config.harness", `unknown harness "nope"`},
		{"config.maxTurns", "must be at least 1"},
		{"config.mcpServers.x.command", "is required"},
		{"config.env.KEY", "must be a string, not a number"},
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Error(diff)
	}
	if data := ErrInvalidParams(faults[:1]).Data; string(data) != `[{"path":"sessionId","message":"must not be empty"}]` {
		t.Errorf("data is %s", data)
	}
}

func TestTurnStartDecodes(t *testing.T) {
	t.Parallel()
	got, faults := DecodeTurnStart([]byte(find(t, "turn/start").body), nil)
	if faults != nil {
		t.Fatal(faults)
	}
	want := TurnStartParams{SessionID: new("s"), TurnID: new("t"), Input: Input{Items: []InputItem{
		{Type: InputText, ID: new("1"), Text: "hi", Elements: []TextElement{{ByteRange: [2]int64{0, 2}, Placeholder: new("p")}}},
		{Type: InputImage, ID: new("2"), Data: new("QQ=="), MimeType: "image/png"},
		{Type: InputFile, ID: new("3"), URL: new("u"), MimeType: "m", Filename: new("f")},
	}}, Config: RunConfig{
		Harness: HarnessACP, Cwd: "/", Model: new("m"), ThinkingLevel: ThinkingLow, AdditionalDirectories: []string{"/a"},
		SystemPromptAppend: new(""), MaxTurns: new(int64(3)), PermissionMode: ModePlan, ResumeSessionID: new("r"), ResumeSessionAt: new("a"),
		MCPServers: map[string]MCPServer{
			"x": {Type: MCPStdio, Command: "c", Args: []string{"a"}, Env: map[string]string{"K": "v"}},
			"y": {Type: MCPHTTP, URL: "u", Headers: map[string]string{"H": "v"}},
			"z": {Type: MCPSSE, URL: "u", Headers: map[string]string{"H": "v"}},
		},
		Env: map[string]string{"KEY": "v"}, APIKey: new("k"), DisableTools: new(true), IncludeRaw: new(false),
	}, IfBusy: BusyQueue, Meta: Object(`{"traceparent":"x"}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestParamsRoundTrip: what a client encodes, a server decodes.
func TestParamsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, d := range paramDocuments {
		if strings.Contains(d.optional, "nobody") {
			continue // it holds what no encoder writes
		}
		var got Object
		switch d.name {
		case "initialize":
			p, _ := DecodeInitialize([]byte(d.body))
			got = Encode(p)
		case "turn/start":
			p, _ := DecodeTurnStart([]byte(d.body), nil)
			got = Encode(p)
		case "turn/cancel":
			p, _ := DecodeTurnCancel([]byte(d.body))
			got = Encode(p)
		case "permission/respond":
			p, _ := DecodePermissionRespond([]byte(d.body))
			got = Encode(p)
		case "events/replay":
			p, _ := DecodeEventsReplay([]byte(d.body))
			got = Encode(p)
		case "session/list":
			p, _ := DecodeSessionList([]byte(d.body))
			got = Encode(p)
		case "session/snapshot":
			p, _ := DecodeSessionSnapshot([]byte(d.body))
			got = Encode(p)
		case "session/subscribe":
			p, _ := DecodeSessionSubscribe([]byte(d.body))
			got = Encode(p)
		case "session/unsubscribe":
			p, _ := DecodeSessionUnsubscribe([]byte(d.body))
			got = Encode(p)
		}
		if diff := cmp.Diff(canonicalOf(t, []byte(d.body)), canonicalOf(t, got)); diff != "" {
			t.Errorf("%s (-decoded +encoded):\n%s", d.name, diff)
		}
	}
}

func TestDecodeInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{`""`, ""}, {`[]`, ""}, {`"x"`, ""},
		{`[{"type":"text","text":"x","new":1}]`, ""},
		{`7`, "invalid agent input: must be a string or an array, not a number"},
		{`{}`, "invalid agent input: must be a string or an array, not an object"},
		{`[7,{"type":"text","text":""}]`, "invalid agent input: 0: must be an object, not a number; 1.text: must not be empty"},
		{`[{"type":"file","data":"","mimeType":"m"}]`, "invalid agent input: 0.data: must not be empty"},
		{`[{"type":"image","data":"a","url":"b"}]`, "invalid agent input: 0: must have exactly one of data and url; 0.mimeType: is required"},
		{`[{"type":"sound"}]`, `invalid agent input: 0.type: must be one of "text", "image", "file"`},
		{`nope`, "invalid agent input: must be valid JSON"},
	} {
		_, err := DecodeInput([]byte(c.body))
		if got := errorText(err); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestInputRoundTrip(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`""`, `"a\u2028<b>"`, `[]`, wholeInput, `[{"type":"image","url":"u","mimeType":""}]`} {
		in, err := DecodeInput([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		raw := Encode(in)
		var back Input
		if err := Decode(raw, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, back); diff != "" {
			t.Errorf("%s came back otherwise as %s:\n%s", body, raw, diff)
		}
		if diff := cmp.Diff(canonicalOf(t, []byte(body)), canonicalOf(t, raw)); diff != "" {
			t.Errorf("%s is encoded otherwise:\n%s", body, diff)
		}
	}
}

// TestDeltasNeedAChain: who wants no deltas must say that numbers may be missing.
func TestDeltasNeedAChain(t *testing.T) {
	t.Parallel()
	want := []Fault{{"capabilities.deltas", "false needs chainedSeq"}}
	for caps, faults := range map[string][]Fault{
		`{"deltas":false}`:                      want,
		`{"deltas":false,"chainedSeq":false}`:   want,
		`{"deltas":false,"chainedSeq":true}`:    nil,
		`{"deltas":true}`:                       nil,
		`{"deltas":false,"chainedSeq":"later"}`: {{"capabilities.chainedSeq", "must be a boolean, not a string"}},
	} {
		_, got := DecodeInitialize([]byte(`{"protocolVersion":2,"capabilities":` + caps + `}`))
		if diff := cmp.Diff(faults, got); diff != "" {
			t.Errorf("%s: %s", caps, diff)
		}
	}
}

// TestMetaOfParams: the base knows no _meta in params, so none is wrong.
func TestMetaOfParams(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{`{"traceparent":"x"}`: `{"traceparent":"x"}`, `null`: "", `7`: "", `[]`: ""} {
		p, faults := DecodeTurnStart([]byte(`{"input":"","config":{"harness":"acp","cwd":"/"},"_meta":`+meta+`}`), nil)
		if len(faults) > 0 || string(p.Meta) != want {
			t.Errorf("%s: %q, %v", meta, p.Meta, faults)
		}
	}
}

// TestListWithoutParams: a list may be asked for without saying anything.
func TestListWithoutParams(t *testing.T) {
	t.Parallel()
	if _, faults := DecodeSessionList(nil); faults != nil {
		t.Error(faults)
	}
	if _, faults := DecodeSessionList([]byte("null")); len(faults) != 1 {
		t.Error("null is no object, and was taken")
	}
}
