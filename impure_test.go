package agentserver

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A pure package takes time, ids and entropy as arguments and gives back what is
// to be done. What it must not hold is listed here; time.Time and time.Duration
// as values are fine, and so is a rand.Rand that was seeded by the caller.

// impureImports are refused whole, with everything below them.
var impureImports = []string{"C", "crypto/rand", "io/ioutil", "log", "net/http", "os", "sync", "syscall"}

// clockNames are what of package time reads a clock or waits.
var clockNames = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

// seededNames are what of math/rand works on a source that is given; all other
// functions draw from the process's own.
var seededNames = []string{"New", "NewSource", "NewZipf", "NewPCG", "NewChaCha8", "Rand", "Source", "Source64", "Zipf", "PCG", "ChaCha8"}

// impurities is every fault of one file of a pure package.
func impurities(fset *token.FileSet, file *ast.File) []string {
	var faults []string
	report := func(pos token.Pos, what string) {
		faults = append(faults, fmt.Sprintf("%s: a pure package has %s", fset.Position(pos), what))
	}
	local := map[string]string{}
	for _, spec := range file.Imports {
		noteImport(spec, local, report)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if what := impureNode(n, local); what != "" {
			report(n.Pos(), what)
		}
		return true
	})
	return faults
}

// noteImport reports an import that is refused whole and remembers the name by
// which the file speaks of any other.
func noteImport(spec *ast.ImportSpec, local map[string]string, report func(token.Pos, string)) {
	imported, _ := strconv.Unquote(spec.Path.Value)
	for _, bad := range impureImports {
		if imported == bad || strings.HasPrefix(imported, bad+"/") {
			report(spec.Pos(), "an import of "+imported)
		}
	}
	name := strings.TrimSuffix(imported, "/v2")
	name = path.Base(name)
	if spec.Name != nil {
		name = spec.Name.Name
	}
	if name == "." {
		// Names without a package before them could not be told apart.
		report(spec.Pos(), "a dot import of "+imported)
	}
	local[name] = imported
}

// impureNode says what is impure in one node; "" where nothing is.
func impureNode(n ast.Node, local map[string]string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.ChanType:
		return "a channel type"
	case *ast.SendStmt:
		return "a channel send"
	case *ast.SelectStmt:
		return "a select statement"
	case *ast.UnaryExpr:
		return receive(n)
	case *ast.SelectorExpr:
		return impureName(n, local)
	}
	return ""
}

// receive says whether the operator is <-.
func receive(n *ast.UnaryExpr) string {
	if n.Op == token.ARROW {
		return "a channel receive"
	}
	return ""
}

// impureName judges pkg.Name by the package that pkg stands for in this file.
func impureName(n *ast.SelectorExpr, local map[string]string) string {
	pkg, ok := n.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name := n.Sel.Name
	switch imported := local[pkg.Name]; imported {
	case "time":
		if slices.Contains(clockNames, name) {
			return "time." + name
		}
	case "math/rand", "math/rand/v2":
		if !slices.Contains(seededNames, name) {
			return imported + "." + name
		}
	}
	return ""
}
