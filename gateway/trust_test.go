package gateway_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agent-server/gateway"
	"agent-server/harness"
	"agent-server/protocol"
)

// steered are variables that no client sets over a socket: one of each kind that
// is refused, and the spellings that somebody would try.
var steered = []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "ld_preload", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "Node_Options", "NODE_PATH", "NODE_EXTRA_CA_CERTS",
	"BASH_ENV", "BASH_FUNC_ls%%", "ENV", "env", "PATH", "Path", "SHELL", "ZDOTDIR", "PYTHONPATH", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS",
	"GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "SSH_ASKPASS", "EDITOR", "GIT_PAGER", "MANPAGER", "HOME", "XDG_CONFIG_HOME", "HTTPS_PROXY", "https_proxy", "npm_config_script_shell",
	"SSL_CERT_FILE", "SSLKEYLOGFILE", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "CODEX_HOME", "OPENAI_BASE_URL",
	"AWS_CONFIG_FILE", "GEMINI_API_KEY", "AGENT_SERVER_TOKEN", "PUPPET_KEY", "PUPPET_HOME", "PUPPET_DIR_A"}

// free are variables of the same look that anybody may set.
var free = []string{"FOO", "LDX", "MY_PATH", "PATHS", "ENVIRONMENT", "NODE", "HOMEPAGE", "TZ", "LANG", "PROXY", "SHELLY", "PUPPET", "PUPPETS_KEY"}

// stdio is one stdio MCP server.
var stdio = map[string]any{"tools": map[string]any{"type": "stdio", "command": "/bin/sh"}, "web": map[string]any{"type": "http", "url": "http://127.0.0.1:1/"}}

// ownVariables gives the puppet variables of its own.
func ownVariables(p *puppet) {
	p.info = harness.Info{APIKeyEnv: "PUPPET_KEY", PassEnv: []string{"PUPPET_HOME", "PUPPET_DIR_*"}}
}

// TestLaw120_refusedFromASocket: over a socket no variable is set that steers a
// launch, from beyond this machine no command named either; who has started us may
// do both.
func TestLaw120_refusedFromASocket(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reach gateway.Reach
		lax   bool
		env   string
		mcp   string
	}{
		"the host":                       {reach: gateway.ReachHost, env: "accepted", mcp: "accepted"},
		"a process of this machine":      {reach: gateway.ReachLoopback, env: "refused", mcp: "accepted"},
		"the network":                    {reach: gateway.ReachNetwork, env: "refused", mcp: "-32602 config.mcpServers.tools"},
		"the network, stdio MCP allowed": {reach: gateway.ReachNetwork, lax: true, mcp: "accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, pup(ownVariables), func(o *gateway.Options) { o.AllowMCPStdio = tc.lax })
			p := connect(t, g, gateway.ConnectOptions{Reach: tc.reach})
			ask := func(session string, config ...any) string {
				if got := paths(p.call("turn/start", turn(session, "t", "say hi", puppetID, config...))); !strings.HasPrefix(got, "result ") {
					return got
				}
				p.turnEnded(session, "t")
				return "accepted"
			}
			if got := ask(name+"mcp", "mcpServers", stdio); got != tc.mcp {
				t.Errorf("MCP servers: %s, want %s", got, tc.mcp)
			}
			if tc.env == "refused" {
				for _, v := range steered {
					if got := ask(name+v, "env", map[string]string{v: "x", "FOO": "y"}); got != "-32602 config.env."+v {
						t.Errorf("%s: %s", v, got)
					}
				}
			}
			all := map[string]string{}
			for _, v := range free {
				all[v] = "x"
			}
			if got := ask(name+"free", "env", all); got != "accepted" {
				t.Errorf("what steers nothing: %s", got)
			}
			if tc.env == "accepted" {
				if got := ask(name+"env", "env", map[string]string{"NODE_OPTIONS": "--x", "PUPPET_HOME": "/x"}); got != "accepted" {
					t.Errorf("from the host: %s", got)
				}
			}
		})
	}
}

// TestRefusalsComeBehindTheRetry: what is refused now is no fault of a turn that
// was admitted before, through another door.
func TestRefusalsComeBehindTheRetry(t *testing.T) {
	t.Parallel()
	g := open(t)
	s := turn("s", "t", "say hi", puppetID, "env", map[string]string{"BASH_ENV": "x"}, "mcpServers", stdio)
	connect(t, g, gateway.ConnectOptions{}).run(s)
	far := connect(t, g, gateway.ConnectOptions{Reach: gateway.ReachNetwork})
	if got := fault(far.call("turn/start", s)); got != `result {"sessionId":"s","turnId":"t","deduplicated":true}` {
		t.Errorf("the retry: %s", got)
	}
	s.TurnID = "u"
	if got := paths(far.call("turn/start", s)); got != "-32602 config.env.BASH_ENV config.mcpServers.tools" {
		t.Errorf("a new turn: %s", got)
	}
}

