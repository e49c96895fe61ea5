package harnesstest

import (
	"bytes"
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

// Capability is one that a harness declares, and what shows it.
type Capability struct {
	// Name is the member's on the wire.
	Name string
	// Declared is what the adapter says: yes, no, or the way the model changes.
	Declared string
	// Shown is what was found to show it, or why it is not there: a scenario, a
	// member of a config and where it goes. "" where nothing was.
	Shown string
	// Scenario: Shown names a recording.
	Scenario bool
}

// Capabilities are the declared ones, in the order of the wire, each with what shows
// it. An error where what is declared was not found, or is denied and was.
func (p *Probe) Capabilities() ([]Capability, error) {
	c := p.harness.Info().Capabilities
	list := []Capability{
		{Name: "multiTurn", Declared: yes(c.MultiTurn)}, {Name: "sessionResume", Declared: yes(c.SessionResume)},
		{Name: "thinkingLevels", Declared: yes(c.ThinkingLevels)}, {Name: "images", Declared: yes(c.Images)},
		{Name: "mcpServers", Declared: yes(c.MCPServers)}, {Name: "permissionRequests", Declared: yes(c.PermissionRequests)},
		{Name: "modelSwitch", Declared: string(c.ModelSwitch)},
	}
	for i := range list {
		if err := p.show(&list[i]); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", list[i].Name, p.harness.Info().ID, err)
		}
		if list[i].Declared != "no" && list[i].Declared != string(protocol.ModelSwitchUnsupported) && list[i].Shown == "" {
			return nil, fmt.Errorf("%s of %s is declared %q, and nothing shows it", list[i].Name, p.harness.Info().ID, list[i].Declared)
		}
	}
	return list, nil
}

// yes spells a capability.
func yes(can bool) string {
	if can {
		return "yes"
	}
	return "no"
}

// show finds what shows a capability.
func (p *Probe) show(c *Capability) (err error) {
	switch c.Name {
	case "multiTurn":
		c.Shown, err = p.secondTurn()
	case "sessionResume":
		err = p.scenario(c, "resume_ok", `"resumed":true`)
	case "permissionRequests":
		err = p.scenario(c, "permission_allow", `"permission.requested"`)
	case "thinkingLevels":
		err = p.member(c, "thinkingLevel")
	case "mcpServers":
		err = p.member(c, "mcpServers")
	case "images":
		c.Shown, err = p.image()
	case "modelSwitch":
		c.Shown, err = p.modelSwitch(c.Declared)
	}
	return err
}

// scenario is shown by a recording that holds a word; one that says why it cannot be
// denies it.
func (p *Probe) scenario(c *Capability, scenario, word string) error {
	text, err := os.ReadFile(filepath.Join(p.dir, scenario, "README.md"))
	if err != nil {
		return fmt.Errorf("reading a fixture's note: %w", err)
	}
	note, err := fixtures.ParseNote(text)
	if err != nil {
		return fmt.Errorf("reading the note of %s: %w", scenario, err)
	}
	if note.Unsupported != "" {
		if c.Declared == "yes" {
			return fmt.Errorf("is declared, and %s is unsupported: %s", scenario, note.Unsupported)
		}
		c.Shown = note.Unsupported
		return nil
	}
	events, err := os.ReadFile(filepath.Join(p.dir, scenario, "events.jsonl"))
	if err != nil {
		return fmt.Errorf("reading a fixture's events: %w", err)
	}
	if found := bytes.Contains(events, []byte(word)); found != (c.Declared == "yes") {
		return fmt.Errorf("is declared %s, and %s holds %s: %v", c.Declared, scenario, word, found)
	}
	c.Shown, c.Scenario = scenario, true
	return nil
}

// member is shown by a member of a config that goes somewhere. One that is denied may
// be handed on all the same: what an agent then makes of it is its own.
func (p *Probe) member(c *Capability, name string) (err error) {
	if c.Declared == "yes" {
		c.Shown, err = p.goes(name)
	}
	return err
}

// goes is where a member of a config goes; "" where it goes nowhere.
func (p *Probe) goes(name string) (string, error) {
	m := members[slices.IndexFunc(members, func(m Member) bool { return m.Name == name })]
	where, err := p.Try(m)
	if err != nil || where == "ignored" || where == "refused" {
		return "", err
	}
	return "`" + name + "`: " + where, nil
}

// secondTurn begins another turn after the first, in the same conversation.
func (p *Probe) secondTurn() (string, error) {
	_, m, err := p.run(p.config())
	if err != nil {
		return "", err
	}
	native := m.NativeID()
	switch tr := p.next(m, p.config()); {
	case len(tr.refused) > 0 || native == "" || m.NativeID() != native:
		return "", nil
	case len(tr.args) > 0:
		return "a process a turn, which resumes", nil
	case len(tr.stdin) > 0:
		return "one process", nil
	}
	return "", nil
}

