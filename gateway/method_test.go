package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/gateway"
	"agent-server/protocol"
)

// fault is what an error answer says: code, and data as it stands.
func fault(s said) string {
	if s.Error == nil {
		return "result " + string(s.Result)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", s.Error.Code, s.Error.Data))
}

func TestInitialize(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) { o.Version = "1.2.3" })
	p := connect(t, g, gateway.ConnectOptions{})
	var r protocol.InitializeResult
	if err := json.Unmarshal(p.hello().Result, &r); err != nil {
		t.Fatal(err)
	}
	want := protocol.InitializeResult{ProtocolVersion: 2, Server: protocol.ServerInfo{Name: "agent-server", Version: new("1.2.3")},
		InstanceID: g.InstanceID(), Harnesses: map[protocol.HarnessID]protocol.AgentCapabilities{
			"demo":   {MultiTurn: true, SessionResume: true, PermissionRequests: true, ModelSwitch: "unsupported"},
			puppetID: {MultiTurn: true, PermissionRequests: true, ModelSwitch: "unsupported"},
		},
		Capabilities: &protocol.ServerCapabilities{Durability: "ephemeral", LogID: r.Capabilities.LogID, MaxMessageBytes: 10 << 20,
			IfBusy: []string{"reject", "queue"}, Methods: []string{"events/replay", "harness/list", "initialize", "permission/respond", "session/close", "session/list",
				"session/snapshot", "session/subscribe", "session/unsubscribe", "shutdown", "turn/cancel", "turn/start"}}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if r.Capabilities.LogID == "" || r.Capabilities.LogID == r.InstanceID || len(r.InstanceID) != 36 || r.InstanceID[14] != '7' {
		t.Errorf("instance %q, log %q", r.InstanceID, r.Capabilities.LogID)
	}
	var again protocol.InitializeResult
	_ = json.Unmarshal(connect(t, g, gateway.ConnectOptions{}).hello().Result, &again)
	if again.InstanceID != r.InstanceID || again.Capabilities.LogID != r.Capabilities.LogID {
		t.Errorf("another connection is told another instance")
	}
}

func TestInitializeRefusals(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for params, want := range map[string]string{
		`{"protocolVersion":1}`:               `-32004 {"supported":[2]}`,
		`{"protocolVersion":3}`:               `-32004 {"supported":[2]}`,
		`{"protocolVersion":0}`:               `-32602 protocolVersion`,
		`{"protocolVersion":-1}`:              `-32602 protocolVersion`,
		`{"protocolVersion":2.5}`:             `-32602 protocolVersion`,
		`{"protocolVersion":"2"}`:             `-32602 protocolVersion`,
		`{}`:                                  `-32602 protocolVersion`,
		`null`:                                `-32602 protocolVersion`,
		`[]`:                                  `-32602 `,
		`{"protocolVersion":2,"client":{}}`:   `-32602 client.name`,
		`{"protocolVersion":2,"client":null}`: `-32602 client`,
		`{"protocolVersion":2,"capabilities":{"openHarnesses":"yes"}}`:    `-32602 capabilities.openHarnesses`,
		`{"protocolVersion":"2","client":{"name":1},"capabilities":true}`: `-32602 protocolVersion client.name capabilities`,
	} {
		if got := paths(p.call("initialize", json.RawMessage(params))); got != want {
			t.Errorf("initialize %s: %s, want %s", params, got, want)
		}
	}
	if got := p.call("initialize", json.RawMessage(`{"protocolVersion":2.0,"unknown":{}}`)); got.Error != nil {
		t.Errorf("a version spelled 2.0 with an unknown member beside it: %s", got.Raw)
	}
}

// paths is an error's code with the paths of -32602's faults, or its data.
func paths(s said) string {
	if s.Error == nil || s.Error.Code != -32602 || s.Error.Data == nil {
		return fault(s)
	}
	var faults []protocol.Fault
	if json.Unmarshal(s.Error.Data, &faults) != nil || s.Error.Message != "invalid params" {
		return s.Raw
	}
	words := []string{"-32602"}
	for _, f := range faults {
		words = append(words, f.Path)
		if f.Message == "" {
			words = append(words, "(no message)")
		}
	}
	return strings.Join(words, " ")
}

func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for _, m := range []string{"nope", "", "Initialize", "event", "turn/start ", "session/nope"} {
		if got := fault(p.call(m, nil)); got != "-32601" {
			t.Errorf("%q: %s", m, got)
		}
	}
}

