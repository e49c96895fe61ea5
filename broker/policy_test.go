package broker_test

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"agent-server/broker"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bash is a call with a command line, file one of a file.
func bash(line string) broker.Call {
	return broker.Call{Tool: "Bash", Kind: protocol.KindExecute, Cwd: "/w", RawInput: protocol.Encode(map[string]string{"command": line})}
}

func file(name string) broker.Call {
	return broker.Call{Tool: "Edit", Kind: protocol.KindEdit, Cwd: "/w", Paths: []string{name}}
}

// rule is what one rule alone says of a call; "-" where it is silent: an opposite
// catch-all behind it then speaks.
func ruled(r broker.ToolRule, c broker.Call) string {
	rest := broker.ToolRule{Ruling: broker.PolicyAllow}
	words := map[broker.Ruling]string{broker.PolicyAsk: "ask", broker.PolicyDeny: "deny", broker.PolicyAllow: "-"}
	if r.Ruling == broker.PolicyAllow {
		rest.Ruling = broker.PolicyDeny
		words = map[broker.Ruling]string{broker.PolicyAsk: "ask", broker.PolicyDeny: "-", broker.PolicyAllow: "allow"}
	}
	return words[broker.ToolPolicy{Rules: []broker.ToolRule{r, rest}}.Rule(c)]
}

// moves is a call of a tool that nobody knows.
func moves(input string) broker.Call {
	return broker.Call{Tool: "mcp__x", Cwd: "/w", RawInput: protocol.Object(input)}
}