// pixel is a PNG of one pixel, in base64.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// image gives a turn an image: it is written, or the turn fails and says why. What
// does neither would answer a prompt that nobody wrote.
func (p *Probe) image() (string, error) {
	m, err := p.open.Machine(p.harness)
	if err != nil {
		return "", err
	}
	var tr trace
	failed := false
	for _, s := range p.turn {
		if start, ok := s.Input.(session.StartTurn); ok {
			start.Config = p.config()
			start.Input = protocol.Input{Items: []protocol.InputItem{
				{Type: protocol.InputText, Text: "look"}, {Type: protocol.InputImage, Data: new(pixel), MimeType: "image/png"},
			}}
			s.Input = start
		}
		out := m.Step(s.At, s.Input)
		tr.take(out)
		for _, e := range out.Events {
			end, ended := e.Event.(*protocol.TurnEnded)
			failed = failed || ended && end.Error != nil && end.Error.Category == protocol.CategoryInvalidRequest
		}
	}
	written := strings.Contains(strings.Join(tr.stdin, ""), pixel)
	switch can := p.harness.Info().Capabilities.Images; {
	case written && can:
		return "written to it", nil
	case written:
		return "", errors.New("is denied, and an image is written")
	case failed && !can:
		return "the turn fails as invalid_request", nil
	case !can:
		return "", errors.New("an image is neither written nor refused")
	}
	return "", nil
}

// modelSwitch changes the model between turns.
func (p *Probe) modelSwitch(declared string) (string, error) {
	shown, err := p.goes("model")
	if err != nil {
		return "", err
	}
	found := protocol.ModelSwitchInSession
	if shown == "" {
		found = protocol.ModelSwitchUnsupported
	} else if strings.HasSuffix(shown, ", restart") {
		found = protocol.ModelSwitchRestart
	}
	if string(found) != declared {
		return "", fmt.Errorf("is declared %q, found was %q (%s)", declared, found, shown)
	}
	return shown, nil
}

// Contract is what is wrong with how a harness is launched, asked and described,
// whatever its recordings say: secrets where others can read them, an environment
// that is wider than what the harness documents, a member of a config that nothing
// becomes of. Empty: nothing is.
func (p *Probe) Contract() []string {
	var faults []string
	for _, m := range members {
		if _, err := p.Try(m); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return append(append(faults, p.secrets()...), p.environment()...)
}

// secret is in every member that may hold one.
const secret = "s3cret-8f1d"

// secrets looks for the secrets of a config where they must not be: in arguments,
// which others on the machine can read, in remarks, and in events.
func (p *Probe) secrets() []string {
	cfg := p.config()
	cfg.APIKey = new(secret)
	cfg.Env = map[string]string{"TOKEN": secret}
	cfg.MCPServers = map[string]protocol.MCPServer{
		"local":  {Type: protocol.MCPStdio, Command: "server", Env: map[string]string{"TOKEN": secret}},
		"remote": {Type: protocol.MCPHTTP, URL: "https://example.test/mcp", Headers: map[string]string{"Authorization": secret}},
	}
	m, err := p.open.Machine(p.harness)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	look := func(where, text string) {
		if strings.Contains(text, secret) {
			faults = append(faults, fmt.Sprintf("%s: a secret of the config is in %s", p.harness.Info().ID, where))
		}
	}
	for _, s := range p.turn {
		if start, ok := s.Input.(session.StartTurn); ok {
			start.Config = cfg
			s.Input = start
		}
		out := m.Step(s.At, s.Input)
		if out.Spawn != nil {
			look("the arguments", strings.Join(out.Spawn.Command.Args, " "))
			look("the adapter's environment", strings.Join(out.Spawn.Command.Env, " "))
		}
		for _, d := range out.Diagnostics {
			look("a remark", d.Message+d.Detail)
		}
		for _, e := range out.Events {
			look("an event", string(protocol.AppendEvent(nil, e.Event)))
		}
	}
	return faults
}

// foreign are variables that are none of a harness's business, and such as make its
// process run something else.
var foreign = []string{"PATH", "HOME", "SSH_AUTH_SOCK", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "BASH_ENV", "AGENT_SERVER_TOKEN", "DATABASE_URL"}

// environment judges what of the gateway's environment a process sees, and what the
// adapter adds.
func (p *Probe) environment() []string {
	info, faults := p.harness.Info(), []string(nil)
	for _, pattern := range info.PassEnv {
		prefix, wide := strings.CutSuffix(pattern, "*")
		for _, name := range foreign {
			if name == pattern || wide && strings.HasPrefix(name, prefix) {
				faults = append(faults, fmt.Sprintf("%s passes %s by %q", info.ID, name, pattern))
			}
		}
	}
	plain, err := p.harness.Launch(harness.Launch{Config: p.config(), NativeID: "n"})
	again, err2 := p.harness.Launch(harness.Launch{Config: p.config(), NativeID: "n"})
	if err != nil || err2 != nil || !slices.Equal(plain.Args, again.Args) || !slices.Equal(plain.Env, again.Env) {
		faults = append(faults, fmt.Sprintf("%s launches otherwise the second time: %v, %v", info.ID, err, err2))
	}
	var seen []string
	for _, kv := range plain.Env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || name == info.APIKeyEnv || slices.Contains(seen, name) || slices.Contains(foreign, name) {
			faults = append(faults, fmt.Sprintf("%s adds %q to its environment", info.ID, kv))
		}
		seen = append(seen, name)
	}
	return faults
}
