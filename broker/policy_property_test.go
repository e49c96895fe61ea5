package broker_test

import (
	"path"
	"strings"
	"testing"

	"agent-server/broker"
	"agent-server/protocol"

	"pgregory.net/rapid"
)

// allowing is a policy of one rule, which allows.
func allowing(r broker.ToolRule) broker.ToolPolicy {
	r.Ruling = broker.PolicyAllow
	return broker.ToolPolicy{Rules: []broker.ToolRule{r}}
}

// denying is a policy that allows everything but what one rule denies.
func denying(r broker.ToolRule) broker.ToolPolicy {
	r.Ruling = broker.PolicyDeny
	return broker.ToolPolicy{Rules: []broker.ToolRule{r, {Ruling: broker.PolicyAllow}}}
}

// someRule draws a rule with any of the conditions.
func someRule(t *rapid.T) broker.ToolRule {
	return broker.ToolRule{
		Tool:    rapid.SampledFrom([]string{"", "Bash", "B*", "?dit", "*"}).Draw(t, "tool"),
		Kind:    rapid.SampledFrom([]protocol.ToolKind{"", protocol.KindEdit, protocol.KindExecute}).Draw(t, "kind"),
		Path:    rapid.SampledFrom([]string{"", "**", "src/*", "/etc/**"}).Draw(t, "path"),
		Command: rapid.SampledFrom([]string{"", "git", "git log"}).Draw(t, "command"),
	}
}

// someCall draws a call of which more or less is known.
func someCall(t *rapid.T) broker.Call {
	return broker.Call{
		Tool:  rapid.SampledFrom([]string{"", "Bash", "Edit"}).Draw(t, "name"),
		Kind:  rapid.SampledFrom([]protocol.ToolKind{"", protocol.KindEdit, protocol.KindExecute}).Draw(t, "what"),
		Cwd:   rapid.SampledFrom([]string{"", "/w", "/w/", "/", "w"}).Draw(t, "cwd"),
		Paths: rapid.SliceOfN(rapid.SampledFrom([]string{"src/a", "../x", "/etc/x", "~", "$x", ".", "/w/src/b"}), 0, 3).Draw(t, "paths"),
		RawInput: rapid.SampledFrom([]protocol.Object{
			nil, protocol.Object(`{}`), protocol.Object(`[`), protocol.Object(`{"command":"git log"}`), protocol.Object(`{"command":"git log; x"}`),
			protocol.Object(`{"command":["git","log"]}`), protocol.Object(`{"file_path":"/etc/x"}`), protocol.Object(`{"cmd":""}`),
		}).Draw(t, "input"),
	}
}

// A further condition never makes a rule say more: what it allows with one it
// allows without, and so with what it denies.
func TestConditionsOnlyNarrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		narrow, c := someRule(t), someCall(t)
		wide := narrow
		switch rapid.IntRange(0, 3).Draw(t, "dropped") {
		case 0:
			wide.Tool = ""
		case 1:
			wide.Kind = ""
		case 2:
			wide.Path = ""
		default:
			wide.Command = ""
		}
		if allowing(narrow).Rule(c) == broker.PolicyAllow && allowing(wide).Rule(c) != broker.PolicyAllow {
			t.Fatalf("%+v allows %+v, %+v does not", narrow, c, wide)
		}
		if denying(narrow).Rule(c) == broker.PolicyDeny && denying(wide).Rule(c) != broker.PolicyDeny {
			t.Fatalf("%+v denies %+v, %+v does not", narrow, c, wide)
		}
	})
}

// What a rule would allow, the same rule made to deny never lets pass.
func TestDenialsReachAsFarAsAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, c := someRule(t), someCall(t)
		if allowing(r).Rule(c) == broker.PolicyAllow && denying(r).Rule(c) != broker.PolicyDeny {
			t.Fatalf("%+v allows %+v and cannot deny it", r, c)
		}
	})
}

// Rules behind the one that decides change nothing.
func TestFirstRuleIsFinal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p broker.ToolPolicy
		for range rapid.IntRange(1, 5).Draw(t, "rules") {
			r := someRule(t)
			r.Ruling = rapid.SampledFrom([]broker.Ruling{broker.PolicyAsk, broker.PolicyAllow, broker.PolicyDeny}).Draw(t, "ruling")
			p.Rules = append(p.Rules, r)
		}
		c := someCall(t)
		want, decided := p.Rule(c), false
		for n := 1; n <= len(p.Rules) && !decided; n++ {
			got := broker.ToolPolicy{Rules: p.Rules[:n]}.Rule(c)
			if decided = got != broker.PolicyAsk; decided && got != want {
				t.Fatalf("%d rules say %v, all of them %v", n, got, want)
			}
		}
	})
}

