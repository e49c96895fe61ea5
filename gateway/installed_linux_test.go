package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-server/harness"
	"agent-server/harness/acp"
	"agent-server/protocol"
)

// told is a harness that says how its executable tells of itself.
type told struct {
	harness.Harness
	id      protocol.HarnessID
	install harness.Install
}

func (h told) Info() harness.Info {
	return harness.Info{ID: h.id, Install: h.install, PassEnv: []string{"TOLD_*"}}
}

// script writes an executable of the shell's, which notes each of its starts.
func script(t *testing.T, body string) (path, starts string) {
	t.Helper()
	dir := t.TempDir()
	path, starts = filepath.Join(dir, "cli"), filepath.Join(dir, "starts")
	text := "#!/bin/sh\necho $$ \"$@\" >>" + starts + "\n" + body + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, starts
}

// lines are those of a file; none where there is none.
func lines(path string) []string {
	b, _ := os.ReadFile(path)
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
}

// listing is what harness/list answers.
func listing(t *testing.T, g *Gateway) []protocol.HarnessEntry {
	t.Helper()
	c, said := asking(t, g)
	g.harnessList(c, nil)
	var r protocol.HarnessListResult
	if a := heard(t, said); a.Error != nil || json.Unmarshal(*a.Result, &r) != nil {
		t.Fatalf("harness/list: %+v", a)
	}
	return r.Harnesses
}

// installs makes a gateway of one harness of each executable.
func installs(t *testing.T, environ []string, regs ...Registration) *Gateway {
	t.Helper()
	g, err := New(Options{Harnesses: regs, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.Shutdown(context.Background(), 0), g.Close()); err != nil {
			t.Errorf("ending: %v", err)
		}
	})
	return g
}

func versioned(id protocol.HarnessID) harness.Harness {
	return told{id: id, install: harness.Install{Version: []string{"--version"}, Env: []string{"QUIET=1"}}}
}

// TestLaw187_askedOnceWithLittle: an executable is asked for its version once, in an
// environment without a secret; as another file it is asked again.
func TestLaw187_askedOnceWithLittle(t *testing.T) {
	t.Parallel()
	path, starts := script(t, `env >"$0.env"; cat; echo "some cli"; echo "cli v2.1.332-beta.1 (of 2020)"; echo 9.9`)
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "TOLD_KEY=secret", "OTHER=secret"}
	g := installs(t, environ, Registration{Harness: versioned("a"), Path: path, Args: []string{"sub"}}, Registration{Harness: versioned("b"), Path: path, Args: []string{"sub"}})
	for range 3 {
		for _, e := range listing(t, g) {
			if e.Version == nil || *e.Version != "2.1.332-beta.1" || *e.Path != path {
				t.Fatalf("%s: %+v", e.ID, e)
			}
		}
	}
	if got := lines(starts); len(got) != 1 || !strings.HasSuffix(got[0], "sub --version") {
		t.Errorf("it was started %q", got)
	}
	var names []string
	for _, kv := range lines(path + ".env") {
		if name, _, _ := strings.Cut(kv, "="); !slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, name) { // the shell's own
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"AGENT_SERVER_CHILD", "HOME", "PATH", "QUIET"}, names); diff != "" {
		t.Errorf("its environment (-want +got):\n%s", diff)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	listing(t, g)
	if got := lines(starts); len(got) != 2 {
		t.Errorf("as another file it was started %q", got)
	}
}

// TestVersionThatIsNotSaid: the answer comes in time, without it; what was started is
// ended, and is not started again at once.
func TestVersionThatIsNotSaid(t *testing.T) {
	t.Parallel()
	hangs, hung := script(t, `sleep 1000 & echo $! >>"$0.pid"; wait`)
	fails, failed := script(t, `echo "unexpected argument" >&2; exit 2`)
	g := installs(t, os.Environ(), Registration{Harness: versioned("hangs"), Path: hangs}, Registration{Harness: versioned("fails"), Path: fails},
		Registration{Harness: versioned("gone"), Path: hangs + "/nothing"}, Registration{Harness: told{id: "mute"}, Path: fails})
	g.installed.bound = time.Second // what is started gets to note that it was
	for range 2 {
		for _, e := range listing(t, g) {
			if e.Version != nil || e.Available == (e.ID == "gone") || e.Available == (e.Login == nil) {
				t.Errorf("%s: %+v", e.ID, e)
			}
		}
	}
	g.wg.Wait() // whoever asks has ended what it started
	if a, b := lines(hung), lines(failed); len(a) != 1 || len(b) != 1 {
		t.Errorf("they were started %q, %q", a, b)
	}
	for _, pid := range lines(hangs + ".pid") {
		// One that has ended may wait for its parent, who is not ours.
		if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %s is left: %s", pid, stat)
		}
	}
	g.installed.silent = 0
	listing(t, g)
	if got := lines(failed); len(got) != 2 {
		t.Errorf("later it was started %q", got)
	}
}

