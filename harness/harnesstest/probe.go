package harnesstest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent-server/fixtures"
	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

// Probe is a harness's first turn, as it was recorded, to be run again with
// another config: what comes out differently is what the config has changed.
type Probe struct {
	harness harness.Harness
	dir     string
	open    fixtures.Row
	// turn are the inputs of the first turn.
	turn []fixtures.Step
}

// NewProbe reads the harness's hello. dir is the folder of its recordings, which may be
// those of another that speaks its protocol.
func NewProbe(dir string, h harness.Harness) (*Probe, error) {
	native, err := os.ReadFile(filepath.Join(dir, "hello", "native.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("probing: %w", err)
	}
	p := &Probe{harness: h, dir: dir}
	var steps []fixtures.Step
	if p.open, steps, err = fixtures.Inputs(native); err != nil {
		return nil, fmt.Errorf("probing %s: %w", h.Info().ID, err)
	}
	end := slices.IndexFunc(steps, func(s fixtures.Step) bool {
		_, closing := s.Input.(session.Close)
		return closing
	})
	if end < 1 {
		return nil, fmt.Errorf("probing %s: hello has no turn and no close", h.Info().ID)
	}
	p.turn = steps[:end]
	return p, nil
}

// trace is what a run has brought about, as far as a config can change it.
type trace struct {
	// args and stdin are what the harness is told, env what its process is given.
	args, env, stdin []string
	// events are their types.
	events []string
	// notes are the details of the diagnostics that say a member is ignored.
	notes []string
	// refused are the paths of the faults that the turn was refused for.
	refused []string
	// restarted is true where a process was stopped.
	restarted bool
}

// run plays the first turn with a config.
func (p *Probe) run(cfg protocol.RunConfig) (trace, *session.Machine, error) {
	m, err := p.open.Machine(p.harness)
	if err != nil {
		return trace{}, nil, err
	}
	var tr trace
	for _, s := range p.turn {
		in := s.Input
		if start, ok := in.(session.StartTurn); ok {
			start.Config = cfg
			in = start
		}
		tr.take(m.Step(s.At, in))
	}
	return tr, m, nil
}

// next starts a second turn, with another config, on a machine that has run the
// first.
func (p *Probe) next(m *session.Machine, cfg protocol.RunConfig) trace {
	var tr trace
	last := p.turn[len(p.turn)-1].At
	tr.take(m.Step(last+1, session.StartTurn{TurnID: "next", Input: protocol.TextInput("go on"), Config: cfg}))
	return tr
}

// take adds what one step asks for.
func (tr *trace) take(out session.Output) {
	if out.Spawn != nil {
		tr.args = append(tr.args, out.Spawn.Command.Args...)
		tr.env = append(tr.env, out.Spawn.Command.Env...)
	}
	for line := range bytes.Lines(out.Stdin) {
		tr.stdin = append(tr.stdin, string(line))
	}
	for _, ev := range out.Events {
		tr.events = append(tr.events, string(ev.Event.Type()))
	}
	for _, d := range out.Diagnostics {
		if strings.Contains(d.Message, "ignored") {
			tr.notes = append(tr.notes, d.Detail)
		}
	}
	for _, r := range out.Replies {
		var faults []protocol.Fault
		if r.Err != nil && protocol.Decode(r.Err.Data, &faults) == nil {
			for _, f := range faults {
				tr.refused = append(tr.refused, f.Path)
			}
		}
	}
	tr.restarted = tr.restarted || out.Stop != nil
}

// differs says in what two traces differ: where the harness was told.
func (tr trace) differs(other trace) string {
	switch {
	case !slices.Equal(tr.args, other.args):
		return "argument"
	case !slices.Equal(tr.env, other.env):
		return "environment"
	case !slices.Equal(tr.stdin, other.stdin):
		return "stdin"
	case !slices.Equal(tr.events, other.events):
		return "gateway"
	}
	return ""
}

// Member is one member of a config, and how it is tried.
type Member struct {
	// Name is the member's on the wire.
	Name string
	// set gives it a value that is no default.
	set func(*protocol.RunConfig)
	// given is set in what it is compared with as well; nil: nothing.
	given func(*protocol.RunConfig)
	// gateway is true where the gateway does it for every harness, outside of
	// what a probe sees.
	gateway bool
}

// Members are those of RunConfig, in its order, but for harness itself.
func Members() []Member { return slices.Clone(members) }

var members = []Member{
	{Name: "cwd", set: func(c *protocol.RunConfig) { c.Cwd = "/elsewhere" }, gateway: true},
	{Name: "model", set: func(c *protocol.RunConfig) { c.Model = new("another-model") }},
	{Name: "thinkingLevel", set: func(c *protocol.RunConfig) { c.ThinkingLevel = protocol.ThinkingHigh }},
	{Name: "additionalDirectories", set: func(c *protocol.RunConfig) { c.AdditionalDirectories = []string{"/more"} }},
	{Name: "systemPromptAppend", set: func(c *protocol.RunConfig) { c.SystemPromptAppend = new("Be brief.") }},
	{Name: "maxTurns", set: func(c *protocol.RunConfig) { c.MaxTurns = new(int64(3)) }},
	{Name: "permissionMode", set: func(c *protocol.RunConfig) { c.PermissionMode = protocol.ModePlan }},
	{Name: "resumeSessionId", set: resume},
	{Name: "resumeSessionAt", set: func(c *protocol.RunConfig) { c.ResumeSessionAt = new("a-place") }, given: resume},
	{Name: "mcpServers", set: func(c *protocol.RunConfig) {
		c.MCPServers = map[string]protocol.MCPServer{"files": {Type: protocol.MCPStdio, Command: "files-server"}}
	}},
	{Name: "env", set: func(c *protocol.RunConfig) { c.Env = map[string]string{"NAME": "value"} }, gateway: true},
	{Name: "apiKey", set: func(c *protocol.RunConfig) { c.APIKey = new("a-key") }},
	{Name: "disableTools", set: func(c *protocol.RunConfig) { c.DisableTools = new(true) }},
	{Name: "includeRaw", set: func(c *protocol.RunConfig) { c.IncludeRaw = new(true) }},
}

// resume asks for a native session that nobody has.
func resume(c *protocol.RunConfig) { c.ResumeSessionID = new("5a1e7f00-0000-4000-8000-000000000001") }

// config is the recording's, for this harness. A model that it names is left out: it
// would hide that naming another has no effect.
func (p *Probe) config() protocol.RunConfig {
	cfg := *p.open.Config
	cfg.Harness, cfg.Model = p.harness.Info().ID, nil
	return cfg
}

// Try says what becomes of a member: refused, ignored, or where it goes. An error
// where nothing at all becomes of it: then the adapter drops it in silence.
func (p *Probe) Try(m Member) (string, error) {
	base := p.config()
	if m.given != nil {
		m.given(&base)
	}
	changed := base
	m.set(&changed)
	without, machine, err := p.run(base)
	if err != nil {
		return "", err
	}
	with, _, err := p.run(changed)
	if err != nil {
		return "", err
	}
	where, err := p.outcome(m, without, with)
	if err != nil || where == "refused" || where == "ignored" || m.given != nil {
		return where, err
	}
	if p.next(machine, changed).restarted {
		return where + ", restart", nil
	}
	return where, nil
}

// outcome judges one member by two runs. What the adapter says comes first: a refusal,
// a remark in the log; then what it does.
func (p *Probe) outcome(m Member, without, with trace) (string, error) {
	info := p.harness.Info()
	where := with.differs(without)
	switch {
	case slices.Contains(with.refused, "config."+m.Name):
		return "refused", nil
	case slices.ContainsFunc(with.notes, func(note string) bool { return strings.HasPrefix(note, m.Name) }):
		return "ignored", nil
	case m.Name == "apiKey" && info.APIKeyEnv != "":
		return "environment `" + info.APIKeyEnv + "`", nil
	case where != "" || m.gateway:
		return cmp.Or(where, "gateway"), nil
	}
	return "", errors.New("harness " + string(info.ID) + " neither honours config." + m.Name + " nor says that it does not")
}