// Whatever a command line is made of, one that is allowed by its first words is
// those words and others, and nothing of a shell's.
func TestAllowedCommandsAreOneCommand(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		"git", "log", " ", " ", "\t", "\n", "\r", ";", "&", "&&", "|", "||", "$(", ")", "`", ">", "<", "{", "}", "'", `"`, `\`, "\x00", "-C", "rm",
	})
	rapid.Check(t, func(t *rapid.T) {
		line := "git " + strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "pieces"), "")
		if allowing(broker.ToolRule{Command: "git"}).Rule(bash(line)) != broker.PolicyAllow {
			return
		}
		if strings.ContainsAny(line, ";&|<>(){}$`\n\r\x00") {
			t.Fatalf("%q is allowed", line)
		}
		if words := strings.Fields(line); words[0] != "git" {
			t.Fatalf("%q begins with %q", line, words[0])
		}
	})
}

// matchesPlainly is the plain recursive definition of a path glob.
func matchesPlainly(glob, file []string) bool {
	switch {
	case len(glob) == 0:
		return len(file) == 0
	case glob[0] == "**":
		return matchesPlainly(glob[1:], file) || len(file) > 0 && matchesPlainly(glob, file[1:])
	case len(file) == 0:
		return false
	}
	ok, err := path.Match(glob[0], file[0])
	return ok && err == nil && matchesPlainly(glob[1:], file[1:])
}

func TestPathGlobsFollowTheirDefinition(t *testing.T) {
	t.Parallel()
	globs := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "*", "a", "b*", "?"}), 1, 6)
	files := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "bb", "c"}), 1, 7)
	rapid.Check(t, func(t *rapid.T) {
		glob, name := globs.Draw(t, "glob"), files.Draw(t, "file")
		rule := broker.ToolRule{Path: strings.Join(glob, "/")}
		got := allowing(rule).Rule(file(strings.Join(name, "/"))) == broker.PolicyAllow
		if got != matchesPlainly(glob, name) {
			t.Fatalf("%v matches %v: %v", glob, name, got)
		}
	})
}

// A glob of stars costs no more than the product of both lengths: this one would
// take longer than anybody lives, by going back to each of its stars.
func TestGlobsAreCheap(t *testing.T) {
	t.Parallel()
	stars := strings.Repeat("a*", 60) + "b"
	if (broker.ToolPolicy{Rules: []broker.ToolRule{{Tool: stars, Ruling: broker.PolicyAllow}}}).Rule(broker.Call{Tool: strings.Repeat("a", 400)}) != broker.PolicyAsk {
		t.Error("matches")
	}
	deep := broker.ToolRule{Path: strings.Repeat("**/a/", 60) + "b"}
	if allowing(deep).Rule(file(strings.Repeat("a/", 400)+"c")) != broker.PolicyAsk {
		t.Error("matches")
	}
}

// The order of a call's files, and of its input's members, changes nothing.
func TestOrderOfFilesIsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := someCall(t)
		turned := c
		turned.Paths = nil
		for i := len(c.Paths) - 1; i >= 0; i-- {
			turned.Paths = append(turned.Paths, c.Paths[i])
		}
		r := someRule(t)
		if allowing(r).Rule(c) != allowing(r).Rule(turned) || denying(r).Rule(c) != denying(r).Rule(turned) {
			t.Fatalf("%+v says otherwise of %v and %v", r, c.Paths, turned.Paths)
		}
	})
}

func BenchmarkToolPolicy(b *testing.B) {
	var p broker.ToolPolicy
	for range 100 {
		p.Rules = append(p.Rules, broker.ToolRule{Tool: "mcp__*", Path: "src/**/*.go", Ruling: broker.PolicyDeny})
	}
	p.Rules = append(p.Rules, broker.ToolRule{Tool: "Edit", Path: "**/*.go", Ruling: broker.PolicyAllow})
	c := file("src/a/b/c/d.go")
	c.RawInput = protocol.Encode(map[string]string{"file_path": "/w/src/a/b/c/d.go", "new_string": strings.Repeat("x", 10_000)})
	b.ReportAllocs()
	for b.Loop() {
		if p.Rule(c) != broker.PolicyAllow {
			b.Fatal("not allowed")
		}
	}
}
