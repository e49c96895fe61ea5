package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"same", "a\nb\n", "a\nb\n", []string{" a", " b"}},
		{"new file", "", "a\nb\n", []string{"+a", "+b"}},
		{"emptied", "a\n", "", []string{"-a"}},
		{"changed", "1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nx\n5\n6\n7\n", []string{" 2", " 3", "-4", "+x", " 5", " 6"}},
		{"inserted", "a\nb\n", "a\nx\nb\n", []string{" a", "+x", " b"}},
		{"repeated lines", "a\na\n", "a\na\na\n", []string{" a", " a", "+a"}},
		{"last newline", "a", "a\n", []string{" a"}},
	} {
		if diff := cmp.Diff(c.want, difference(c.old, c.new)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestDifferenceIsWhole: what is shown as removed and added turns the old text
// into the new one.
func TestDifferenceIsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", ""})
		old := rapid.SliceOfN(line, 0, 12).Draw(t, "old")
		new := rapid.SliceOfN(line, 0, 12).Draw(t, "new")
		text := func(lines []string) string {
			if len(lines) == 0 {
				return ""
			}
			return strings.Join(lines, "\n") + "\n"
		}
		shown := difference(text(old), text(new))
		var gone, came []string
		for _, l := range shown {
			if l[0] != '+' {
				gone = append(gone, l[1:])
			}
			if l[0] != '-' {
				came = append(came, l[1:])
			}
		}
		was, is := "\n"+text(old), "\n"+text(new)
		if !strings.Contains(was, text(gone)) || strings.Replace(was, "\n"+text(gone), "\n"+text(came), 1) != is && !oneOf(was, is, text(gone), text(came)) {
			t.Fatalf("%q → %q is shown as %q", old, new, shown)
		}
	})
}

// oneOf: some place of the removed lines, replaced, gives the new text.
func oneOf(was, is, gone, came string) bool {
	for at := 0; at+len(gone) <= len(was); at++ {
		if was[at:at+len(gone)] == gone && was[:at]+came+was[at+len(gone):] == is {
			return true
		}
	}
	return false
}

func TestClipLines(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 5 {
		lines = append(lines, fmt.Sprint(i))
	}
	if diff := cmp.Diff(lines, clipLines(lines, 5)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"0", "1", "… 3 more lines"}, clipLines(lines, 2)); diff != "" {
		t.Error(diff)
	}
	if lines[2] != "2" {
		t.Error("the list itself was written to")
	}
}