// TestInvalidParams: every method refuses what it cannot read, all faults at once.
func TestInvalidParams(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for _, tc := range []struct{ method, params, want string }{
		{"turn/start", `{}`, "-32602 input config"},
		{"turn/start", `7`, "-32602 "},
		{"turn/start", `{"sessionId":"","turnId":"","input":"","config":{"harness":"demo","cwd":"/"}}`, "-32602 sessionId turnId"},
		{"turn/start", `{"sessionId":null,"input":"","config":{"harness":"demo","cwd":"/"}}`, "-32602 sessionId"},
		{"turn/start", `{"input":[{"type":"image","mimeType":"image/png"}],"config":{"harness":"nobody","cwd":"/"}}`, "-32602 input.0 config.harness"},
		{"turn/start", `{"input":"","config":{"harness":"demo"}}`, "-32602 config.cwd"},
		{"turn/start", `{"input":"","config":{"harness":"demo","cwd":"/","maxTurns":0,"thinkingLevel":"huge","permissionMode":"","env":{"A":1}}}`,
			"-32602 config.thinkingLevel config.maxTurns config.permissionMode config.env.A"},
		{"turn/cancel", `{}`, "-32602 sessionId"},
		{"turn/cancel", `{"sessionId":"","turnId":""}`, "-32602 sessionId turnId"},
		{"permission/respond", `{}`, "-32602 sessionId requestId outcome"},
		{"permission/respond", `{"sessionId":"s","requestId":"r","outcome":{"outcome":"maybe"}}`, "-32602 outcome.outcome"},
		{"permission/respond", `{"sessionId":"s","requestId":"r","outcome":{"outcome":"selected"}}`, "-32602 outcome.optionId"},
		{"events/replay", `{}`, "-32602 sessionId fromSeq"},
		{"events/replay", `{"sessionId":"s","fromSeq":0}`, "-32602 fromSeq"},
		{"events/replay", `{"sessionId":"s","fromSeq":1.5}`, "-32602 fromSeq"},
		{"session/close", `{}`, "-32602 sessionId"},
		{"session/close", `[]`, "-32602 "},
	} {
		if got := paths(p.call(tc.method, json.RawMessage(tc.params))); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.method, tc.params, got, tc.want)
		}
	}
	for _, m := range []string{"turn/start", "turn/cancel", "permission/respond", "events/replay", "session/close"} {
		if got := paths(p.call(m, nil)); got != "-32602 " {
			t.Errorf("%s without params: %s", m, got)
		}
	}
}

