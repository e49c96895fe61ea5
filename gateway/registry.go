package gateway

import (
	"fmt"
	"os/exec"
	"sort"

	"agent-server/protocol"
)

// registry is what the gateway knows of harnesses; it never changes. Whether one
// can be run is asked of the file system each time.
type registry struct {
	byID       map[protocol.HarnessID]*Registration
	order      []protocol.HarnessID
	defaultACP protocol.HarnessID
}

// newRegistry refuses what an operator cannot have meant. An executable that is
// not there is no such thing: it may be installed later.
func newRegistry(o Options) (*registry, error) {
	r := &registry{byID: map[protocol.HarnessID]*Registration{}, defaultACP: o.DefaultACP}
	for i := range o.Harnesses {
		reg := &o.Harnesses[i]
		id := reg.Harness.Info().ID
		if id == "" || r.byID[id] != nil {
			return nil, fmt.Errorf("registering harness %q: the id is empty or taken", id)
		}
		r.byID[id] = reg
		r.order = append(r.order, id)
	}
	sort.Slice(r.order, func(i, j int) bool { return r.order[i] < r.order[j] })
	if r.defaultACP != "" && r.byID[r.defaultACP] == nil {
		return nil, fmt.Errorf("default ACP agent %q is no registered harness", r.defaultACP)
	}
	return r, nil
}

// known says whether an id may stand in config.harness at all: a base client's
// four always may.
func (r *registry) known(id protocol.HarnessID) bool { return id.Base() || r.byID[id] != nil }

// find gives what an id stands for; nil: nothing here. Plain acp is the
// operator's default agent, unless a harness is registered by that very name.
func (r *registry) find(id protocol.HarnessID) *Registration {
	if reg := r.byID[id]; reg != nil {
		return reg
	}
	if id == protocol.HarnessACP && r.defaultACP != "" {
		return r.byID[r.defaultACP]
	}
	return nil
}

// idOf is the id under which a harness was registered; what it says of itself is not
// asked again.
func (r *registry) idOf(reg *Registration) protocol.HarnessID {
	for id, other := range r.byID {
		if other == reg {
			return id
		}
	}
	return ""
}

// available lists the ids whose executable resolves and may be run, in order. It
// is looked up each time: what is installed meanwhile is there.
func (r *registry) available() []protocol.HarnessID {
	var ids []protocol.HarnessID
	for _, id := range r.order {
		if _, err := r.byID[id].resolve(); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// capabilities is initialize's map of what is available here. The operator's
// default agent stands in it a second time, as acp: that is the id by which a base
// client can ask for it.
func (r *registry) capabilities() map[protocol.HarnessID]protocol.AgentCapabilities {
	m := map[protocol.HarnessID]protocol.AgentCapabilities{}
	for _, id := range r.available() {
		m[id] = r.byID[id].Harness.Info().Capabilities
	}
	if r.byID[protocol.HarnessACP] == nil && r.defaultACP != "" {
		if c, ok := m[r.defaultACP]; ok {
			m[protocol.HarnessACP] = c
		}
	}
	return m
}

// command is what the operator or the harness calls the executable.
func (r *Registration) command() string {
	if r.Path != "" {
		return r.Path
	}
	return r.Harness.Info().Executable
}

// ifBusy are the words that turn/start understands here: a turn can be steered only
// where a harness can be.
func (r *registry) ifBusy() []string {
	words := []string{string(protocol.BusyReject), string(protocol.BusyQueue)}
	for _, reg := range r.byID {
		if reg.Harness.Info().Steer {
			return append(words, string(protocol.BusySteer))
		}
	}
	return words
}

// resolve finds the executable; it starts nothing. The error names harness and
// command.
func (r *Registration) resolve() (string, error) {
	path, err := exec.LookPath(r.command())
	if err != nil {
		return "", fmt.Errorf("finding the executable of harness %s: %w", r.Harness.Info().ID, err)
	}
	return path, nil
}