// TestNoName: what is no variable is refused whoever asks, and no value is shown.
func TestNoName(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for _, tc := range []struct {
		config []any
		want   string
	}{
		{[]any{"env", map[string]string{"": "canary"}}, "-32602 config.env."},
		{[]any{"env", map[string]string{"A=B": "canary"}}, "-32602 config.env.A=B"},
		{[]any{"env", map[string]string{"A\x00B": "canary"}}, "-32602 config.env.A\x00B"},
		{[]any{"env", map[string]string{"A": "canary\x00"}}, "-32602 config.env.A"},
		{[]any{"apiKey", "canary\x00"}, "-32602 config.apiKey"},
	} {
		a := p.call("turn/start", turn("s", "t", "", puppetID, tc.config...))
		if got := paths(a); got != tc.want || strings.Contains(a.Raw, "canary") {
			t.Errorf("%q: %s, want %s", tc.config, a.Raw, tc.want)
		}
	}
}

// TestRelativeCwd: it would be taken from a directory that no client knows.
func TestRelativeCwd(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for _, dir := range []string{".", "..", "testdata", "./", "~"} {
		if got := paths(p.call("turn/start", turn("s", "t", "", puppetID, "cwd", dir))); got != "-32602 config.cwd" {
			t.Errorf("%q: %s", dir, got)
		}
	}
}

// TestLaw121_workspaceRoots: every directory lies under a root, wherever its
// symlinks lead.
func TestLaw121_workspaceRoots(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symlinks need rights there")
	}
	base := t.TempDir()
	make := func(dir string) string {
		dir = filepath.Join(base, dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := func(to, from string) string {
		from = filepath.Join(base, from)
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
		return from
	}
	root, inner, outside := make("root"), make("root/a/b"), make("outside")
	make("root2") // not under root, though it begins like it
	alias := link(root, "alias")
	link(outside, "root/escape")
	link(inner, "outside/home")
	g := open(t, func(o *gateway.Options) { o.WorkspaceRoots = []string{filepath.Join(base, "not there"), alias} })
	p := connect(t, g, gateway.ConnectOptions{})
	for i, tc := range []struct {
		cwd  string
		more []string
		want string
	}{
		{cwd: root}, {cwd: inner}, {cwd: alias}, {cwd: filepath.Join(alias, "a")}, {cwd: filepath.Join(outside, "home")},
		{cwd: inner, more: []string{root, "..", ".", filepath.Join(alias, "a")}},
		{cwd: outside, want: "-32602 config.cwd"}, {cwd: base, want: "-32602 config.cwd"}, {cwd: "/", want: "-32602 config.cwd"},
		{cwd: filepath.Join(base, "root2"), want: "-32602 config.cwd"},
		{cwd: filepath.Join(root, "escape"), want: "-32602 config.cwd"},
		{cwd: inner + "/../../../outside", want: "-32602 config.cwd"},
		{cwd: inner, more: []string{root, outside, "../../..", "../../escape", "missing"},
			want: "-32602 config.additionalDirectories.1 config.additionalDirectories.2 config.additionalDirectories.3 config.additionalDirectories.4"},
		{cwd: outside, more: []string{"/"}, want: "-32602 config.cwd config.additionalDirectories.0"},
	} {
		session := string(rune('a' + i))
		got := paths(p.call("turn/start", turn(session, "t", "say hi", puppetID, "cwd", tc.cwd, "additionalDirectories", append([]string{}, tc.more...))))
		if tc.want == "" && strings.HasPrefix(got, "result ") {
			p.turnEnded(session, "t")
			continue
		}
		if got != tc.want {
			t.Errorf("%s %q: %s, want %q", tc.cwd, tc.more, got, tc.want)
		}
	}
}

// TestRelativeRoot is refused: it would move with our own directory.
func TestRelativeRoot(t *testing.T) {
	t.Parallel()
	_, err := gateway.New(gateway.Options{WorkspaceRoots: []string{"/a", "b"}, Harnesses: []gateway.Registration{{Harness: &puppet{id: protocol.HarnessDemo}}}})
	if err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("New: %v", err)
	}
}
