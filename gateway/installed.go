package gateway

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"agent-server/harness"
	"agent-server/harness/process"
	"agent-server/protocol"
)

const (
	// versionBound is how long an executable may take to say its version: some unpack
	// themselves first.
	versionBound = 20 * time.Second
	// versionsAtOnce is how many are asked at a time, for all connections together.
	versionsAtOnce = 2
	// lists is how many harness/list are under way at once.
	lists = 4
	// silentFor is how long one that has not said its version is not asked again.
	silentFor = time.Minute
	// versionLine bounds a line in which a version is looked for.
	versionLine = 4 << 10
)

// installed is what executables have said of themselves. Each is asked once, as long
// as the file is the same: who lists harnesses again and again starts nothing.
type installed struct {
	// bound, silent, listing and asking are the constants above, in force.
	bound, silent   time.Duration
	listing, asking chan struct{}

	// mu guards byFile; an answer is its asker's until done is closed.
	mu     sync.Mutex
	byFile map[file]*answer
}

// file is an executable as it was: a new version of it is another file.
type file struct {
	command       string
	size, changed int64
}

// answer is what one has said; "": nothing that is a version.
type answer struct {
	done    chan struct{}
	version string
	// at is when it was asked.
	at time.Time
}

func newInstalled() *installed {
	return &installed{bound: versionBound, silent: silentFor, listing: make(chan struct{}, lists),
		asking: make(chan struct{}, versionsAtOnce), byFile: map[file]*answer{}}
}

// harnessList says what is configured here, what of it can be run, and what each
// says of itself. What an executable has not said within the bound is left out.
func (g *Gateway) harnessList(c *call, _ []byte) {
	g.asideIn(c, g.installed.listing, protocol.MethodHarnessList, func() {
		entries := make([]protocol.HarnessEntry, len(g.o.Harnesses))
		answers := make([]*answer, len(g.o.Harnesses))
		for i := range g.o.Harnesses {
			reg := &g.o.Harnesses[i]
			entries[i] = g.entry(reg)
			if entries[i].Available && reg.Version == "" {
				answers[i] = g.askVersion(reg, *entries[i].Path)
			}
		}
		late, cancel := context.WithTimeout(context.Background(), g.installed.bound)
		defer cancel()
		for i, a := range answers {
			if a != nil && a.within(late.Done(), c.sub.done) {
				entries[i].Version = given(a.version)
			}
		}
		c.result(protocol.HarnessListResult{Harnesses: entries})
	})
}

// within waits for the answer, no longer than till either channel is closed: one bound
// is for all answers that are waited for.
func (a *answer) within(late, gone <-chan struct{}) bool {
	select {
	case <-a.done:
		return true
	default:
	}
	select {
	case <-a.done:
		return true
	case <-late:
	case <-gone: // nobody is there to be answered
	}
	return false
}

// given is a text that may be missing.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// entry is what is known of a harness without asking it.
func (g *Gateway) entry(r *Registration) protocol.HarnessEntry {
	info := r.Harness.Info()
	e := protocol.HarnessEntry{ID: info.ID, Capabilities: info.Capabilities, TestedVersion: given(info.Install.Tested), Version: given(r.Version)}
	path, err := exec.LookPath(r.command())
	if err != nil { // the entry says which harness it is of
		e.Version, e.Reason = nil, given(err.Error())
		return e
	}
	e.Available, e.Path = true, &path
	word, source := login(info.Install.Login, environment(g.o.Environ, g.o.PassEnv, info, nil, protocol.RunConfig{}))
	e.Login, e.LoginSource = &word, given(source)
	return e
}

// login looks for one in a child's environment and files.
func login(l harness.Login, environ []string) (word, source string) {
	env := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	if l.Needless {
		return protocol.LoginNotNeeded, ""
	}
	for _, name := range l.Env {
		if env[name] != "" {
			return protocol.LoginFound, name
		}
	}
	for _, f := range l.Files {
		path := place(f, env)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return protocol.LoginFound, path
		}
	}
	if len(l.Files) == 0 {
		return protocol.LoginUnknown, ""
	}
	return protocol.LoginNotFound, ""
}

// place is where a user's file is.
func place(f harness.File, env map[string]string) string {
	if dir := env[f.Var]; dir != "" {
		return filepath.Join(dir, f.Name)
	}
	home := env["HOME"]
	if home == "" {
		home = env["USERPROFILE"]
	}
	return filepath.Join(home, f.Home, f.Name)
}

// askVersion asks an executable for its version, unless it has been asked; nil: it has none
// to tell. Whoever asks meanwhile has the same answer.
func (g *Gateway) askVersion(r *Registration, path string) *answer {
	in := r.Harness.Info().Install
	info, err := os.Stat(path)
	if in.Version == nil || err != nil {
		return nil
	}
	args := slices.Concat(r.Args, in.Version)
	key := file{command: strings.Join(append([]string{path}, args...), "\x00"), size: info.Size(), changed: info.ModTime().UnixNano()}
	d := g.installed
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.byFile[key]; a != nil && !a.stale(d.silent) {
		return a
	}
	a := &answer{done: make(chan struct{}), at: time.Now()}
	d.byFile[key] = a
	g.wg.Go(func() {
		defer close(a.done)
		a.version = g.version(process.Spec{Path: path, Args: args, Dir: os.TempDir(), Marker: g.marker(), MaxLineBytes: versionLine,
			Env: environment(g.o.Environ, nil, harness.Info{}, in.Env, protocol.RunConfig{})})
	})
	return a
}

// stale says whether one that has said nothing may be asked again.
func (a *answer) stale(after time.Duration) bool {
	select {
	case <-a.done:
		return a.version == "" && time.Since(a.at) > after
	default:
		return false
	}
}

// version runs an executable until it has said its version, and ends it in any case.
// It is given no key, no variable of its own, no directory of anybody's, and no input.
func (g *Gateway) version(spec process.Spec) string {
	select {
	case g.installed.asking <- struct{}{}:
	case <-g.halted:
		return ""
	}
	defer func() { <-g.installed.asking }()
	var said firstVersion
	proc, err := process.Start(spec, &said)
	if err != nil {
		g.zap.Info("an executable cannot be asked for its version", zap.Error(err))
		return ""
	}
	proc.CloseStdin()
	late := time.NewTimer(g.installed.bound)
	defer late.Stop()
	select {
	case <-proc.Done():
	case <-late.C:
		g.zap.Info("an executable does not say its version in time", zap.String("path", spec.Path))
	case <-g.halted:
	}
	proc.Kill()
	proc.Wait()
	return said.version
}

// firstVersion is the first version that a process prints. Whoever waits for the
// process may read it.
type firstVersion struct{ version string }

// versionForm is what looks like a version, wherever in a line.
var versionForm = regexp.MustCompile(`(?:^|[^0-9A-Za-z.])v?([0-9]+(?:\.[0-9]+)+(?:[-+][0-9A-Za-z.+-]+)?)`)

// Line takes a line of its stdout.
func (v *firstVersion) Line(line []byte) {
	if m := versionForm.FindSubmatch(line); m != nil && v.version == "" {
		v.version = string(m[1])
	}
}

// Dropped: a version is not in a line that long.
func (v *firstVersion) Dropped(int64) {}

// Exited: its code says nothing of what it has printed.
func (v *firstVersion) Exited(process.Status) {}
