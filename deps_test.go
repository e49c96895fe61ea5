// Package agentserver holds no code: at the root of the module stands only the
// test of its import policy.
package agentserver

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path that our own packages begin with.
const module = "agent-server"

// policyText is the house's table of packages: one line a package, lowest first.
// A package may import only packages that stand above it and are named in its
// line ("*": everything above it). Third parties are named by the keys of
// modules. A package without a line fails the test, so adding one is a decision
// that shows in a review. Kinds:
//
//	pure     no goroutine, channel, lock, clock, entropy or I/O (see impure_test.go)
//	io       touches the world
//	wiring   joins the others
//	tooling  never part of the product: tests' helpers, generators, measurements
const policyText = `
protocol               | pure    | -                                                        | codec
echo                   | pure    | protocol                                                 | -
seqcursor              | pure    | -                                                        | -
reducer                | pure    | protocol                                                 | codec
broker                 | pure    | protocol                                                 | -
harness                | pure    | protocol                                                 | codec
verify                 | pure    | protocol echo reducer seqcursor                          | -
session                | pure    | protocol echo broker harness                             | -
harness/rpcline        | pure    | protocol harness                                         | codec
harness/claudecode     | pure    | protocol harness harness/rpcline                         | codec
harness/codexappserver | pure    | protocol harness harness/rpcline                         | codec
harness/codexexec      | pure    | protocol harness harness/rpcline                         | codec
harness/acp            | pure    | protocol harness harness/rpcline                         | codec
internal/harnesses     | tooling | protocol harness harness/claudecode harness/codexappserver harness/codexexec harness/acp | -
harness/process        | io      | -                                                        | zap sys
eventlog               | io      | protocol                                                 | -
eventlog/eventlogtest  | tooling | protocol eventlog                                        | cmp
eventlog/sqlite        | io      | protocol eventlog                                        | sqlite
transport/access       | io      | -                                                        | -
transport/rpc          | pure    | protocol                                                 | codec jsonrpc2
eventlog/transfer      | io      | protocol eventlog                                        | -
transport              | io      | protocol transport/access transport/rpc                              | codec jsonrpc2 websocket zap
gateway                | io      | protocol reducer session harness harness/process eventlog | jsonrpc2 zap
client                 | io      | protocol echo seqcursor reducer transport                | codec jsonrpc2
internal/demoagent     | io      | -                                                        | codec
internal/fakemodel     | io      | -                                                        | -
docs/schema            | pure    | -                                                        | -
internal/schema        | pure    | docs/schema                                              | -
internal/schema/compose | tooling | protocol                                                 | codec schema
internal/schema/generate | tooling | internal/schema/compose                                  | -
fixtures/vectors       | tooling | -                                                        | -
fixtures/wire          | tooling | protocol                                                 | -
internal/shrink        | tooling | -                                                        | -
fixtures               | tooling | protocol reducer harness verify session                  | codec
harness/harnesstest    | tooling | protocol reducer harness verify session harness/rpcline fixtures | -
cmd/agent-server       | wiring  | *                                                        | codec cobra jsonrpc2 zap term sys prometheus
internal/mutants       | tooling | -                                                        | -
internal/testlog       | tooling | -                                                        | -
internal/docgen        | tooling | *                                                        | -
bench/crash            | tooling | *                                                        | -
e2e                    | tooling | *                                                        | -
`

// modules are the third parties that the policy's last column may name.
var modules = map[string]string{
	"codec":      "github.com/go-json-experiment/json",
	"cmp":        "github.com/google/go-cmp",
	"cobra":      "github.com/spf13/cobra",
	"jsonrpc2":   "github.com/sourcegraph/jsonrpc2",
	"prometheus": "github.com/prometheus/client_golang",
	"schema":     "github.com/invopop/jsonschema",
	"sqlite":     "zombiezen.com/go/sqlite",
	"sys":        "golang.org/x/sys",
	"term":       "golang.org/x/term",
	"websocket":  "github.com/gorilla/websocket",
	"zap":        "go.uber.org/zap",
}

