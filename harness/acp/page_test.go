package acp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPage holds the page of ACP to what is there: every test and fixture that it
// names exists, and every row names one or says why it is ignored.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/harnesses/acp.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsIn(t, ".")
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if !slices.Contains(tests, m[1]) {
			t.Errorf("there is no %s", m[1])
		}
	}
	for _, fixture := range regexp.MustCompile(`fixtures/[\w-]+/\w+`).FindAllString(string(page), -1) {
		if _, err := os.Stat(filepath.Join("../..", fixture, "native.jsonl")); err != nil {
			t.Error(err)
		}
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(line, "| ---") || strings.Contains(line, "held by") {
			continue // no row, or one of another table
		}
		rows++
		held := strings.Contains(cells[3], "Test") || strings.Contains(cells[3], "fixtures/")
		if !held && !strings.Contains(cells[2]+cells[3], "ignored: ") {
			t.Errorf("nothing holds %s", line)
		}
	}
	if rows < 60 {
		t.Errorf("%d rows", rows)
	}
}

// testsIn are the names of the tests of a package.
func testsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
