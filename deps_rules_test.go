package agentserver

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tiny is a policy small enough to see in whole: its tests are of the tester.
const tiny = `
low  | pure   | -       | -
mid  | pure   | low     | codec
high | io     | low mid | zap
top  | wiring | *       | -
`

// faultsOf checks one source as a file of the package at dir.
func faultsOf(t *testing.T, dir, source string) []string {
	t.Helper()
	p, err := parsePolicy(tiny)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p.check(dir, fset, file)
}

func TestEachImportRuleFires(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, dir, imported string
		want                string // "": allowed
	}{
		{"in its line", "mid", "agent-server/low", ""},
		{"a star takes what stands above", "top", "agent-server/high", ""},
		{"the standard library", "low", "net/url", ""},
		{"a third party in its line", "mid", "github.com/go-json-experiment/json", ""},
		{"a package of that third party", "mid", "github.com/go-json-experiment/json/jsontext", ""},
		{"a package below it", "low", "agent-server/mid", "not in its line"},
		{"above it, but not in its line", "top", "agent-server/elsewhere", "not in its line"},
		{"itself", "high", "agent-server/high", "not in its line"},
		{"a third party not in its line", "low", "go.uber.org/zap", "third party"},
		{"one whose path only begins alike", "high", "go.uber.org/zapper", "third party"},
		{"a package without a line", "new", "fmt", "no line in the policy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			faults := faultsOf(t, tt.dir, "package p\nimport _ \""+tt.imported+"\"\n")
			expectFault(t, faults, tt.want)
		})
	}
}

// expectFault wants exactly one fault that says want; none where want is "".
func expectFault(t *testing.T, faults []string, want string) {
	t.Helper()
	if want == "" {
		if len(faults) > 0 {
			t.Errorf("faults %q, want none", faults)
		}
		return
	}
	if len(faults) != 1 || !strings.Contains(faults[0], want) {
		t.Errorf("faults %q, want one that says %q", faults, want)
	}
}

func TestEachPurityRuleFires(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, source string
		want         string // "": pure
	}{
		{"go statement", `func f() { go f() }`, "a go statement"},
		{"channel type", `var c chan int`, "a channel type"},
		{"one-way channel type", `func f(c <-chan int) {}`, "a channel type"},
		{"channel made", `func f() { _ = make(chan int) }`, "a channel type"},
		{"send", `func f() { done() <- 1 }`, "a channel send"},
		{"receive", `func f() { <-done() }`, "a channel receive"},
		{"select", `func f() { select {} }`, "a select statement"},
		{"sync", `import "sync"`, "an import of sync"},
		{"sync/atomic", `import "sync/atomic"`, "an import of sync/atomic"},
		{"os", `import "os"`, "an import of os"},
		{"os/exec", `import "os/exec"`, "an import of os/exec"},
		{"crypto/rand", `import r "crypto/rand"`, "an import of crypto/rand"},
		{"log", `import "log/slog"`, "an import of log/slog"},
		{"a name that only begins alike", `import "osx"`, ""},
		{"dot import", `import . "time"`, "a dot import of time"},
		{"rand of the process", "import \"math/rand\"\nvar n = rand.Intn(3)", "math/rand.Intn"},
		{"rand of the process, second version", "import \"math/rand/v2\"\nvar n = rand.N(3)", "math/rand/v2.N"},
		{"rand of the process, renamed", "import dice \"math/rand/v2\"\nvar n = dice.IntN", "math/rand/v2.IntN"},
		{"rand with a source", "import \"math/rand/v2\"\nvar r *rand.Rand = rand.New(rand.NewPCG(1, 2))", ""},
		{"the same name of another package", "import \"example/rand\"\nvar n = rand.IntN(3)", ""},
		{"time as a value", "import \"time\"\nvar d = 3 * time.Second\nfunc f(t time.Time) {}", ""},
		{"a method named as the clock", "func f(t clock) { t.Now() }", ""},
	}
	for _, name := range clockNames {
		tests = append(tests, struct{ name, source, want string }{
			"time." + name, "import clock \"time\"\nvar f = clock." + name, "time." + name,
		})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expectFault(t, faultsOf(t, "low", "package p\n"+tt.source+"\n"), tt.want)
		})
	}
}

func TestOnlyPurePackagesAreHeldToPurity(t *testing.T) {
	t.Parallel()
	const source = "package p\nimport \"os\"\nfunc f() { go os.Exit(0) }\n"
	if faults := faultsOf(t, "high", source); len(faults) > 0 {
		t.Errorf("faults in a package that does I/O: %q", faults)
	}
	if faults := faultsOf(t, "mid", source); len(faults) != 2 {
		t.Errorf("faults in a pure package: %q, want 2", faults)
	}
}

func TestThePolicyIsChecked(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"a package from below", "a | pure | b | -\nb | pure | - | -", "b does not stand above it"},
		{"itself", "a | pure | a | -", "a does not stand above it"},
		{"twice", "a | pure | - | -\na | pure | - | -", "a has two lines"},
		{"a kind that is none", "a | clean | - | -", `unknown kind "clean"`},
		{"a third party that is none", "a | pure | - | left-pad", `unknown third party "left-pad"`},
		{"a cell too few", "a | pure | -", "3 cells"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parsePolicy(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// Files of other systems are read, tests and foreign directories are not.
func TestWhichSourcesAreRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, source := range map[string]string{
		"a/plain.go":           "package a",
		"a/tagged.go":          "//go:build neverset\n\npackage a",
		"a/file_windows.go":    "package a",
		"a/plain_test.go":      "package a",
		"a/testdata/x.go":      "not Go at all",
		"a/b/deep.go":          "package b",
		".hidden/x.go":         "not Go at all",
		"_old/x.go":            "not Go at all",
		"node_modules/m/x.go":  "not Go at all",
		"othermodule/go.mod":   "module other",
		"othermodule/x/y/z.go": "not Go at all",
		"tests/only_test.go":   "package tests",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var dirs []string
	err := eachSource(root, func(dir string, _ *token.FileSet, _ *ast.File) { dirs = append(dirs, dir) })
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dirs)
	if want := []string{"a", "a", "a", "a/b"}; !slices.Equal(dirs, want) {
		t.Errorf("sources of %q were read, want %q", dirs, want)
	}
}

func TestSourceThatDoesNotParseFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "x.go"), []byte("package"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := eachSource(root, func(string, *token.FileSet, *ast.File) {})
	if err == nil || !strings.Contains(err.Error(), "x.go") {
		t.Errorf("error %v, want one that names the file", err)
	}
}