// TestListingIsBounded: one bound is for all that does not answer, also for what has
// not been asked yet.
func TestListingIsBounded(t *testing.T) {
	t.Parallel()
	path, starts := script(t, `echo 1.2.3`)
	var regs []Registration
	for _, id := range []protocol.HarnessID{"a", "b", "c"} {
		regs = append(regs, Registration{Harness: versioned(id), Path: path, Args: []string{string(id)}})
	}
	g := installs(t, os.Environ(), regs...)
	g.installed.bound = time.Millisecond
	for range versionsAtOnce { // others are asked, without an end
		g.installed.asking <- struct{}{}
	}
	for _, e := range listing(t, g) {
		if !e.Available || e.Version != nil {
			t.Errorf("%s: %+v", e.ID, e)
		}
	}
	if got := lines(starts); len(got) != 0 {
		t.Errorf("they were started %q", got)
	}
}

// TestListingHoldsUpNobody: while executables do not answer, other methods that wait
// for a place have one, and a shutdown does not wait.
func TestListingHoldsUpNobody(t *testing.T) {
	t.Parallel()
	path, starts := script(t, `sleep 1000`)
	g := installs(t, os.Environ(), Registration{Harness: versioned("a"), Path: path})
	for range 2 * replays {
		c, _ := asking(t, g)
		g.harnessList(c, nil)
	}
	for began := time.Now(); len(lines(starts)) == 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("nothing was asked")
		}
	}
	c, said := asking(t, g)
	g.sessionList(c, []byte(`{}`))
	if r := heard(t, said); r.Error != nil {
		t.Errorf("session/list: %+v", r.Error)
	}
	// Its cleanup ends the gateway, and fails where that takes longer than it may.
}

// TestLogins: a login is found where a child would find it, and nothing is claimed
// that cannot be known.
func TestLogins(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, text := range map[string]string{".cli/auth.json": "{}", ".cli/empty": "", "moved/auth.json": "{}"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	auth := harness.File{Var: "TOLD_DIR", Home: ".cli", Name: "auth.json"}
	file := func(f harness.File) harness.Login {
		return harness.Login{Env: []string{"TOLD_KEY"}, Files: []harness.File{f}}
	}
	tests := map[string]struct {
		login   harness.Login
		environ []string
		want    string
	}{
		"unknown":             {harness.Login{}, nil, "unknown"},
		"needless":            {harness.Login{Needless: true, Env: []string{"TOLD_KEY"}}, []string{"TOLD_KEY=x"}, "not_needed"},
		"a variable":          {file(auth), []string{"TOLD_KEY=x"}, "found TOLD_KEY"},
		"an empty variable":   {file(harness.File{Home: "x", Name: "y"}), []string{"TOLD_KEY="}, "not_found"},
		"none it is given":    {harness.Login{Env: []string{"KEY"}}, []string{"KEY=x"}, "unknown"},
		"a file":              {file(auth), nil, "found " + home + "/.cli/auth.json"},
		"an empty file":       {file(harness.File{Home: ".cli", Name: "empty"}), nil, "not_found"},
		"a directory":         {file(harness.File{Name: ".cli"}), nil, "not_found"},
		"a file that moved":   {file(auth), []string{"TOLD_DIR=" + home + "/moved"}, "found " + home + "/moved/auth.json"},
		"moved to nothing":    {file(auth), []string{"TOLD_DIR=" + home + "/nowhere"}, "not_found"},
		"nobody says where":   {harness.Login{Env: []string{"TOLD_KEY"}}, nil, "unknown"},
		"a home that is none": {file(auth), []string{"HOME=/nowhere"}, "not_found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			g := installs(t, append([]string{"HOME=" + home}, tt.environ...), Registration{Harness: told{id: "x", install: harness.Install{Login: tt.login}}, Path: self})
			e := listing(t, g)[0]
			got := *e.Login
			if e.LoginSource != nil {
				got += " " + *e.LoginSource
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestRegisteredVersion: what the operator knows, nobody is asked.
func TestRegisteredVersion(t *testing.T) {
	t.Parallel()
	path, starts := script(t, `echo 1.2.3`)
	g := installs(t, os.Environ(), Registration{Harness: versioned("a"), Path: path, Version: "dev"},
		Registration{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: path})
	r := listing(t, g)
	if *r[0].Version != "dev" || r[1].Version != nil || *r[1].Login != protocol.LoginNotNeeded || len(lines(starts)) != 0 {
		t.Errorf("%+v, started %q", r, lines(starts))
	}
}