// line is one line of the policy.
type line struct {
	pure bool
	// ours are the packages of this module that may be imported.
	ours []string
	// third are the third-party modules that may be imported, by path.
	third []string
}

// policy is the table: each package's line, by its path below the module.
type policy map[string]line

// TestImports holds every package of the module to the policy.
func TestImports(t *testing.T) {
	t.Parallel()
	p, err := parsePolicy(policyText)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = eachSource(".", func(dir string, fset *token.FileSet, file *ast.File) {
		seen++
		for _, fault := range p.check(dir, fset, file) {
			t.Error(fault)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no source was found: the test looked in the wrong place")
	}
}

// parsePolicy reads the table; it refuses a line that names a package standing
// below it, so that the order is the proof that imports form no cycle.
func parsePolicy(text string) (policy, error) {
	p := policy{}
	var above []string
	for row := range strings.Lines(strings.TrimSpace(text)) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 {
			return nil, fmt.Errorf("reading the policy: %d cells in %q, want 4", len(cells), row)
		}
		name := strings.TrimSpace(cells[0])
		if _, twice := p[name]; twice {
			return nil, fmt.Errorf("reading the policy: %s has two lines", name)
		}
		l, err := parseLine(cells[1:], above)
		if err != nil {
			return nil, fmt.Errorf("reading the policy's line of %s: %w", name, err)
		}
		p[name] = l
		above = append(above, name)
	}
	return p, nil
}

// parseLine reads kind, own packages and third parties of one line.
func parseLine(cells, above []string) (line, error) {
	kind := strings.TrimSpace(cells[0])
	if !slices.Contains([]string{"pure", "io", "wiring", "tooling"}, kind) {
		return line{}, fmt.Errorf("unknown kind %q", kind)
	}
	ours := names(cells[1])
	if slices.Equal(ours, []string{"*"}) {
		ours = slices.Clone(above)
	}
	for _, name := range ours {
		if !slices.Contains(above, name) {
			return line{}, fmt.Errorf("%s does not stand above it", name)
		}
	}
	var third []string
	for _, name := range names(cells[2]) {
		if modules[name] == "" {
			return line{}, fmt.Errorf("unknown third party %q", name)
		}
		third = append(third, modules[name])
	}
	return line{pure: kind == "pure", ours: ours, third: third}, nil
}

// names are the words of a cell; "-" stands for none.
func names(cell string) []string {
	if strings.TrimSpace(cell) == "-" {
		return nil
	}
	return strings.Fields(cell)
}

// check is every fault of one file of the package at dir, a path below the module.
func (p policy) check(dir string, fset *token.FileSet, file *ast.File) []string {
	l, ok := p[dir]
	if !ok {
		return []string{fmt.Sprintf("%s: package %s has no line in the policy", fset.Position(file.Package), dir)}
	}
	var faults []string
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if why := l.refuses(imported); why != "" {
			faults = append(faults, fmt.Sprintf("%s: %s imports %s: %s", fset.Position(spec.Pos()), dir, imported, why))
		}
	}
	if l.pure {
		faults = append(faults, impurities(fset, file)...)
	}
	return faults
}

// refuses says why the line forbids an import; "" where it allows it.
func (l line) refuses(imported string) string {
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		if !slices.Contains(l.ours, own) {
			return "not in its line of the policy"
		}
		return ""
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, m := range l.third {
		if imported == m || strings.HasPrefix(imported, m+"/") {
			return ""
		}
	}
	return "third party, not in its line of the policy"
}

// eachSource parses every Go file below root that is no test, whatever its build
// tags: what only another system compiles is held to the policy too.
func eachSource(root string, visit func(dir string, fset *token.FileSet, file *ast.File)) error {
	fset := token.NewFileSet()
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return fmt.Errorf("parsing %s: %w", name, err)
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		visit(path.Clean(filepath.ToSlash(rel)), fset, file)
		return err
	})
}

// skipDir is fs.SkipDir for a directory that is no part of the module, by the
// go command's own rules; node_modules is none of ours either.
func skipDir(root, name string) error {
	base := filepath.Base(name)
	if name == root {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" || base == "node_modules" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}
