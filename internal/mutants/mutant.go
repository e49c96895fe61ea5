package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one patch and what must notice it.
type mutant struct {
	// name is the file's, without its ending.
	name string
	// pkg is the package to test, as the go command takes it.
	pkg string
	// test is the name of the one test that must fail.
	test string
	// sources: the test reads its package's sources, and must find the patched
	// ones.
	sources bool
	// files are those that the patch touches, relative to the module's root.
	files []string
	// patch is the whole file.
	patch []byte
}

// load reads every patch of a directory, in order of name.
func load(dir string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("listing mutants: %w", err)
	}
	var all []mutant
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading a mutant: %w", err)
		}
		m, err := parse(strings.TrimSuffix(filepath.Base(path), ".patch"), text)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// parse reads one patch: its head's comments, and which files it touches. The
// lines of a diff begin with a sign or a blank, so they are never taken for a
// head.
func parse(name string, text []byte) (mutant, error) {
	m := mutant{name: name, patch: text}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if v, ok := strings.CutPrefix(line, "# package:"); ok {
			m.pkg = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "# test:"); ok {
			m.test = strings.TrimSpace(v)
		}
		m.sources = m.sources || strings.HasPrefix(line, "# sources: read")
		if v, ok := strings.CutPrefix(line, "--- a/"); ok {
			m.files = append(m.files, strings.TrimSpace(v))
		}
	}
	if m.pkg == "" || m.test == "" || len(m.files) == 0 {
		return mutant{}, fmt.Errorf("mutant %s: it must name its package and test and touch a file", name)
	}
	return m, nil
}

// choose picks the named mutants; all, where none is named. A name may be the
// beginning of one.
func choose(all []mutant, names []string) ([]mutant, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []mutant
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !strings.HasPrefix(m.name, name) })
		if len(found) == 0 {
			return nil, fmt.Errorf("no mutant is named %s", name)
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}
