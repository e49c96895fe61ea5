package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"agent-server/gateway"
	"agent-server/harness"
	"agent-server/protocol"
)

// TestSecrets: the gateway's own variables reach no child; what a client gives
// reaches its child, and neither argv, the log, the events nor an error.
func TestSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	sink, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewDevelopmentEncoderConfig()), zapcore.AddSync(sink), zapcore.DebugLevel)
	g := open(t, pup(func(p *puppet) { p.info = harness.Info{APIKeyEnv: "PUPPET_KEY"} }), func(o *gateway.Options) {
		o.Environ = append(os.Environ(), "AGENT_SERVER_TOKEN=canary-token", "OTHER_SECRET=canary-other", "WANTED=let-through", "PUPPET_KEY=canary-host")
		o.PassEnv = []string{"WANTED", "AGENT_SERVER_TOKEN"}
		o.Logger = zap.New(core)
	})
	p := connect(t, g, gateway.ConnectOptions{})
	p.run(turn("s", "env", "env", puppetID, "apiKey", "canary-key", "env", map[string]string{"GIVEN": "canary-env"}))
	env := p.text("s", "env")
	for _, want := range []string{"PUPPET_KEY=canary-key", "GIVEN=canary-env", "WANTED=let-through", "PUPPET=1", "AGENT_SERVER_CHILD="} {
		if !strings.Contains("\n"+env, "\n"+want) {
			t.Errorf("the child has no %s", want)
		}
	}
	for _, never := range []string{"canary-token", "canary-other", "canary-host"} {
		if strings.Contains(env, never) {
			t.Errorf("the child has %s", never)
		}
	}
	p.run(turn("s", "argv", "argv", puppetID, "apiKey", "canary-key", "env", map[string]string{"GIVEN": "canary-env"}))
	if argv := p.text("s", "argv"); !strings.Contains(argv, "\n--native\n") || strings.Contains(argv, "canary") {
		t.Errorf("argv is %q", argv)
	}
	// Faults name members, never what they hold.
	p.call("turn/start", turn("s", "bad", "", puppetID, "apiKey", 5, "env", map[string]any{"GIVEN": "canary-env", "B": 1}))
	p.call("turn/start", turn("s", "argv", "other", puppetID, "apiKey", "canary-key"))
	p.run(turn("s", "exit", "exit 3", puppetID, "apiKey", "canary-key", "env", map[string]string{"GIVEN": "canary-env"}))
	log, err := os.ReadFile(path)
	if err != nil || len(log) == 0 {
		t.Fatalf("the log holds %d bytes: %v", len(log), err)
	}
	if strings.Contains(string(log), "canary") {
		t.Errorf("the log holds a secret:\n%s", log)
	}
	leaks := p.count(func(s said) bool {
		ev, ok := s.Event.(*protocol.MessagePart)
		shown := ok && ev.TurnID == "env"
		return strings.Contains(s.Raw, "canary") && !shown
	})
	if leaks != 0 {
		t.Errorf("%d lines hold a secret", leaks)
	}
}

// TestRegistry: what an operator cannot have meant is refused at the start.
func TestRegistry(t *testing.T) {
	t.Parallel()
	reg := func(ids ...protocol.HarnessID) (o gateway.Options) {
		for _, id := range ids {
			o.Harnesses = append(o.Harnesses, gateway.Registration{Harness: &puppet{id: id}, Path: os.Args[0]})
		}
		return o
	}
	for name, o := range map[string]gateway.Options{"an empty id": reg(""), "an id twice": reg("a", "b", "a"),
		"a default that is none": {DefaultACP: "nobody"}} {
		if g, err := gateway.New(o); err == nil || g != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlainACP: as config.harness it is the operator's default agent, on a session
// shown as acp that session's own; a base client sees acp in events, an open one
// the real id.
func TestPlainACP(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) {
		o.DefaultACP = puppetID
		o.Harnesses[1].Args = []string{"puppet"}
	})
	base, wide := connect(t, g, gateway.ConnectOptions{}), connect(t, g, gateway.ConnectOptions{})
	var r protocol.InitializeResult
	_ = json.Unmarshal(wide.hello().Result, &r)
	if r.Harnesses["acp"] != r.Harnesses[puppetID] || len(r.Harnesses) != 3 {
		t.Errorf("initialize lists %v", r.Harnesses)
	}
	base.run(turn("p", "1", "say hi", "acp", "includeRaw", true))
	base.run(turn("p", "2", "say hi", puppetID))
	base.run(turn("d", "1", "hello", "demo"))
	base.run(turn("d", "2", "hello", "acp"))
	if got := base.call("turn/start", turn("d", "3", "hello", puppetID)); got.Error == nil || got.Error.Code != -32602 || got.Error.Data != nil {
		t.Errorf("another harness on the demo's session: %s", got.Raw)
	}
	wide.turnEnded("d", "2")
	for session, id := range map[string]protocol.HarnessID{"p": puppetID, "d": "demo"} {
		shown, at := event[*protocol.SessionCreated](base, session, nil)
		if shown.Harness != "acp" || string(shown.Meta) != `{"agent-server/harness":"`+string(id)+`"}` {
			t.Errorf("a base connection is shown %s", at.Raw)
		}
		real, at := event[*protocol.SessionCreated](wide, session, nil)
		if real.Harness != id || real.Meta != nil {
			t.Errorf("an open connection is shown %s", at.Raw)
		}
	}
	raw, at := event[*protocol.Raw](base, "p", nil)
	if raw.Harness != "acp" || string(raw.Meta) != `{"agent-server/harness":"puppet"}` {
		t.Errorf("a base connection is shown %s", at.Raw)
	}
	// Replay shows what the connection is shown live.
	for p, want := range map[*peer]string{base: `"harness":"acp"`, wide: `"harness":"puppet"`} {
		if a := p.call("events/replay", map[string]any{"sessionId": "p", "fromSeq": 1}); !strings.Contains(a.Raw, want) {
			t.Errorf("replay does not show %s", want)
		}
	}
	// A second initialize sets the capabilities anew.
	wide.call("initialize", map[string]any{"protocolVersion": 2})
	if a := wide.call("events/replay", map[string]any{"sessionId": "p", "fromSeq": 1}); !strings.Contains(a.Raw, `"harness":"acp"`) {
		t.Errorf("a connection that gave openHarnesses up is shown the real id")
	}
}