func TestToolRules(t *testing.T) {
	t.Parallel()
	argv := func(words ...string) broker.Call {
		return broker.Call{Tool: "shell", Cwd: "/w", RawInput: protocol.Encode(map[string][]string{"command": words})}
	}
	linked := func(name string) broker.Call {
		return broker.Call{Tool: "Edit", Cwd: "/w", RealCwd: "/real/w", Paths: []string{name}}
	}
	inInput := broker.Call{Tool: "Write", Cwd: "/w", RawInput: protocol.Object(`{"file_path":"/w/a.go"}`)}
	hidden := broker.Call{Tool: "Write", Cwd: "/w", Paths: []string{"a.go"}, RawInput: protocol.Object(`{"file_path":"/etc/passwd"}`)}
	tests := []struct {
		name        string
		rule        broker.ToolRule
		call        broker.Call
		allow, deny string // what it says where its ruling is so
	}{
		{"no condition", broker.ToolRule{}, bash("ls"), "allow", "deny"},
		{"tool", broker.ToolRule{Tool: "Bash"}, bash("ls"), "allow", "deny"},
		{"another tool", broker.ToolRule{Tool: "Bas"}, bash("ls"), "-", "-"},
		{"tool glob", broker.ToolRule{Tool: "B?s*"}, bash("ls"), "allow", "deny"},
		{"tool glob, several stars", broker.ToolRule{Tool: "mcp__*__read*"}, broker.Call{Tool: "mcp__a__b__read_it"}, "allow", "deny"},
		{"a tool without a name", broker.ToolRule{Tool: "*"}, broker.Call{}, "-", "ask"},
		{"kind", broker.ToolRule{Kind: "execute"}, bash("ls"), "allow", "deny"},
		{"another kind", broker.ToolRule{Kind: "read"}, bash("ls"), "-", "-"},
		{"no kind", broker.ToolRule{Kind: "read"}, broker.Call{Tool: "x"}, "-", "ask"},
		{"all conditions", broker.ToolRule{Tool: "Bash", Kind: "read"}, bash("ls"), "-", "-"},

		{"file", broker.ToolRule{Path: "src/*.go"}, file("src/a.go"), "allow", "deny"},
		{"absolute file under cwd", broker.ToolRule{Path: "src/*.go"}, file("/w/src/a.go"), "allow", "deny"},
		{"a star stays in its segment", broker.ToolRule{Path: "src/*.go"}, file("src/b/a.go"), "-", "-"},
		{"two stars do not", broker.ToolRule{Path: "src/**/*.go"}, file("src/b/c/a.go"), "allow", "deny"},
		{"two stars are none too", broker.ToolRule{Path: "src/**/*.go"}, file("src/a.go"), "allow", "deny"},
		{"everything", broker.ToolRule{Path: "**"}, file("src/a.go"), "allow", "deny"},
		{"climbs out", broker.ToolRule{Path: "**"}, file("src/../../etc/passwd"), "-", "-"},
		{"climbs and comes back", broker.ToolRule{Path: "src/**"}, file("src/../src/a"), "allow", "deny"},
		{"climbs inside", broker.ToolRule{Path: "src/**"}, file("src/../b"), "-", "-"},
		{"a name that begins alike", broker.ToolRule{Path: "**"}, file("/world/a"), "-", "-"},
		{"the directory itself", broker.ToolRule{Path: "**"}, file("/w"), "-", "-"},
		{"will be expanded", broker.ToolRule{Path: "**"}, file("~/.ssh/id"), "-", "ask"},
		{"will be expanded too", broker.ToolRule{Path: "**"}, file("$HOME/x"), "-", "ask"},
		{"no cwd", broker.ToolRule{Path: "**"}, broker.Call{Paths: []string{"a"}}, "-", "ask"},
		{"absolute glob", broker.ToolRule{Path: "/etc/**"}, file("../etc/passwd"), "allow", "deny"},
		{"no file", broker.ToolRule{Path: "**"}, bash("ls"), "-", "-"},
		{"the file of the input", broker.ToolRule{Path: "*.go"}, inInput, "allow", "deny"},
		{"two files, one matches", broker.ToolRule{Path: "*.go"}, hidden, "-", "deny"},
		{"another system's separators", broker.ToolRule{Path: "**"}, file(`a\..\..\b`), "-", "ask"},
		{"a tool of two places", broker.ToolRule{Path: "**"}, moves(`{"source":"a","destination":"/etc/b"}`), "-", "deny"},
		{"a tool of many places", broker.ToolRule{Path: "**"}, moves(`{"paths":["a","b/c"]}`), "allow", "deny"},
		{"one of them outside", broker.ToolRule{Path: "**"}, moves(`{"paths":["a","../c"]}`), "-", "deny"},
		{"a file deeper down", broker.ToolRule{Path: "*.go"}, moves(`{"edits":[{"file_path":"a.go"}]}`), "allow", "deny"},
		{"a file of another kind deeper down", broker.ToolRule{Path: "*.go"}, moves(`{"path":"a.go","files":[{"text":"x","path":"/etc/b"}]}`), "-", "deny"},
		{"a URI", broker.ToolRule{Path: "**"}, file("file:///etc/passwd"), "-", "ask"},
		{"the directory's real name", broker.ToolRule{Path: "src/*"}, linked("/real/w/src/a"), "allow", "deny"},
		{"by its real name, of a glob by the other", broker.ToolRule{Path: "/w/src/*"}, linked("/real/w/src/a"), "allow", "deny"},
		{"the other way about", broker.ToolRule{Path: "/real/w/src/*"}, linked("/w/src/a"), "allow", "deny"},
		{"climbs out of the real directory", broker.ToolRule{Path: "/real/x"}, linked("/w/../x"), "allow", "deny"},
		{"the other way about, spelled oddly", broker.ToolRule{Path: "src/*"}, linked("/.//w/src/a"), "allow", "deny"},
		{"and not out of the other", broker.ToolRule{Path: "/x"}, linked("../x"), "-", "-"},
		{"members that hold no file", broker.ToolRule{Path: "**"}, moves(`{"from":"a","to":"b","file":7,"dir":"","file_text":"/etc/x"}`), "allow", "deny"},

		{"command", broker.ToolRule{Command: "git status"}, bash("git  status -s"), "allow", "deny"},
		{"whole words", broker.ToolRule{Command: "git st"}, bash("git status"), "-", "-"},
		{"too short", broker.ToolRule{Command: "git status"}, bash("git"), "-", "-"},
		{"no command", broker.ToolRule{Command: "git"}, file("git"), "-", "-"},
		{"empty", broker.ToolRule{Command: "git"}, bash(" "), "-", "ask"},
		{"chained by ;", broker.ToolRule{Command: "git"}, bash("git status; rm x"), "-", "ask"},
		{"chained by &&", broker.ToolRule{Command: "git"}, bash("git status && rm x"), "-", "ask"},
		{"chained by |", broker.ToolRule{Command: "git"}, bash("git log | sh"), "-", "ask"},
		{"chained by a new line", broker.ToolRule{Command: "git"}, bash("git log\nrm x"), "-", "ask"},
		{"substituted", broker.ToolRule{Command: "git"}, bash("git log $(rm x)"), "-", "ask"},
		{"substituted by ticks", broker.ToolRule{Command: "git"}, bash("git log `rm x`"), "-", "ask"},
		{"redirected", broker.ToolRule{Command: "git"}, bash("git log > /etc/x"), "-", "ask"},
		{"spelled otherwise", broker.ToolRule{Command: "git push"}, bash(`git "push"`), "-", "ask"},
		{"two command lines", broker.ToolRule{Command: "git"}, moves(`{"command":"git log","cmd":"rm x"}`), "-", "ask"},
		{"space that is none to a shell", broker.ToolRule{Command: "git log"}, bash("git\u00a0log"), "-", "ask"},
		{"a line of a shell", broker.ToolRule{Command: "git log"}, bash("/bin/zsh -lc 'git log -1'"), "allow", "deny"},
		{"a line of a shell, other quotes", broker.ToolRule{Command: "git log"}, bash(`bash -c "git log -1"`), "allow", "deny"},
		{"a line of a shell, one word", broker.ToolRule{Command: "ls"}, bash("sh -c ls"), "allow", "deny"},
		{"a line of a shell, with arguments", broker.ToolRule{Command: "git log"}, bash("sh -c 'git log' x"), "-", "ask"},
		{"a line of a shell, quotes within", broker.ToolRule{Command: "git log"}, bash(`sh -c "git 'log'"`), "-", "ask"},
		{"a shell's script", broker.ToolRule{Command: "git"}, bash("sh git"), "-", "ask"},
		{"after an assignment", broker.ToolRule{Command: "git"}, bash("PATH=/tmp git"), "-", "-"},
		{"words", broker.ToolRule{Command: "git log"}, argv("git", "log", "a;b"), "allow", "deny"},
		{"words of a shell", broker.ToolRule{Command: "git"}, argv("/bin/bash", "-lc", "git log"), "allow", "deny"},
		{"words of a shell, chained", broker.ToolRule{Command: "git"}, argv("bash", "-c", "git log; rm x"), "-", "ask"},
		{"words of a shell, unclear", broker.ToolRule{Command: "bash"}, argv("bash", "script"), "-", "ask"},
		{"of no known form", broker.ToolRule{Command: "git"}, broker.Call{RawInput: protocol.Object(`{"command":7}`)}, "-", "ask"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tt.rule
			r.Ruling = broker.PolicyAllow
			if got := ruled(r, tt.call); got != tt.allow {
				t.Errorf("to allow: %s, want %s", got, tt.allow)
			}
			r.Ruling = broker.PolicyDeny
			if got := ruled(r, tt.call); got != tt.deny {
				t.Errorf("to deny: %s, want %s", got, tt.deny)
			}
		})
	}
}

