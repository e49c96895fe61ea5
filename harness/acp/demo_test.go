package acp

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemoSpeech(t *testing.T) {
	t.Parallel()
	tests := []struct{ prompt, text, thought string }{
		{"noise", "Five clean words survive noise.", ""},
		{"think", "These were thoughts; this is the answer.", "The demo pretends to think. It weighs two answers and takes the shorter one."},
		{"deltas 3 0", "delta 1\ndelta 2\ndelta 3\n", ""},
		{"tool", "Reading a file.The demo read no file: the content was made up.", ""},
		{"fail", "Running a command that fails.The tool failed and the turn went on.", ""},
	}
	for _, tt := range tests {
		t.Run(tt.prompt, func(t *testing.T) {
			t.Parallel()
			p := startDemo(t, harness.Launch{Config: config()})
			p.begin(tt.prompt, config())
			if end := p.finished(); end.Reason != protocol.StopEndTurn || end.Tokens == nil {
				t.Errorf("ended as %+v", end)
			}
			if got := p.said(protocol.PartText); got != tt.text {
				t.Errorf("said %q, want %q", got, tt.text)
			}
			if got := p.said(protocol.PartReasoning); got != tt.thought {
				t.Errorf("thought %q, want %q", got, tt.thought)
			}
		})
	}
}

func TestDemoHello(t *testing.T) {
	t.Parallel()
	p := startDemo(t, harness.Launch{Config: config()})
	for range 2 { // the second turn runs in the live session
		p.begin("hello", config())
		if end := p.finished(); end.Reason != protocol.StopEndTurn {
			t.Errorf("ended as %+v", end)
		}
	}
	if n := strings.Count(p.said(protocol.PartText), "flood N"); n != 2 {
		t.Errorf("the help was said %d times in 2 turns", n)
	}
	created := 0
	for _, u := range p.updates {
		if _, ok := u.(harness.Created); ok {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d sessions, want 1", created)
	}
}

// lastTool is the last state shown of the only tool.
func (p *pump) lastTool() protocol.ToolState {
	p.t.Helper()
	var last protocol.ToolState
	for _, u := range p.updates {
		if set, ok := u.(harness.ToolSet); ok && set.State != nil {
			last = set.State
		}
	}
	if last == nil {
		p.t.Fatal("no tool was shown")
	}
	return last
}

func TestDemoPermissions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt string
		verdict      harness.Verdict
		status       protocol.ToolStatus
		text         string
		end          protocol.StopReason
	}{
		{"allow", "ask", harness.Verdict{Decision: harness.Allow, OptionID: "allow"}, protocol.ToolCompleted, "made up", protocol.StopEndTurn},
		{"always", "ask", harness.Verdict{Decision: harness.AllowAlways, OptionID: "always"}, protocol.ToolCompleted, "made up", protocol.StopEndTurn},
		{"reject", "ask", harness.Verdict{Decision: harness.Deny, OptionID: "reject"}, protocol.ToolFailed, "Not done: rejected by the user.", protocol.StopEndTurn},
		{"edit", "edit", harness.Verdict{Decision: harness.Allow, OptionID: "allow"}, protocol.ToolCompleted, "made up", protocol.StopEndTurn},
		{"cancelled", "ask", harness.Verdict{Decision: harness.CancelRequest}, protocol.ToolFailed, "", protocol.StopCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startDemo(t, harness.Launch{Config: config()})
			p.begin(tt.prompt, config())
			asked, _ := until[harness.Asked](p)
			if len(asked.Options) != 3 || asked.Call == "" || asked.RawInput == nil || !asked.Always {
				t.Errorf("asked %+v", asked)
			}
			p.step(harness.Resolve{Request: asked.Request, Verdict: tt.verdict})
			if end := p.finished(); end.Reason != tt.end {
				t.Errorf("ended as %+v, want %s", end, tt.end)
			}
			if got := p.lastTool().Status(); got != tt.status {
				t.Errorf("the tool is %s, want %s", got, tt.status)
			}
			if said := p.said(protocol.PartText); !strings.Contains(said, tt.text) {
				t.Errorf("said %q, want %q in it", said, tt.text)
			}
		})
	}
}

