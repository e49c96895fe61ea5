package gateway

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"agent-server/protocol"
)

// What a client may put into a config depends on where it sits. One that has
// started us could start anything else. One that came over a socket was let in to
// run turns, under the operator's rules: it chooses prompts and modes, not the
// code that a harness loads, nor where that takes its login from or sends it to.
// Each look gives all it has found; the file system is looked at last.

// nameFaults are what no variable can be called, whoever asks, and values that no
// process can be given. The value itself is never repeated.
func nameFaults(cfg protocol.RunConfig) []protocol.Fault {
	var faults []protocol.Fault
	for _, name := range slices.Sorted(maps.Keys(cfg.Env)) {
		switch path := "config.env." + name; {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			faults = append(faults, protocol.Fault{Path: path, Message: "is no name of a variable"})
		case strings.Contains(cfg.Env[name], "\x00"):
			faults = append(faults, protocol.Fault{Path: path, Message: "holds a NUL"})
		}
	}
	if cfg.APIKey != nil && strings.Contains(*cfg.APIKey, "\x00") {
		faults = append(faults, protocol.Fault{Path: "config.apiKey", Message: "holds a NUL"})
	}
	return faults
}

// reachFaults are what a config asks for that is not for everybody to have: from a
// socket the names that steer a launch, from beyond this machine commands that are
// run as MCP servers too.
func (g *Gateway) reachFaults(from Reach, reg *Registration, cfg protocol.RunConfig) []protocol.Fault {
	if from == ReachHost {
		return nil
	}
	var faults []protocol.Fault
	info := reg.Harness.Info()
	for _, name := range slices.Sorted(maps.Keys(cfg.Env)) {
		if steers(name, info) {
			faults = append(faults, protocol.Fault{Path: "config.env." + name, Message: "is not set from a network client: it steers what is run"})
		}
	}
	if from == ReachLoopback || g.o.AllowMCPStdio {
		return faults
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		if cfg.MCPServers[name].Type == protocol.MCPStdio {
			faults = append(faults, protocol.Fault{Path: "config.mcpServers." + name, Message: "stdio servers are not taken from the network (--allow-mcp-stdio)"})
		}
	}
	return faults
}

// placeFaults are what is wrong with a config's directories on this machine. Their
// paths come from the client, so that a text may repeat them. A cwd that is not
// absolute would be taken from the gateway's own, which is nobody's business.
func (g *Gateway) placeFaults(cfg protocol.RunConfig) []protocol.Fault {
	const path = "config.cwd"
	if !filepath.IsAbs(cfg.Cwd) {
		return []protocol.Fault{{Path: path, Message: "is not an absolute path: " + cfg.Cwd}}
	}
	info, err := g.stat(cfg.Cwd)
	switch {
	case err != nil:
		return []protocol.Fault{{Path: path, Message: fmt.Sprintf("cannot be used: %v", err)}}
	case !info.IsDir():
		return []protocol.Fault{{Path: path, Message: "is not a directory: " + cfg.Cwd}}
	case len(g.o.WorkspaceRoots) == 0:
		return nil
	}
	return g.rootFaults(cfg)
}

// rootFaults are the directories that lie under no workspace root. A relative one
// counts from cwd, as the harness takes it.
func (g *Gateway) rootFaults(cfg protocol.RunConfig) []protocol.Fault {
	roots := resolved(g.o.WorkspaceRoots)
	var faults []protocol.Fault
	check := func(path, dir string) {
		if !under(roots, dir) {
			faults = append(faults, protocol.Fault{Path: path, Message: "does not lie under a workspace root"})
		}
	}
	check("config.cwd", cfg.Cwd)
	for i, dir := range cfg.AdditionalDirectories {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cfg.Cwd, dir)
		}
		check(fmt.Sprintf("config.additionalDirectories.%d", i), dir)
	}
	return faults
}

// resolved are the roots as they stand now, symlinks followed: one may be mounted,
// or moved, while we run. One that is not there has nothing under it.
func resolved(roots []string) []string {
	var out []string
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// under says whether a directory is one of the roots or lies below one, wherever
// its symlinks lead. One that cannot be followed lies nowhere.
func under(roots []string, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// rootsAreAbsolute refuses roots that an operator cannot have meant: a relative one
// would move with the gateway's own directory.
func rootsAreAbsolute(roots []string) error {
	for _, root := range roots {
		if !filepath.IsAbs(root) {
			return fmt.Errorf("workspace root %q is not an absolute path", root)
		}
	}
	return nil
}