// TestTurnStartRefusals: what is wrong with a turn, in the order of the checks.
func TestTurnStartRefusals(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) {
		o.MaxPermissionMode = protocol.ModeAcceptEdits
		o.Harnesses = append(o.Harnesses, gateway.Registration{Harness: &puppet{id: "absent"}, Path: "/nowhere/to/be/found"})
	})
	p := connect(t, g, gateway.ConnectOptions{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cwd := func(path string) start {
		s := turn("s", "t", "", puppetID)
		s.Config["cwd"] = path
		return s
	}
	available := `{"available":["demo","puppet"]}`
	for name, tc := range map[string]struct {
		s    start
		want string
	}{
		"a base harness that is not here":     {turn("s", "t", "", "claude-code"), "-32000 " + available},
		"a harness whose executable is gone":  {turn("s", "t", "", "absent"), "-32000 " + available},
		"acp without a default agent":         {turn("s", "t", "", "acp"), "-32000 " + available},
		"cwd missing on this machine":         {cwd("/nowhere/at/all"), "-32602 config.cwd"},
		"cwd is a file":                       {cwd(file), "-32602 config.cwd"},
		"cwd is empty":                        {cwd(""), "-32602 config.cwd"},
		"a mode beyond the operator's cap":    {turn("s", "t", "", puppetID, "permissionMode", "bypass_permissions"), "-32602 config.permissionMode"},
		"what this harness cannot honour":     {turn("s", "t", "", "demo", "maxTurns", 3), "-32602 config.maxTurns"},
		"the mode and the harness's own word": {turn("s", "t", "", "demo", "maxTurns", 3, "permissionMode", "dont_ask"), "-32602 config.maxTurns config.permissionMode"},
	} {
		if got := paths(p.call("turn/start", tc.s)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	// To a client the session was never seen.
	if got := fault(p.call("events/replay", map[string]any{"sessionId": "s", "fromSeq": 1})); got != "-32001" {
		t.Errorf("replay of a session whose turns were all refused: %s", got)
	}
	if n := p.count(func(s said) bool { return s.Method == "event" }); n != 0 {
		t.Errorf("%d events of refused turns", n)
	}
}

// TestTurnStartMintsIDs: ids left out are UUIDv7s, fresh ones.
func TestTurnStartMintsIDs(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	seen := map[string]bool{}
	for range 2 {
		var r protocol.TurnStartResult
		if err := json.Unmarshal(p.call("turn/start", turn("", "", "say hi", puppetID)).Result, &r); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{r.SessionID, r.TurnID} {
			if len(id) != 36 || id[14] != '7' || seen[id] {
				t.Errorf("minted %q", id)
			}
			seen[id] = true
		}
		if end := p.turnEnded(r.SessionID, r.TurnID); end.StopReason != protocol.StopEndTurn {
			t.Errorf("ended %s", end.StopReason)
		}
	}
}

// TestAdmission: a retry is the same turn, whatever runs and wherever its
// session stands; other content under the same ids is refused.
func TestAdmission(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.begin(turn("s", "a", "wait", puppetID))
	again := `result {"sessionId":"s","turnId":"a","deduplicated":true}`
	retry := map[string]any{"turnId": "a", "sessionId": "s", "config": map[string]any{"cwd": os.TempDir(), "harness": puppetID, "unknown": 1}, "input": "wait"}
	check := func(when string, params any, want string) {
		t.Helper()
		if got := fault(p.call("turn/start", params)); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	check("a retry while it runs", retry, again)
	check("other content while it runs", turn("s", "a", "say no", puppetID), `-32006 {"turnId":"a"}`)
	check("another turn while it runs", turn("s", "b", "say no", puppetID), `-32002 {"turnId":"a"}`)
	check("a turn on another harness", turn("s", "b", "say no", "demo"), `-32602`)
	check("a retry whose cwd is gone now is other content", turn("s", "a", "wait", puppetID, "cwd", "/nowhere"), `-32006 {"turnId":"a"}`)
	if got := fault(p.call("session/close", map[string]any{"sessionId": "s"})); got != `-32002 {"turnId":"a"}` {
		t.Errorf("close while it runs: %s", got)
	}
	p.call("turn/cancel", map[string]any{"sessionId": "s"})
	p.turnEnded("s", "a")
	check("a retry when it is over", retry, again)
	if got := fault(p.call("session/close", map[string]any{"sessionId": "s"})); got != `result {"closed":true}` {
		t.Errorf("close: %s", got)
	}
	check("a retry after the close", retry, again)
	check("other content after the close", turn("s", "a", "say no", puppetID), `-32006 {"turnId":"a"}`)
	if end := p.run(turn("s", "b", "hello", "demo")); end.StopReason != protocol.StopEndTurn {
		t.Errorf("the session took no other harness after the close: %s", end.StopReason)
	}
}

// TestRetryOfAGoneCwd: a retry is deduplicated before the machine is looked at.
func TestRetryOfAGoneCwd(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	dir := filepath.Join(t.TempDir(), "soon gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := turn("s", "a", "say hi", puppetID, "cwd", dir)
	p.run(s)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if got := fault(p.call("turn/start", s)); got != `result {"sessionId":"s","turnId":"a","deduplicated":true}` {
		t.Errorf("retry: %s", got)
	}
	s.TurnID = "b"
	if got := paths(p.call("turn/start", s)); got != "-32602 config.cwd" {
		t.Errorf("another turn there: %s", got)
	}
}

func TestCancelAnswers(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	cancel := func(session, turn string) string {
		t.Helper()
		params := map[string]any{"sessionId": session}
		if turn != "" {
			params["turnId"] = turn
		}
		return fault(p.call("turn/cancel", params))
	}
	if got := cancel("nobody", ""); got != `result {"outcome":"no_active_turn"}` {
		t.Errorf("unknown session: %s", got)
	}
	p.begin(turn("s", "a", "say here;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	if got := cancel("s", "other"); got != `result {"outcome":"no_active_turn","activeTurnId":"a"}` {
		t.Errorf("another turn's stamp: %s", got)
	}
	if got := cancel("s", "a"); got != `result {"outcome":"cancelled","turnId":"a"}` {
		t.Errorf("the right stamp: %s", got)
	}
	if end := p.turnEnded("s", "a"); end.StopReason != protocol.StopCancelled {
		t.Errorf("ended %s", end.StopReason)
	}
	if got := cancel("s", ""); got != `result {"outcome":"no_active_turn"}` {
		t.Errorf("between turns: %s", got)
	}
	ready := filepath.Join(t.TempDir(), "ready")
	p.begin(turn("s", "b", "unregistered "+ready, puppetID))
	if got := cancel("s", ""); got != `result {"outcome":"unconfirmed","turnId":"b"}` {
		t.Errorf("before the harness can take it: %s", got)
	}
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if end := p.turnEnded("s", "b"); end.StopReason != protocol.StopCancelled {
		t.Errorf("the latched cancel ended the turn as %s", end.StopReason)
	}
}

func TestPermissionAnswers(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	respond := func(session, request, option string) string {
		t.Helper()
		return fault(p.call("permission/respond", map[string]any{"sessionId": session, "requestId": request,
			"outcome": map[string]any{"outcome": "selected", "optionId": option}}))
	}
	p.begin(turn("s", "a", "ask", puppetID))
	p.begin(turn("other", "a", "wait", puppetID))
	ask, _ := event[*protocol.PermissionRequested](p, "s", nil)
	for _, wrong := range []string{respond("nobody", ask.RequestID, "allow"), respond("other", ask.RequestID, "allow"), respond("s", "nothing", "allow")} {
		if wrong != `result {"accepted":false}` {
			t.Errorf("another's request: %s", wrong)
		}
	}
	if got := respond("s", ask.RequestID, "allow"); got != `result {"accepted":true}` {
		t.Errorf("the first answer: %s", got)
	}
	if got := respond("s", ask.RequestID, "reject"); got != `result {"accepted":false}` {
		t.Errorf("the second answer: %s", got)
	}
	p.turnEnded("s", "a")
	if got := p.text("s", "a"); got != "decision 1" {
		t.Errorf("the harness was told %q", got)
	}
	p.call("turn/cancel", map[string]any{"sessionId": "other"})
	p.turnEnded("other", "a")
}

func TestReplay(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.run(turn("s", "a", "say one;say two", puppetID))
	replay := func(session string, from int) (r protocol.EventsReplayResult) {
		t.Helper()
		a := p.call("events/replay", map[string]any{"sessionId": session, "fromSeq": from})
		if err := json.Unmarshal(a.Result, &r); err != nil {
			t.Fatalf("replay: %s", a.Raw)
		}
		return r
	}
	var live []string
	p.mu.Lock()
	for _, l := range p.lines {
		if _, params, ok := strings.Cut(l.Raw, `"method":"event","params":`); ok {
			live = append(live, strings.TrimSuffix(params, "}"))
		}
	}
	p.mu.Unlock()
	for from := 1; from <= len(live)+2; from++ {
		r := replay("s", from)
		got := []string{}
		for _, e := range r.Events {
			got = append(got, string(e))
		}
		if want := live[min(from-1, len(live)):]; !cmp.Equal(append([]string{}, want...), got) {
			t.Errorf("replay from %d differs from what was sent: %d events, want %d", from, len(got), len(want))
		}
		if r.FirstAvailableSeq == nil || *r.FirstAvailableSeq != 1 || r.LatestSeq == nil || *r.LatestSeq != int64(len(live)) {
			t.Errorf("replay from %d: numbers %v %v", from, r.FirstAvailableSeq, r.LatestSeq)
		}
	}
	if got := fault(p.call("events/replay", map[string]any{"sessionId": "nobody", "fromSeq": 1})); got != "-32001" {
		t.Errorf("a session never seen: %s", got)
	}
}

// TestCloseAndReuse: the log outlives the close, seq goes on, a new process is
// started.
func TestCloseAndReuse(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	closing := func() string { return fault(p.call("session/close", map[string]any{"sessionId": "s"})) }
	if got := closing(); got != `result {"closed":false}` {
		t.Errorf("a session never seen: %s", got)
	}
	p.run(turn("s", "a", "pid", puppetID))
	if got := closing(); got != `result {"closed":true}` {
		t.Errorf("close: %s", got)
	}
	end, at := event[*protocol.SessionEnded](p, "s", nil)
	if end.Reason != protocol.EndReleased {
		t.Errorf("ended %s", end.Reason)
	}
	if got := closing(); got != `result {"closed":false}` {
		t.Errorf("a second close: %s", got)
	}
	p.run(turn("s", "b", "pid", puppetID))
	started, next := event(p, "s", func(e *protocol.TurnStarted) bool { return e.TurnID == "b" })
	if next.Params.Seq != at.Params.Seq+1 {
		t.Errorf("%s has seq %d after %d", started.TurnID, next.Params.Seq, at.Params.Seq)
	}
	if one, two := p.text("s", "a"), p.text("s", "b"); one == "" || one == two {
		t.Errorf("pids %q and %q", one, two)
	}
	var r protocol.EventsReplayResult
	_ = json.Unmarshal(p.call("events/replay", map[string]any{"sessionId": "s", "fromSeq": 1}).Result, &r)
	if len(r.Events) == 0 || *r.FirstAvailableSeq != 1 || int64(len(r.Events)) != *r.LatestSeq {
		t.Errorf("replay after the reuse gives %d events", len(r.Events))
	}
}
