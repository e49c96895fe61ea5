package harnesstest

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/harness"
	"agent-server/harness/claudecode"
	"agent-server/harness/codexappserver"
	"agent-server/internal/harnesses"
	"agent-server/protocol"
)

// probed is a probe of a harness by recordings of another, or its own.
func probed(t *testing.T, h harness.Harness, recordings protocol.HarnessID) *Probe {
	t.Helper()
	p, err := NewProbe(filepath.Join("..", "..", "fixtures", string(recordings)), h)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// probe is one of a harness by its own recordings.
func probe(t *testing.T, id protocol.HarnessID) *Probe {
	t.Helper()
	return probed(t, harnesses.Find(id), id)
}

// Every member of a config is tried, in the order of the wire.
func TestEveryMemberIsTried(t *testing.T) {
	t.Parallel()
	var want, got []string
	kind := reflect.TypeFor[protocol.RunConfig]()
	for i := range kind.NumField() {
		if name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); name != "harness" {
			want = append(want, name)
		}
	}
	for _, m := range members {
		got = append(got, m.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// A recording whose config is left alone gives the same again: what differs later
// is the member's doing.
func TestProbeRepeats(t *testing.T) {
	t.Parallel()
	for _, id := range []protocol.HarnessID{protocol.HarnessDemo, protocol.HarnessClaudeCode, protocol.HarnessCodexAppServer, protocol.HarnessCodexSDK} {
		p := probe(t, id)
		a, _, err := p.run(*p.open.Config)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := p.run(*p.open.Config)
		if err != nil {
			t.Fatal(err)
		}
		if where := a.differs(b); where != "" || len(a.events) == 0 || len(a.stdin) == 0 {
			t.Errorf("%s differs from itself in %q: %v", id, where, a)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	base := trace{args: []string{"a"}, env: []string{"e"}, stdin: []string{"s"}, events: []string{"v"}}
	for want, change := range map[string]func(*trace){
		"argument":    func(tr *trace) { tr.args, tr.stdin = nil, nil },
		"environment": func(tr *trace) { tr.env = []string{"other"} },
		"stdin":       func(tr *trace) { tr.stdin = append(slices.Clone(tr.stdin), "more") },
		"gateway":     func(tr *trace) { tr.events = nil },
		"":            func(tr *trace) { tr.notes = []string{"n"} },
	} {
		other := base
		change(&other)
		if got := other.differs(base); got != want {
			t.Errorf("differs in %q, want %q", got, want)
		}
	}
}

// deaf is an adapter that drops a member in silence.
type deaf struct{ harness.Harness }

func (d deaf) Launch(l harness.Launch) (harness.Command, error) {
	l.Config.MaxTurns = nil
	return d.Harness.Launch(l)
}

// What an adapter drops in silence is a fault, and no cell of the page.
func TestSilenceIsAnError(t *testing.T) {
	t.Parallel()
	p := probed(t, deaf{claudecode.New(claudecode.Options{})}, protocol.HarnessClaudeCode)
	i := slices.IndexFunc(members, func(m Member) bool { return m.Name == "maxTurns" })
	if cell, err := p.Try(members[i]); err == nil || !strings.Contains(err.Error(), "config.maxTurns") {
		t.Errorf("cell %q, error %v", cell, err)
	}
}

// The cells that follow from what an adapter documents about itself.
func TestCells(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		harness protocol.HarnessID
		want    map[string]string
	}{
		{protocol.HarnessDemo, map[string]string{
			"cwd": "stdin, restart", "permissionMode": "stdin", "maxTurns": "refused", "disableTools": "refused",
			"systemPromptAppend": "ignored", "model": "ignored", "apiKey": "ignored", "env": "gateway, restart", "includeRaw": "gateway",
		}},
		{protocol.HarnessClaudeCode, map[string]string{
			"cwd": "gateway, restart", "model": "argument", "maxTurns": "argument, restart", "systemPromptAppend": "stdin, restart",
			"resumeSessionAt": "argument", "apiKey": "environment `ANTHROPIC_API_KEY`, restart", "includeRaw": "gateway",
		}},
	} {
		p := probe(t, tc.harness)
		for _, m := range members {
			want, named := tc.want[m.Name]
			if got, err := p.Try(m); err != nil || named && got != want {
				t.Errorf("%s %s: %q, %v, want %q", tc.harness, m.Name, got, err, want)
			}
		}
	}
}

// boasting is an adapter that declares what it does not have, or hides what it has.
type boasting struct {
	harness.Harness
	change func(*harness.Info)
}

func (b boasting) Info() harness.Info {
	info := b.Harness.Info()
	b.change(&info)
	return info
}

// A capability that nothing shows is a fault, and so is one that is there and denied.
func TestDeclaredIsShown(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*protocol.AgentCapabilities){
		"sessionResume":      func(c *protocol.AgentCapabilities) { c.SessionResume = !c.SessionResume },
		"permissionRequests": func(c *protocol.AgentCapabilities) { c.PermissionRequests = !c.PermissionRequests },
		"images":             func(c *protocol.AgentCapabilities) { c.Images = !c.Images },
		"modelSwitch":        func(c *protocol.AgentCapabilities) { c.ModelSwitch = protocol.ModelSwitchRestart },
	} {
		for _, id := range []protocol.HarnessID{protocol.HarnessDemo, protocol.HarnessClaudeCode, protocol.HarnessCodexSDK} {
			h := boasting{harnesses.Find(id), func(info *harness.Info) { change(&info.Capabilities) }}
			if _, err := probed(t, h, id).Capabilities(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, other %s: %v", id, want, err)
			}
		}
	}
	h := boasting{harnesses.Find(protocol.HarnessDemo), func(info *harness.Info) { info.Capabilities.ThinkingLevels = true }}
	if _, err := probed(t, h, protocol.HarnessDemo).Capabilities(); err == nil || !strings.Contains(err.Error(), "thinkingLevels") {
		t.Errorf("boasting of thinkingLevels: %v", err)
	}
}

// leaking is an adapter that puts what it is told into arguments and environment.
type leaking struct{ harness.Harness }

func (l leaking) Launch(launch harness.Launch) (harness.Command, error) {
	c, err := l.Harness.Launch(launch)
	for _, s := range launch.Config.MCPServers {
		c.Args = append(c.Args, s.Env["TOKEN"])
	}
	c.Env = append(c.Env, "LD_PRELOAD=x", "KEY="+launch.Config.Env["TOKEN"])
	return c, err
}

// What a contract forbids is found.
func TestContractFinds(t *testing.T) {
	t.Parallel()
	wide := boasting{leaking{codexappserver.New(codexappserver.Options{})}, func(info *harness.Info) { info.PassEnv = []string{"*"} }}
	found := strings.Join(probed(t, wide, protocol.HarnessCodexAppServer).Contract(), "\n")
	for _, want := range []string{"the arguments", "the adapter's environment", "passes SSH_AUTH_SOCK", `adds "LD_PRELOAD=x"`} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is not among %s", want, found)
		}
	}
	if faults := probe(t, protocol.HarnessCodexAppServer).Contract(); len(faults) > 0 {
		t.Errorf("a sound adapter has %v", faults)
	}
}
