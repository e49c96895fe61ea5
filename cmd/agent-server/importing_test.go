package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog/sqlite"
	"agent-server/eventlog/transfer"
	"agent-server/protocol"
)

// leftBy plays a turn on a real gateway, ends that, and exports the session.
func leftBy(t *testing.T) (state, file string) {
	t.Helper()
	s := serveOn(t)
	play(t, s.connect(), "s", "think")
	s.ends(syscall.SIGTERM, 0)
	file, talk, code := command(t, "", "sessions", "export", "s", "--state-dir", s.dir)
	if code != 0 {
		t.Fatalf("export: %d %s", code, talk)
	}
	return s.dir, file
}

// TestImport: a session moves to another log, and is the same there to the byte; it
// is shown, served to who was in the middle of it, and goes on.
func TestImport(t *testing.T) {
	t.Parallel()
	was, file := leftBy(t)
	s := serveOn(t)
	if out, talk, code := command(t, file, "sessions", "import", "-", "--state-dir", s.dir); code != exitUsage || !strings.Contains(talk, "a gateway has the log") {
		t.Errorf("under a gateway: %d %s %s", code, out, talk)
	}
	s.ends(syscall.SIGTERM, 0)
	if out, talk, code := command(t, file, "sessions", "import", "-", "--state-dir", s.dir); code != 0 || !strings.HasPrefix(out, `imported "s": `) {
		t.Fatalf("import: %d %s %s", code, out, talk)
	}
	if again, _, _ := command(t, "", "sessions", "export", "s", "--state-dir", s.dir); again != file {
		t.Errorf("it is exported otherwise (-was +is):\n%s", cmp.Diff(file, again))
	}
	for _, args := range [][]string{{"sessions", "show", "s"}, {"sessions", "show", "s", "--json"}, {"sessions", "list", "--json"}} {
		there, _, _ := command(t, "", append(args, "--state-dir", was)...)
		here, talk, code := command(t, "", append(args, "--state-dir", s.dir)...)
		if code != 0 || here != there || here == "" {
			t.Errorf("%q: %d %s (-there +here):\n%s", args, code, talk, cmp.Diff(there, here))
		}
	}
	on := &served{t: t, dir: s.dir, file: s.file}
	on.begin([]string{"serve", "--listen", "0", "--state-dir", s.dir, "--claude-path", "/no/such/cli"})
	on.listens()
	c := on.connect()
	head := latest(t, was)
	cursor := head / 2
	before, first, err := c.Replay(t.Context(), "s", cursor)
	if err != nil || first != 1 || before[0].Seq != cursor || before[len(before)-1].Seq != head {
		t.Fatalf("from %d of %d: %d events, the first held %d, %v", cursor, head, len(before), first, err)
	}
	play(t, c, "s", "think")
	after, _, err := c.Replay(t.Context(), "s", cursor)
	if err != nil || len(after) <= len(before) {
		t.Fatalf("once it has gone on: %d events, %v", len(after), err)
	}
	if diff := cmp.Diff(encodeAll(before), encodeAll(after[:len(before)])); diff != "" {
		t.Errorf("what was imported is served otherwise:\n%s", diff)
	}
	on.ends(syscall.SIGTERM, 0)
	file, _, _ = command(t, "", "sessions", "export", "s", "--state-dir", s.dir)
	if out, talk, code := command(t, file, "verify", "-"); code != 0 {
		t.Errorf("the whole: %d %s %s", code, out, talk)
	}
}

// encodeAll is envelopes as on the wire.
func encodeAll(envs []protocol.Envelope) (all []string) {
	for _, env := range envs {
		all = append(all, string(protocol.AppendEnvelope(nil, env)))
	}
	return all
}

// latest is the last seq of the session in a log.
func latest(t *testing.T, state string) int64 {
	t.Helper()
	l, err := sqlite.Open(filepath.Join(state, "log"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sum, err := transfer.Find(l, "s")
	if err != nil {
		t.Fatal(err)
	}
	return sum.Latest
}

// TestImportKilled: the command is killed in the middle of an import, its file being
// on its way still: nothing of it is there, and it is taken afterwards.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	_, file := leftBy(t)
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := exec.Command("agent-server", "sessions", "import", "-", "--state-dir", dir)
	c.Stdin = r
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	end := strings.LastIndex(strings.TrimSuffix(file, "\n"), "\n")
	if _, err := w.WriteString(file[:end+1]); err != nil {
		t.Fatal(err)
	}
	// It has the log, and waits for the end of the file.
	if !within(func() bool { _, err := os.Stat(filepath.Join(dir, "log", "log.db-wal")); return err == nil }) {
		t.Fatal("it does not open the log")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if out, talk, code := command(t, "", "sessions", "list", "--json", "--state-dir", dir); code != 0 || out != "" {
		t.Errorf("after the kill: %d %s %s", code, out, talk)
	}
	if out, talk, code := command(t, file, "sessions", "import", "-", "--state-dir", dir); code != 0 {
		t.Errorf("afterwards: %d %s %s", code, out, talk)
	}
}

// TestLogTimes: what is listed of an imported session are its own times.
func TestLogTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, file := leftBy(t)
	began := time.Now().UnixMilli()
	if _, talk, code := command(t, file, "sessions", "import", "-", "--state-dir", dir); code != 0 {
		t.Fatalf("%d %s", code, talk)
	}
	l, err := sqlite.Open(filepath.Join(dir, "log"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if sum, err := transfer.Find(l, "s"); err != nil || sum.UpdatedAt >= began || sum.CreatedAt > sum.UpdatedAt {
		t.Errorf("%+v, imported at %d, %v", sum, began, err)
	}
}