func TestDemoEditShowsADiff(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.PermissionMode = protocol.ModeAcceptEdits // so that nothing is asked
	p := startDemo(t, harness.Launch{Config: cfg})
	p.begin("edit", cfg)
	p.finished()
	done, ok := p.lastTool().(*protocol.CompletedState)
	if !ok || len(done.Content) == 0 {
		t.Fatalf("the tool ended as %+v", p.lastTool())
	}
	diff, ok := done.Content[0].(*protocol.DiffContent)
	if !ok || diff.Path != "/workspace/demo.txt" || diff.OldText == nil || diff.NewText != "hello, world\n" {
		t.Errorf("content %+v, want a diff", done.Content[0])
	}
}

func TestDemoCancel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		prompt string
		// wait is for the moment to cancel at.
		wait func(p *pump)
	}{
		{"hang text", func(p *pump) { until[harness.TextAppended](p) }},
		{"hang silent", func(p *pump) { until[harness.PromptWritten](p) }},
		{"hang tool", func(p *pump) { until[harness.ToolSet](p) }},
		{"ask", func(p *pump) { until[harness.Asked](p) }},
	}
	for _, tt := range tests {
		t.Run(tt.prompt, func(t *testing.T) {
			t.Parallel()
			p := startDemo(t, harness.Launch{Config: config()})
			p.begin(tt.prompt, config())
			tt.wait(p)
			p.step(harness.Cancel{})
			if end := p.finished(); end.Reason != protocol.StopCancelled || end.Raw != "cancelled" {
				t.Errorf("ended as %+v", end)
			}
			p.begin("hello", config())
			if end := p.finished(); end.Reason != protocol.StopEndTurn {
				t.Errorf("the next turn ended as %+v", end)
			}
		})
	}
}

func TestDemoError(t *testing.T) {
	t.Parallel()
	p := startDemo(t, harness.Launch{Config: config()})
	p.begin("error out of cheese", config())
	end := p.finished()
	want := protocol.TurnError{Category: protocol.CategoryInternal, Message: "out of cheese"}
	if end.Reason != protocol.StopError || end.Error == nil || *end.Error != want {
		t.Errorf("ended as %+v", end)
	}
}

func TestDemoCrash(t *testing.T) {
	t.Parallel()
	p := startDemo(t, harness.Launch{Config: config()})
	p.begin("crash 7", config())
	if end, ok := until[harness.Finished](p); ok {
		t.Errorf("ended as %+v, want silence", end)
	}
	if p.crashed != 7 {
		t.Errorf("exit code %d, want 7", p.crashed)
	}
	out := p.tr.Step(harness.Exited{Status: harness.ExitStatus{Code: 7}})
	if len(out.Updates) > 0 {
		t.Errorf("told %v of the exit; the machine knows it better", story(out.Updates))
	}
}

func TestDemoModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []protocol.PermissionMode{
		"", protocol.ModeDefault, protocol.ModePlan, protocol.ModeAcceptEdits, protocol.ModeDontAsk, protocol.ModeBypassPermissions,
	} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			t.Parallel()
			cfg := config()
			cfg.PermissionMode = mode
			p := startDemo(t, harness.Launch{Config: cfg})
			p.begin("ask", cfg)
			asks := mode != protocol.ModeDontAsk && mode != protocol.ModeBypassPermissions
			if asks {
				asked, _ := until[harness.Asked](p)
				p.step(harness.Resolve{Request: asked.Request, Verdict: harness.Verdict{Decision: harness.Deny, OptionID: "reject"}})
			}
			p.finished()
			for _, u := range p.updates {
				if asked, ok := u.(harness.Asked); ok {
					t.Errorf("asked %+v", asked)
				}
			}
		})
	}
}

func TestDemoResume(t *testing.T) {
	t.Parallel()
	p := startDemo(t, harness.Launch{Config: config(), Resume: "demo-old-1"})
	p.begin("hello", config())
	created, _ := until[harness.Created](p)
	if want := (harness.Created{NativeID: "demo-old-1", Resumed: true}); created != want {
		t.Errorf("%+v, want %+v", created, want)
	}
	if end := p.finished(); end.Reason != protocol.StopEndTurn {
		t.Errorf("ended as %+v", end)
	}
}

func TestDemoFlood(t *testing.T) {
	t.Parallel()
	p := startDemo(t, harness.Launch{Config: config()})
	p.begin("flood 500", config())
	p.finished()
	said := p.said(protocol.PartText)
	if words := strings.Fields(said); len(words) != 500 || words[0] >= words[499] {
		t.Errorf("%d words of 500, from %q", len(words), said[:min(len(said), 40)])
	}
}
