package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	text := "# package: ./x\n# test: TestLaw1_y\n# breaks: it\n--- a/x/a.go\n+++ b/x/a.go\n@@ -1 +1 @@\n-a\n+b\n--- a/x/b.go\n"
	m, err := parse("1_y", []byte(text))
	if err != nil || m.pkg != "./x" || m.test != "TestLaw1_y" || strings.Join(m.files, " ") != "x/a.go x/b.go" {
		t.Errorf("parsed %+v, %v", m, err)
	}
	for _, cut := range []string{"# package: ./x\n", "# test: TestLaw1_y\n"} {
		if _, err := parse("1_y", []byte(strings.Replace(text, cut, "", 1))); err == nil {
			t.Errorf("a patch without %q is taken", cut)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []mutant{{name: "20_a"}, {name: "20_b"}, {name: "21_c"}}
	for names, want := range map[string]int{"": 3, "20": 2, "21_c": 1} {
		if got, err := choose(all, strings.Fields(names)); err != nil || len(got) != want {
			t.Errorf("%q chooses %d, %v", names, len(got), err)
		}
	}
	if _, err := choose(all, []string{"22"}); err == nil {
		t.Error("a name that nothing has is taken")
	}
	if all[2].name != "21_c" {
		t.Error("the list was changed")
	}
}

func TestFaultOf(t *testing.T) {
	t.Parallel()
	m := mutant{test: "TestLaw1_y"}
	failed := error(&exec.ExitError{})
	tests := []struct {
		name, out string
		err       error
		want      string
	}{
		{"noticed", "--- FAIL: TestLaw1_y (0.00s)", failed, ""},
		{"noticed by a panic", "panic: test timed out after 5m0s", failed, ""},
		{"survived", "ok", nil, "TestLaw1_y passes without the law"},
		{"no test", "ok x 0.1s [no tests to run]", nil, "there is no TestLaw1_y"},
		{"no compile", "FAIL x [build failed]", failed, "it does not compile"},
		{"no command", "", errors.New("not found"), "not found"},
		{"anything else", "FAIL", failed, "the go command failed otherwise"},
	}
	for _, tt := range tests {
		if got := faultOf(m, tt.out, tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A module of its own, in which one mutant is noticed, one is not, and one does
// not apply.
func TestJudge(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code := "package x\n\nfunc two() int { return 2 }\n\nfunc three() int { return 3 }\n"
	write("go.mod", "module m\n\ngo 1.26\n")
	write("x/x.go", code)
	write("x/x_test.go", "package x\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif two() != 2 {\n\t\tt.Fatal(two())\n\t}\n}\n")
	head := "# package: ./x\n# test: TestTwo\n--- a/x/x.go\n+++ b/x/x.go\n@@ -1,5 +1,5 @@\n package x\n \n"
	patches := map[string]string{
		"noticed": head + "-func two() int { return 2 }\n+func two() int { return 4 }\n \n func three() int { return 3 }\n",
		"lives":   head + " func two() int { return 2 }\n \n-func three() int { return 3 }\n+func three() int { return 4 }\n",
		"stale":   head + "-func two() int { return 9 }\n+func two() int { return 4 }\n \n func three() int { return 3 }\n",
		"broken":  head + "-func two() int { return 2 }\n+func two() int { return 4.5 }\n \n func three() int { return 3 }\n",
	}
	want := map[string]string{"noticed": "", "lives": "passes without the law", "stale": "does not apply", "broken": "does not compile"}
	for name, patch := range patches {
		m, err := parse(name, []byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		v := judgeAll(t.Context(), root, []mutant{m}, 1)[0]
		if (v.fault == "") != (want[name] == "") || !strings.Contains(v.fault, want[name]) {
			t.Errorf("%s: %s", name, v)
		}
	}
	if now, err := os.ReadFile(filepath.Join(root, "x/x.go")); err != nil || string(now) != code {
		t.Errorf("the tree was changed: %v", err)
	}
}

// Every mutant of this directory is of a law that is written down.
func TestMutantsAreOfLaws(t *testing.T) {
	t.Parallel()
	all, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	laws, err := os.ReadFile("../../docs/laws.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there is no mutant")
	}
	for _, m := range all {
		number, _, _ := strings.Cut(m.name, "_")
		if !strings.Contains(string(laws), "\n| "+number+" |") {
			t.Errorf("%s is of no law in docs/laws.md", m.name)
		}
		if strings.HasPrefix(m.test, "TestLaw") && !strings.HasPrefix(m.test, "TestLaw"+number+"_") {
			t.Errorf("%s is noticed by the test of another law: %s", m.name, m.test)
		}
	}
}

// Every law of the machine has a mutant that its own test notices.
func TestLawsHaveMutants(t *testing.T) {
	t.Parallel()
	all, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	laws, err := os.ReadFile("../../docs/laws.md")
	if err != nil {
		t.Fatal(err)
	}
	noticed := map[string]bool{}
	for _, m := range all {
		noticed[m.test] = true
	}
	named := regexp.MustCompile("`(TestLaw[0-9]+_[A-Za-z]+)` \\|\n").FindAllStringSubmatch(string(laws), -1)
	if len(named) < 20 {
		t.Errorf("only %d laws name their test", len(named))
	}
	for _, n := range named {
		if !noticed[n[1]] {
			t.Errorf("no mutant is noticed by %s", n[1])
		}
	}
}
