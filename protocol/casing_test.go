package protocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Law 2 of the wire: values are snake_case, members camelCase, event types
// dotted. Law 9: one test walks every word and fails on a breach. It reads the
// package's own sources, so a constant or a member added tomorrow is held to it.

var (
	snake  = regexp.MustCompile(`^_?[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	camel  = regexp.MustCompile(`^(_meta|[a-z][a-z0-9]*([A-Z][a-z0-9]*)*)$`)
	dotted = regexp.MustCompile(`^[a-z]+(\.[a-z]+)*$`)
	kebab  = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	method = regexp.MustCompile(`^[a-z]+(/[a-z]+)?$`)
	ours   = regexp.MustCompile(`^agent-server/[a-z][a-zA-Z]*$`)
)

// shapes gives the constants of a type another shape than snake_case. Harness
// ids and modelSwitch are the two exceptions of law 2.
var shapes = map[string]*regexp.Regexp{"EventType": dotted, "HarnessID": kebab, "ModelSwitch": kebab}

// sources parses the package without its tests.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// constants lists the exported string constants: name → type and value.
func constants(t *testing.T) map[string][2]string {
	found := map[string][2]string{}
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if v, ok := stringValue(spec, i); ok && name.IsExported() {
					found[name.Name] = [2]string{typeName(spec), v}
				}
			}
			return true
		})
	}
	return found
}

func stringValue(spec *ast.ValueSpec, i int) (string, bool) {
	if i >= len(spec.Values) {
		return "", false
	}
	lit, ok := spec.Values[i].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	v, err := strconv.Unquote(lit.Value)
	return v, err == nil
}

func typeName(spec *ast.ValueSpec) string {
	if id, ok := spec.Type.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// shapeOf is what a constant's value must look like.
func shapeOf(name, kind string) *regexp.Regexp {
	switch {
	case shapes[kind] != nil:
		return shapes[kind]
	case strings.HasPrefix(name, "Method"), strings.HasPrefix(name, "Notification"):
		return method
	case strings.HasPrefix(name, "Meta"):
		return ours
	}
	return snake
}

func TestWireLaw9_everyValueHasItsCase(t *testing.T) {
	t.Parallel()
	all := constants(t)
	if len(all) < 100 {
		t.Fatalf("only %d constants found", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		kind, value := all[name][0], all[name][1]
		if shape := shapeOf(name, kind); !shape.MatchString(value) {
			t.Errorf("%s %s = %q breaks law 2: want %s", kind, name, value, shape)
		}
	}
}

func TestWireLaw9_everyMemberHasItsCase(t *testing.T) {
	t.Parallel()
	members := 0
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			members++
			if !camel.MatchString(name) {
				t.Errorf("member %q breaks law 2: want %s", name, camel)
			}
			return true
		})
	}
	if members < 200 {
		t.Fatalf("only %d members found", members)
	}
}

// TestWireLaw9_codecSpellsMembersAlike: a name in a decoder or an encoder is the
// name of some struct's member. (That it is the right one is for the test that
// ties the encoders, and for the round trip.)
func TestWireLaw9_codecSpellsMembersAlike(t *testing.T) {
	t.Parallel()
	members := map[string]bool{"type": true, "status": true, "input": true, "stack": true, "raw": true, "jsonrpc": true, "method": true, "params": true}
	var used []string
	key := regexp.MustCompile(`"([^"]*)":`)
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if n.Tag != nil {
					tag, _ := strconv.Unquote(n.Tag.Value)
					name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
					members[name] = true
				}
			case *ast.BasicLit:
				for _, m := range key.FindAllStringSubmatch(n.Value, -1) {
					used = append(used, m[1])
				}
			case *ast.CallExpr:
				used = append(used, memberRead(n)...)
			}
			return true
		})
	}
	if len(used) < 200 {
		t.Fatalf("only %d names found", len(used))
	}
	for _, name := range used {
		if !members[name] && name != "supported" {
			t.Errorf("the codec spells a member %q that no struct has", name)
		}
	}
}

// memberRead is the name that a call like need(o, "name", …) reads.
func memberRead(call *ast.CallExpr) []string {
	fn, ok := call.Fun.(*ast.Ident)
	if !ok || !slices.Contains([]string{"need", "maybe", "orZero"}, fn.Name) {
		return nil
	}
	lit, ok := call.Args[1].(*ast.BasicLit)
	if !ok {
		return nil
	}
	name, _ := strconv.Unquote(lit.Value)
	return []string{name}
}

// TestRegistryIsComplete: every type that has a constant is decoded, unless it
// is one of those that were added and stay unknown.
func TestRegistryIsComplete(t *testing.T) {
	t.Parallel()
	added := map[string]bool{"turn.queued": true, "turn.unqueued": true, "session.updated": true, "plan": true}
	for name, c := range constants(t) {
		kind, value := c[0], c[1]
		known := true
		switch kind {
		case "EventType":
			_, read := events.named([]byte(value))
			known = read != nil
		case "PartType":
			_, read := parts.named([]byte(value))
			known = read != nil
		default:
			continue
		}
		if known == added[value] {
			t.Errorf("%s = %q: decoded %v, added %v", name, value, known, added[value])
		}
	}
}
