package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// verdict is what became of a mutant.
type verdict struct {
	mutant mutant
	// fault is why it does not count as noticed; "" where it was.
	fault string
	// output is what the go command said, where that helps.
	output string
}

// String is the verdict as a line, with the output under it where there is a
// fault.
func (v verdict) String() string {
	if v.fault == "" {
		return "noticed  " + v.mutant.name
	}
	return strings.TrimRight(fmt.Sprintf("FAIL     %s: %s\n%s", v.mutant.name, v.fault, v.output), "\n")
}

// judgeAll judges mutants, a bounded number at a time; the verdicts are in their
// order.
func judgeAll(ctx context.Context, root string, mutants []mutant, parallel int) []verdict {
	verdicts := make([]verdict, len(mutants))
	// Places, not mutants, are handed out, so that each verdict finds its own.
	places := make(chan int)
	var workers sync.WaitGroup
	for range max(1, parallel) {
		workers.Go(func() {
			for i := range places {
				verdicts[i] = judge(ctx, root, mutants[i])
			}
		})
	}
	for i := range mutants {
		places <- i
	}
	close(places)
	workers.Wait()
	return verdicts
}

// judge runs the named test under one mutant. The build cache makes the
// unchanged packages free; what is built anew is the mutated package, and what
// imports it on the way to the test.
//
// It fails closed: whatever keeps the test from being run and failing is the
// mutant's fault, so that a law never counts as held because nobody looked.
func judge(ctx context.Context, root string, m mutant) verdict {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return verdict{mutant: m, fault: err.Error()}
	}
	defer os.RemoveAll(dir)
	overlay, err := apply(ctx, root, dir, m)
	if err != nil {
		return verdict{mutant: m, fault: err.Error()}
	}
	args := arguments(root, overlay, m)
	if m.sources {
		// What lies outside of its package the test does not find there.
		if err := copySources(root, dir, m); err != nil {
			return verdict{mutant: m, fault: err.Error()}
		}
		args = append([]string{"test", "-exec=env -C " + filepath.Join(dir, filepath.FromSlash(m.pkg))}, args[1:]...)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return verdict{mutant: m, fault: faultOf(m, string(out), err), output: string(out)}
}

// arguments are those of the go command. That the mutant passes vet is nobody's
// concern, and one failure is enough. A property draws the same values each time;
// where it fails it is neither shrunk, which takes half a minute, nor noted in a
// file beside the test, where it would be tried again ever after.
func arguments(root, overlay string, m mutant) []string {
	args := []string{"test", "-count=1", "-vet=off", "-failfast", "-timeout=120s", "-overlay=" + overlay, "-run=^" + m.test + "$", m.pkg}
	if drawsAtRandom(filepath.Join(root, filepath.FromSlash(m.pkg))) {
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	return args
}

// drawsAtRandom says whether a package's tests are built with rapid: the others
// know none of its flags.
func drawsAtRandom(dir string) bool {
	tests, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is good
	for _, test := range tests {
		text, err := os.ReadFile(test)
		if err == nil && bytes.Contains(text, []byte(`"pgregory.net/rapid"`)) {
			return true
		}
	}
	return false
}

// faultOf reads what the go command said; "" where the test ran and failed. A
// test that hangs or panics has noticed too. One that does not run, or is not
// there, would pass every mutant: that is a fault, as is a patch of which nothing
// can be built.
func faultOf(m mutant, out string, err error) string {
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return err.Error()
	case strings.Contains(out, "[no tests to run]"):
		return "there is no " + m.test
	case err == nil:
		return m.test + " passes without the law"
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return "it does not compile"
	case strings.Contains(out, "--- FAIL: "+m.test) || strings.Contains(out, "panic:"):
		return ""
	}
	return "the go command failed otherwise"
}

// apply patches copies of the touched files in dir, and gives the overlay that
// puts them into place.
func apply(ctx context.Context, root, dir string, m mutant) (overlay string, err error) {
	replace := map[string]string{}
	for _, file := range m.files {
		copied := filepath.Join(dir, filepath.FromSlash(file))
		if err := copyFile(filepath.Join(root, filepath.FromSlash(file)), copied); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = copied
	}
	cmd := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", "-")
	// Outside of any repository git takes the paths as they are.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = bytes.NewReader(m.patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the patch does not apply: %w\n%s", err, out)
	}
	return writeOverlay(dir, replace)
}

// copySources puts the rest of the package beside its patched files: an overlay
// is seen by the compiler alone, so a test that reads sources is run in this copy.
func copySources(root, dir string, m mutant) error {
	sources, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m.pkg), "*.go"))
	if err != nil {
		return fmt.Errorf("listing the sources of %s: %w", m.pkg, err)
	}
	for _, source := range sources {
		copied := filepath.Join(dir, filepath.FromSlash(m.pkg), filepath.Base(source))
		if _, err := os.Stat(copied); err == nil {
			continue // patched
		}
		if err := copyFile(source, copied); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file into a tree that need not be there yet.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copying what a mutant touches: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copying what a mutant touches: %w", err)
	}
	return os.WriteFile(to, text, 0o644)
}

// writeOverlay writes the file that the go command's -overlay takes.
func writeOverlay(dir string, replace map[string]string) (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("encoding the overlay: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// moduleRoot is the directory of the module's go.mod.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