func TestLaw148_firstRuleWins(t *testing.T) {
	t.Parallel()
	p := broker.ToolPolicy{Rules: []broker.ToolRule{
		{Tool: "Bash", Command: "git", Ruling: broker.PolicyAllow},
		{Tool: "Bash", Ruling: broker.PolicyAsk},
		{Kind: "execute", Ruling: broker.PolicyDeny},
		{Tool: "Edit", Ruling: broker.PolicyDeny},
		{Ruling: broker.PolicyAllow},
	}}
	for line, want := range map[string]broker.Ruling{"git log": broker.PolicyAllow, "ls": broker.PolicyAsk} {
		if got := p.Rule(bash(line)); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	if p.Rule(file("a")) != broker.PolicyDeny || p.Rule(broker.Call{Tool: "x", Kind: "read"}) != broker.PolicyAllow {
		t.Error("a later rule does not speak")
	}
	if (broker.ToolPolicy{}).Rule(bash("ls")) != broker.PolicyAsk {
		t.Error("what no rule knows is not asked")
	}
}

// Whatever path a call names, an allow of what is under cwd is never of what is not.
func TestPathsNeverLeadOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "", "w", "a", "b", "~", "$x", "etc"}), 1, 8).Draw(t, "parts")
		name := strings.Join(parts, "/")
		glob := rapid.SampledFrom([]string{"**", "a/**", "*", "**/b", "w/**"}).Draw(t, "glob")
		p := broker.ToolPolicy{Rules: []broker.ToolRule{{Path: glob, Ruling: broker.PolicyAllow}}}
		abs := name
		if !path.IsAbs(abs) {
			abs = "/w/" + abs
		}
		if p.Rule(file(name)) == broker.PolicyAllow && !strings.HasPrefix(path.Clean(abs), "/w/") {
			t.Fatalf("%s allows %q, which is %s", glob, name, path.Clean(abs))
		}
	})
}

