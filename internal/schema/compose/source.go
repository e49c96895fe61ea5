package compose

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// The import paths of the packages whose types are described.
const (
	module       = "agent-server"
	protocolPath = module + "/protocol"
	composePath  = module + "/internal/schema/compose"
)

// sources are what reflection cannot see of a package.
type sources struct {
	// comments are the doc comments of types and members, by qualified name.
	comments map[string]string
	// constants are the constants of package protocol, in the order of the files'
	// names and of their lines.
	constants []constant
}

// constant is one constant with a literal value.
type constant struct {
	name string
	// kind is its declared type; "" where it has none.
	kind string
	// value is the literal: a string without its quotes, a number with its sign.
	value string
	// doc is its own comment; "" where only its group has one.
	doc string
}

// readSources reads packages protocol and compose below root, a relative path that
// is "." or climbs.
func readSources(root string) (*sources, error) {
	r := jsonschema.Reflector{}
	// The library names a package by joining a base with the directory as given, so
	// the base stands as deep below the module as root climbs.
	base := path.Join(module, strings.Repeat("x/", strings.Count(filepath.ToSlash(root), "..")))
	for _, pkg := range []string{protocolPath, composePath} {
		dir := filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(pkg, module+"/")))
		if err := r.AddGoComments(base, dir, jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("reading the comments of %s: %w", pkg, err)
		}
	}
	found, err := readConstants(filepath.Join(root, "protocol"))
	if err != nil {
		return nil, err
	}
	return &sources{comments: r.CommentMap, constants: found}, nil
}

// readConstants lists the literal constants of a package without its tests.
func readConstants(dir string) ([]constant, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading constants: %w", err)
	}
	var all []constant
	for _, e := range entries {
		if !isSource(e) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading constants: %w", err)
		}
		all = append(all, constantsOf(file)...)
	}
	return all, nil
}

// isSource says whether a directory entry is a Go file and no test.
func isSource(e fs.DirEntry) bool {
	return strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go")
}

// constantsOf lists the literal constants of one file.
func constantsOf(file *ast.File) []constant {
	var found []constant
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			found = append(found, constantsIn(spec.(*ast.ValueSpec))...)
		}
	}
	return found
}

// constantsIn lists what one line declares: `A, B T = "a", "b"`.
func constantsIn(spec *ast.ValueSpec) []constant {
	kind := ""
	if id, ok := spec.Type.(*ast.Ident); ok {
		kind = id.Name
	}
	var found []constant
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			break
		}
		if value, ok := literal(spec.Values[i]); ok {
			found = append(found, constant{name: name.Name, kind: kind, value: value, doc: strings.TrimSpace(spec.Doc.Text())})
		}
	}
	return found
}

// literal is the value of a string or integer literal; false for anything else.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return e.Value, e.Kind == token.INT
		}
		value, err := strconv.Unquote(e.Value)
		return value, err == nil
	case *ast.UnaryExpr:
		value, ok := literal(e.X)
		return "-" + value, ok && e.Op == token.SUB
	}
	return "", false
}

// words are the values of a vocabulary's constants.
func (s *sources) words(kind string) []string {
	var found []string
	for _, c := range s.constants {
		if c.kind == kind {
			found = append(found, c.value)
		}
	}
	return found
}
