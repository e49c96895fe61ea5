package gateway

import (
	"path/filepath"

	"agent-server/session"
)

// placedPolicy tells a policy what a turn's directory is really called: the harness
// names files by that, the client by whatever leads there.
type placedPolicy struct{ session.Policy }

// placed is p where calls know their directory's real name; nil stays nil.
func placed(p session.Policy) session.Policy {
	if p == nil {
		return nil
	}
	return placedPolicy{p}
}

// Rule implements session.Policy. A directory that is gone has no other name.
func (p placedPolicy) Rule(c session.Call) session.Ruling {
	if real, err := filepath.EvalSymlinks(c.Cwd); err == nil && real != filepath.Clean(c.Cwd) {
		c.RealCwd = real
	}
	return p.Policy.Rule(c)
}