// A glob agrees with the plain recursive definition of one.
func TestGlobsFollowTheirDefinition(t *testing.T) {
	t.Parallel()
	var plain func(glob, text string) bool
	plain = func(glob, text string) bool {
		switch {
		case glob == "":
			return text == ""
		case glob[0] == '*':
			return plain(glob[1:], text) || text != "" && plain(glob, text[1:])
		}
		return text != "" && (glob[0] == '?' || glob[0] == text[0]) && plain(glob[1:], text[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab*?]{1,8}`).Draw(t, "glob")
		text := rapid.StringMatching(`[ab]{1,10}`).Draw(t, "text")
		p := broker.ToolPolicy{Rules: []broker.ToolRule{{Tool: glob, Ruling: broker.PolicyAllow}}}
		if got := p.Rule(broker.Call{Tool: text}) == broker.PolicyAllow; got != plain(glob, text) {
			t.Fatalf("%s matches %s: %v", glob, text, got)
		}
	})
}

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	got, err := broker.ParsePolicy([]byte(`{"rules": [
		{"tool": "Read", "decision": "allow"},
		{"kind": "edit", "path": "/etc/**", "decision": "deny"},
		{"command": "git status", "path": "a/*", "decision": "ask"}
	]}`))
	want := broker.ToolPolicy{Rules: []broker.ToolRule{
		{Tool: "Read", Ruling: broker.PolicyAllow},
		{Kind: protocol.KindEdit, Path: "/etc/**", Ruling: broker.PolicyDeny},
		{Command: "git status", Path: "a/*", Ruling: broker.PolicyAsk},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if p, err := broker.ParsePolicy([]byte(`{}`)); err != nil || len(p.Rules) > 0 {
		t.Errorf("an empty policy: %v %v", p, err)
	}
}

func TestParsePolicyFaults(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"{\n\"rules\": [,]}": "reading the policy: line 2: ",
		``:                   "reading the policy: ",
		`{"rules":[]} x`:     "reading the policy: ",
		`[]`:                 "policy: is no object",
		`null`:               "policy: is no object",
		`{"rule":[]}`:        `policy: unknown member "rule", it may have rules`,
		`{"rules":{}}`:       "rules: is no array",
		`{"rules":null}`:     "rules: is no array",
		`{"rules":[7]}`:      "rules[0]: is no object",
		`{"rules":[{"decision":"allow"},{"tools":"x","decision":"allow"}]}`: `rules[1]: unknown member "tools"`,
		`{"rules":[{"Tool":"x","decision":"allow"}]}`:                       `rules[0]: unknown member "Tool"`,
		`{"rules":[{"tool":"x"}]}`:                                          "rules[0].decision: is missing",
		`{"rules":[{"tool":"x","decision":"Allow"}]}`:                       `rules[0].decision: "Allow" is none of`,
		`{"rules":[{"tool":7,"decision":"allow"}]}`:                         "rules[0].tool: is no string",
		`{"rules":[{"tool":null,"decision":"allow"}]}`:                      "rules[0].tool: is no string",
		`{"rules":[{"kind":"exec","decision":"deny"}]}`:                     `rules[0].kind: "exec" is no kind of tool; those are [read`,
		`{"rules":[{"kind":"Read","decision":"deny"}]}`:                     `rules[0].kind: "Read" is no kind`,
		`{"rules":[{"kind":" ","decision":"allow"}]}`:                       "rules[0].kind: is empty",
		`{"rules":[{"path":"../x","decision":"allow"}]}`:                    "rules[0].path: has a . or .. segment",
		`{"rules":[{"path":"a//b","decision":"allow"}]}`:                    "rules[0].path: has a . or .. segment",
		`{"rules":[{"path":"a/","decision":"allow"}]}`:                      "rules[0].path: has a . or .. segment",
		`{"rules":[{"path":"~/x","decision":"allow"}]}`:                     "rules[0].path: begins with ~",
		`{"rules":[{"command":"a; b","decision":"allow"}]}`:                 "rules[0].command: words only",
		"{\"rules\":[{\"command\":\"a\u00a0b\",\"decision\":\"allow\"}]}":   "rules[0].command: words only",
		"{\"rules\":[{\"path\":\"secr\xe9t\",\"decision\":\"deny\"}]}":      "rules[0].path: is no text",
		`{"rules":[{"tool":"\ud800x","decision":"deny"}]}`:                  "rules[0].tool: is no text",
		`{"rules":[{"tool":"a","tool":"b","decision":"allow"}]}`:            `rules[0]: member "tool" is there twice`,
	} {
		p, err := broker.ParsePolicy([]byte(file))
		if err == nil || !strings.HasPrefix(err.Error(), want) || p.Rules != nil {
			t.Errorf("%s: %v, %v; want %s", file, p, err, want)
		}
	}
}

// Whatever is in the file, it is read or refused; what is read reads the same
// however often.
func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(`{"rules":[{"tool":"x","decision":"allow"}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := broker.ParsePolicy(file)
		if err == nil && !json.Valid(file) {
			t.Errorf("what is no JSON is read as %v", p)
		}
		p.Rule(bash("ls"))
	})
}

// What nobody chose allows one call or none, and leaves no rule behind.
func TestDecide(t *testing.T) {
	t.Parallel()
	wide := theirs("r", option("ever", "allow_always"), option("never", "reject_always"))
	tests := []struct {
		name    string
		request broker.Request
		allow   bool
		verdict broker.Verdict
		shown   string
	}{
		{"allow", ours("r"), true, broker.Verdict{Decision: broker.Allow}, "allow"},
		{"deny", ours("r"), false, broker.Verdict{}, "reject"},
		{"own allow", theirs("r", option("yes", "allow_once")), true, broker.Verdict{Decision: broker.Allow, OptionID: "yes"}, "yes"},
		{"own, too wide to allow", wide, true, broker.Verdict{OptionID: "never"}, "never"},
		{"own, nothing to refuse with", theirs("r", option("yes", "allow_once")), false, broker.Verdict{Decision: broker.Cancel}, ""},
	}
	for _, tt := range tests {
		var b broker.Broker
		b.Open(tt.request)
		res, ok := b.Decide("r", tt.allow, "someone")
		if diff := cmp.Diff(tt.verdict, res.Verdict); diff != "" || !ok || res.By != "someone" || res.Shown.OptionID != tt.shown {
			t.Errorf("%s: %v, shown %+v by %q (-want +got):\n%s", tt.name, ok, res.Shown, res.By, diff)
		}
		if _, again := b.Decide("r", tt.allow, "someone"); again {
			t.Errorf("%s: decided twice", tt.name)
		}
		if _, standing := b.Standing(tt.request); standing {
			t.Errorf("%s: a rule is left behind", tt.name)
		}
	}
}

// The page's example is one, and does what the page says.
func TestPolicyPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	p, err := broker.ParsePolicy([]byte(example))
	if err != nil || len(p.Rules) != 5 {
		t.Fatalf("%d rules, error %v", len(p.Rules), err)
	}
	for want, c := range map[broker.Ruling][]broker.Call{
		broker.PolicyDeny:  {file("secrets/a/b"), {Tool: "mcp__files__delete_all", Kind: "other", Cwd: "/w"}},
		broker.PolicyAllow: {file("src/a/b.go"), {Tool: "Read", Kind: "read", Cwd: "/w", Paths: []string{"/etc/hosts"}}, bash("git status -s")},
		broker.PolicyAsk:   {file("doc/a"), bash("git push"), bash("git status; git push")},
	} {
		for _, call := range c {
			if got := p.Rule(call); got != want {
				t.Errorf("%+v: %v, want %v", call, got, want)
			}
		}
	}
}
