package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	write("x/source_test.go", "package x\n\nimport (\n\t\"bytes\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestSource(t *testing.T) {\n"+
		"\tif text, err := os.ReadFile(\"x.go\"); err != nil || bytes.Contains(text, []byte(\"return 4\")) {\n\t\tt.Fatal(err)\n\t}\n}\n")
	head := "# package: ./x\n# test: TestTwo\n--- a/x/x.go\n+++ b/x/x.go\n@@ -1,5 +1,5 @@\n package x\n \n"
	patches := map[string]string{
		"noticed": head + "-func two() int { return 2 }\n+func two() int { return 4 }\n \n func three() int { return 3 }\n",
		"lives":   head + " func two() int { return 2 }\n \n-func three() int { return 3 }\n+func three() int { return 4 }\n",
		"stale":   head + "-func two() int { return 9 }\n+func two() int { return 4 }\n \n func three() int { return 3 }\n",
		"broken":  head + "-func two() int { return 2 }\n+func two() int { return 4.5 }\n \n func three() int { return 3 }\n",
	}
	patches["read"] = "# package: ./x\n# test: TestSource\n# sources: read\n--- a/x/x.go\n+++ b/x/x.go\n@@ -4,2 +4,2 @@\n \n-func three() int { return 3 }\n+func three() int { return 4 }\n"
	patches["unread"] = strings.Replace(patches["read"], "# sources: read\n", "", 1)
	want := map[string]string{"read": "", "unread": "passes without the law", "noticed": "", "lives": "passes without the law", "stale": "does not apply", "broken": "does not compile"}
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

// The flags of rapid go to packages that know them, and to no other.
func TestArguments(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"a/a_test.go": `import "pgregory.net/rapid"`, "b/b_test.go": "// pgregory.net/rapid"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pkg, want := range map[string]bool{"./a": true, "./b": false, "./none": false} {
		args := strings.Join(arguments(root, "overlay", mutant{pkg: pkg, test: "TestX"}), " ")
		if got := strings.Contains(args, "-rapid."); got != want || !strings.Contains(args, "-run=^TestX$ "+pkg) {
			t.Errorf("%s: %s", pkg, args)
		}
	}
}

// law is a row of docs/laws.md that names the tests that hold it.
type law struct {
	number string
	tests  []string
}

// writtenLaws reads the rows of every table.
func writtenLaws(t *testing.T) []law {
	t.Helper()
	text, err := os.ReadFile("../../docs/laws.md")
	if err != nil {
		t.Fatal(err)
	}
	var laws []law
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|.*\|([^|]*)\|$`).FindAllStringSubmatch(string(text), -1) {
		l := law{number: row[1]}
		for _, test := range regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(row[2], -1) {
			l.tests = append(l.tests, test[1])
		}
		laws = append(laws, l)
	}
	if len(laws) < 90 {
		t.Fatalf("only %d laws are written down", len(laws))
	}
	return laws
}

// every reads all mutants of this directory, by the number of their law.
func every(t *testing.T) map[string][]mutant {
	t.Helper()
	all, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]mutant{}
	for _, m := range all {
		number, _, _ := strings.Cut(m.name, "_")
		of[number] = append(of[number], m)
	}
	return of
}

// Every mutant still fits what it breaks; that it also compiles and is noticed is
// for the command to see.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, mutants := range every(t) {
		for _, m := range mutants {
			if _, err := apply(t.Context(), root, t.TempDir(), m); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}

// Every mutant is of a law that is written down, and noticed by a test that its
// row names; a number stands for one law.
func TestMutantsAreOfLaws(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{}
	for _, l := range writtenLaws(t) {
		if _, twice := tests[l.number]; twice {
			t.Errorf("two laws have the number %s", l.number)
		}
		tests[l.number] = append([]string{}, l.tests...)
	}
	for number, mutants := range every(t) {
		for _, m := range mutants {
			if !slices.Contains(tests[number], m.test) {
				t.Errorf("%s: law %s is not held by %s", m.name, number, m.test)
			}
		}
	}
}

// Every test that a law names stands in the package of a mutant that it notices.
func TestLawsHaveMutants(t *testing.T) {
	t.Parallel()
	mutants := every(t)
	for _, l := range writtenLaws(t) {
		for _, test := range l.tests {
			i := slices.IndexFunc(mutants[l.number], func(m mutant) bool { return m.test == test })
			if i < 0 {
				t.Errorf("no mutant of law %s is noticed by %s", l.number, test)
				continue
			}
			if pkg := mutants[l.number][i].pkg; !declares(t, filepath.Join("../..", pkg), test) {
				t.Errorf("law %s: there is no %s in %s", l.number, test, pkg)
			}
		}
	}
}

// declares says whether a package has a test of this name.
func declares(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}
