package session_test

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

// keyed is a harness with a variable for a key.
type keyed struct{ harness.Harness }

func (k keyed) Info() harness.Info {
	info := k.Harness.Info()
	info.APIKeyEnv = "KEY"
	return info
}

// A key that the harness has no variable for is ignored, and not in silence.
func TestKeyWithoutVariable(t *testing.T) {
	t.Parallel()
	withKey := func(c *protocol.RunConfig) { c.APIKey = new("k") }
	r := newRig(t)
	r.start("t1", withKey)
	if d := r.last.Diagnostics; len(d) != 1 || d[0].Message != "config member ignored" {
		t.Errorf("diagnostics %v", d)
	}
	r = newRig(t, func(o *session.Options) { o.Harness = keyed{o.Harness} })
	r.start("t1", withKey)
	if d := r.last.Diagnostics; len(d) != 0 {
		t.Errorf("diagnostics %v of a harness that has one", d)
	}
}
