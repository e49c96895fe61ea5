package demoagent

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestHelpIsThePackageComment: the comment's table is the list that the agent
// gives, line for line.
func TestHelpIsThePackageComment(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	words := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	comment := map[string]bool{}
	for line := range strings.Lines(file.Doc.Text()) {
		comment[words(line)] = true
	}
	for line := range strings.Lines(Help()) {
		if !comment[words(line)] {
			t.Errorf("the package comment has no line %q", words(line))
		}
	}
}

// TestEachScriptHasADialogue: what is in the table is played in a test.
func TestEachScriptIsListed(t *testing.T) {
	t.Parallel()
	help := "\n" + Help() + "\n"
	for _, s := range scripts {
		if !strings.HasPrefix(s.usage, s.name) || !strings.Contains(help, "\n"+s.usage+" ") {
			t.Errorf("the list has no line for %s", s.name)
		}
		if got := chooseScript("  " + s.name + "\tx"); got.name != s.name {
			t.Errorf("the prompt %q chose %q", s.name, got.name)
		}
	}
}
