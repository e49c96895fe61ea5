package main

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

// configured writes a file and gives the options that come of it and some flags.
func configured(t *testing.T, text string, flags setup) (gateway.Options, error) {
	t.Helper()
	flags.config = filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(flags.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags.logLevel = "warn"
	return flags.options()
}

// registered is the harness of an id.
func registered(t *testing.T, o gateway.Options, id protocol.HarnessID) gateway.Registration {
	t.Helper()
	for _, r := range o.Harnesses {
		if r.Harness.Info().ID == id {
			return r
		}
	}
	t.Fatalf("there is no %s", id)
	return gateway.Registration{}
}

// argv is what a harness is started with.
func argv(t *testing.T, r gateway.Registration) string {
	t.Helper()
	c, err := r.Harness.Launch(harness.Launch{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(append([]string{r.Path}, r.Args...), c.Args...), "|")
}

const someAgents = `{
  "agents": {
    "my gemini": {"command": ["/opt/my agents/gemini", "-x y"], "like": "gemini", "passEnv": ["MINE", "OUR_*"]},
    "gemini":    {"command": ["gemini-next"], "args": ["--experimental-acp"]},
    "qwen":      {"passEnv": ["MINE"]},
    "other":     {"command": ["other-cli", "acp"]}
  },
  "acpDefault": "my gemini",
  "claudePath": "/opt/a b/claude"
}`

// TestLaw188_fileAndFlags: what the file says is run, word for word; a flag wins over
// it; what neither says is as without a file.
func TestLaw188_fileAndFlags(t *testing.T) {
	t.Parallel()
	o, err := configured(t, someAgents, setup{})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[protocol.HarnessID]string{
		"my gemini": "/opt/my agents/gemini|-x y|--acp", "gemini": "gemini-next|--experimental-acp", "qwen": "|--acp", "other": "other-cli|acp", "opencode": "|acp",
	} {
		if got := argv(t, registered(t, o, id)); got != want {
			t.Errorf("%s is run as %s, want %s", id, got, want)
		}
	}
	mine, known := registered(t, o, "my gemini").Harness.Info(), registered(t, o, "gemini").Harness.Info()
	if mine.Capabilities != known.Capabilities || mine.APIKeyEnv != known.APIKeyEnv || mine.Install.Tested != known.Install.Tested {
		t.Errorf("%+v is not like %+v", mine, known)
	}
	if got := strings.Join(mine.PassEnv, " "); got != strings.Join(known.PassEnv, " ")+" MINE OUR_*" {
		t.Errorf("it inherits %s", got)
	}
	if o.DefaultACP != "my gemini" || registered(t, o, "claude-code").Path != "/opt/a b/claude" {
		t.Errorf("default %q, Claude at %q", o.DefaultACP, registered(t, o, "claude-code").Path)
	}
	o, err = configured(t, someAgents, setup{acpAgents: []string{"other=mine --x", "gemini=g"}, acpDefault: "qwen", claude: "/c"})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := argv(t, registered(t, o, "other")), argv(t, registered(t, o, "gemini")); a != "mine|--x" || b != "g" {
		t.Errorf("beside flags they are run as %s, %s", a, b)
	}
	if o.DefaultACP != "qwen" || registered(t, o, "claude-code").Path != "/c" || argv(t, registered(t, o, "my gemini")) != "/opt/my agents/gemini|-x y|--acp" {
		t.Errorf("beside flags: default %q, Claude at %q", o.DefaultACP, registered(t, o, "claude-code").Path)
	}
	if o, err = configured(t, `{}`, setup{acpAgents: []string{"a=b"}}); err != nil || o.DefaultACP != "a" {
		t.Errorf("default %q, %v", o.DefaultACP, err)
	}
}

// TestConfigFaults: what is wrong is said with the file, the place and the member, and
// no value is repeated.
func TestConfigFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                     `:1:1: the file: is not JSON`,
		"{\n  \"agents\": {\n    \"a\": {,}}}": `:3:11: /agents/a: is not JSON`,
		`[]`:                                   `:1:1: the file: want an object`,
		`{"agnets":{}}`:                        `:1:2: /agnets: unknown member; here may stand agents, acpDefault, claudePath, codexPath`,
		"{\"agents\":{\n \"a\":{\"comand\":[]}}}":                             `:2:7: /agents/a/comand: unknown member; here may stand command, args, like, passEnv`,
		`{"agents":{"a":{"command":["x"],"env":{"KEY":"secret"}}}}`:           `/agents/a/env: unknown member`,
		`{"agents":{"a":{"command":"x --acp"}}}`:                              `:1:17: /agents/a/command: want an array of strings`,
		`{"agents":{"a":{"command":["x",1]}}}`:                                `/agents/a/command/1: want a string`,
		`{"agents":[]}`:                                                       `/agents: want an object`,
		`{"acpDefault":3}`:                                                    `/acpDefault: want a string`,
		`{"acpDefault":"nobody"}`:                                             `:1:2: /acpDefault: there is no agent "nobody"`,
		`{"agents":{"a":{"command":["x"]},"a":{"command":["y"]}}}`:            `is not JSON: duplicate object member name`,
		`{"agents":{"a":{}}}`:                                                 `/agents/a: want a "command"`,
		`{"agents":{"gemini":{"command":[]}}}`:                                `/agents/gemini: want a "command"`,
		`{"agents":{"a":{"command":["./x"]}}}`:                                `/agents/a/command/0: is a relative path`,
		`{"agents":{"a":{"command":[""]}}}`:                                   `/agents/a/command/0: want an executable`,
		`{"agents":{"a":{"command":["x","y\u0000"]}}}`:                        `/agents/a/command/1: holds a NUL`,
		`{"agents":{"a":{"command":["x"],"args":["\u0000"]}}}`:                `/agents/a/args/0: holds a NUL`,
		`{"agents":{"a\u001b[2J":{"command":["x"]}}}`:                         `want a name of characters that can be seen`,
		`{"agents":{"a\nb":{"command":["x"]}}}`:                               `want a name of characters that can be seen`,
		`{"agents":{"":{"command":["x"]}}}`:                                   `/agents/: want a name`,
		`{"agents":{"claude-code":{"command":["x"]}}}`:                        `/agents/claude-code: is built in`,
		`{"agents":{"a":{"command":["x"],"like":"gemni"}}}`:                   `/agents/a/like: "gemni" is none of claude-agent-acp, codex-acp`,
		`{"agents":{"a":{"command":["x"],"passEnv":["K=secret"]}}}`:           `/agents/a/passEnv/0: want the name alone`,
		`{"agents":{"a":{"command":["x"],"passEnv":["A","AGENT_SERVER_X"]}}}`: `/agents/a/passEnv/1: is ours`,
		`{"claudePath":"bin/claude"}`:                                         `:1:2: /claudePath: is a relative path`,
		`{} {}`:                                                               `is not JSON`,
	} {
		_, err := configured(t, text, setup{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--config /") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s:\n%v, want %s", text, err, want)
		}
	}
}

// TestConfigFile: the usual file need not be there, one that is named must; what
// everybody may write names no command of ours, and what has no end is not read to it.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	if c, err := readConfig(noConfig); err != nil || c.path != "" {
		t.Errorf("none: %+v, %v", c, err)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	if _, err := readConfig(gone); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("one that is not there: %v", err)
	}
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, make([]byte, maxConfig+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(long); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("one that is too long: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() { // more than a pipe holds; its end comes with the reader's
		_, _ = w.Write(make([]byte, maxConfig+1))
		_ = w.Close()
	}()
	if _, err := readOwn(r); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a pipe whose size is not known: %v", err)
	}
	if err := os.WriteFile(gone, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(gone, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig(gone); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("one that everybody may write: %v", err)
	}
}

// TestAgentNames: a flag's agents are called by what can be shown and written, too.
func TestAgentNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " a", "a\t", "a\x1b[2J", "a\nb", "a\xff"} {
		if _, err := configured(t, `{}`, setup{acpAgents: []string{name + "=x"}}); err == nil || !strings.HasPrefix(err.Error(), "--acp-agent ") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
