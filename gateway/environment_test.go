package gateway

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/harness"
	"agent-server/protocol"
)

// TestEnvironment: what a child sees, from what, and who wins.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "HOME=/home/u", "LC_ALL=C", "XDG_DATA_HOME=/x", "HTTPS_PROXY=p", "SECRET=s", "LCX=no", "PATHX=no",
		"AGENT_SERVER_TOKEN=t", "AGENT_SERVER_SEED=7", "CLAUDE_KEY=k", "CLAUDE_CONFIG=c", "EXTRA=e", "EMPTY=", "broken", "=C:=x"}
	for name, tc := range map[string]struct {
		pass    []string
		info    harness.Info
		adapter []string
		cfg     protocol.RunConfig
		want    []string
	}{
		"the allow-list": {want: []string{"HOME=/home/u", "HTTPS_PROXY=p", "LC_ALL=C", "PATH=/bin", "XDG_DATA_HOME=/x"}},
		"what the operator and the harness name": {pass: []string{"EXTRA", "EMPTY", "AGENT_SERVER_TOKEN", "AGENT_*"}, info: harness.Info{PassEnv: []string{"CLAUDE_*", "AGENT_SERVER_*"}},
			want: []string{"CLAUDE_CONFIG=c", "CLAUDE_KEY=k", "EMPTY=", "EXTRA=e", "HOME=/home/u", "HTTPS_PROXY=p", "LC_ALL=C", "PATH=/bin", "XDG_DATA_HOME=/x"}},
		"one of ours that an adapter names whole": {pass: []string{"*"}, info: harness.Info{PassEnv: []string{"AGENT_SERVER_SEED"}},
			want: []string{"=C:=x", "AGENT_SERVER_SEED=7", "CLAUDE_CONFIG=c", "CLAUDE_KEY=k", "EMPTY=", "EXTRA=e", "HOME=/home/u", "HTTPS_PROXY=p", "LCX=no", "LC_ALL=C",
				"PATH=/bin", "PATHX=no", "SECRET=s", "XDG_DATA_HOME=/x"}},
		"the last one wins": {info: harness.Info{APIKeyEnv: "CLAUDE_KEY", PassEnv: []string{"CLAUDE_KEY"}}, adapter: []string{"HOME=/adapter", "LC_ALL=adapter", "A=1", "bad"},
			cfg:  protocol.RunConfig{Env: map[string]string{"LC_ALL": "config", "CLAUDE_KEY": "config"}, APIKey: new("key")},
			want: []string{"A=1", "CLAUDE_KEY=key", "HOME=/adapter", "HTTPS_PROXY=p", "LC_ALL=config", "PATH=/bin", "XDG_DATA_HOME=/x"}},
		"a key that the harness has no variable for": {cfg: protocol.RunConfig{APIKey: new("key")},
			want: []string{"HOME=/home/u", "HTTPS_PROXY=p", "LC_ALL=C", "PATH=/bin", "XDG_DATA_HOME=/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := environment(environ, tc.pass, tc.info, tc.adapter, tc.cfg)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}
