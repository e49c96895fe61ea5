package claudecode

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page says how each thing that the CLI says is read, and what shows it.
const page = "../../docs/harnesses/claude-code.md"

// evidence are the tests and the recordings that there are.
func evidence(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "../../e2e/*_test.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(text, -1) {
				found[string(m[1])] = true
			}
		}
	}
	dirs, _ := filepath.Glob("../../fixtures/claude-code/*/native.jsonl")
	for _, dir := range dirs {
		found[filepath.Base(filepath.Dir(dir))] = true
	}
	return found
}

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	anyTest   = regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	separator = regexp.MustCompile(`^\|[-|]+\|$`)
)

// Every row of the page names a test or a recording that there is, or says why not.
func TestPageNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	there, rows := evidence(t), 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		for _, m := range anyTest.FindAllStringSubmatch(line, -1) {
			if !there[m[1]] {
				t.Errorf("no %s: %s", m[1], line)
			}
		}
		if !strings.HasPrefix(line, "|") || separator.MatchString(line) || strings.HasSuffix(line, "shown by |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		spans := codeSpan.FindAllStringSubmatch(last, -1)
		reason, ignored := strings.CutPrefix(last, "ignored: ")
		if ignored == (len(spans) > 0) || ignored && len(reason) < 10 {
			t.Errorf("neither shown nor ignored for a reason: %s", line)
		}
		for _, m := range spans {
			if !there[m[1]] {
				t.Errorf("no %s: %s", m[1], line)
			}
		}
	}
	if rows < 90 {
		t.Errorf("only %d rows were found", rows)
	}
}

// Every type of line that the translator knows is on the page.
func TestPageNamesEveryLine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range codeSpan.FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	for name := range lineHandlers {
		if name != "system" && name != "control_request" && !named[name] {
			t.Errorf("line type %s is not on the page", name)
		}
	}
	for name := range systemHandlers {
		if !named["system/"+name] {
			t.Errorf("system line %s is not on the page", name)
		}
	}
}
