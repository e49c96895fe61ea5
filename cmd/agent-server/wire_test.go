package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	script "agent-server/fixtures/wire"
	"agent-server/transport"
)

// asCommand is what the command says that a gateway in a test does not: its version,
// and what its further harnesses can do.
var asCommand = strings.NewReplacer(
	`"server":{"name":"agent-server"}`, `"server":{"name":"agent-server","version":"dev"}`,
	`"ifBusy":["reject","queue"]`, `"ifBusy":["reject","queue","steer"]`,
)

// wireScripts are the wire scripts that can be played to the command: after a shutdown
// it is gone, and has not the end of that script to say.
func wireScripts(t *testing.T) map[string]string {
	t.Helper()
	scripts := script.Scripts(t)
	delete(scripts, "shutdown")
	return scripts
}

// TestWireScriptsOnStdio plays fixtures/wire to the command itself, as a subprocess
// that finds no harness but its own.
func TestWireScriptsOnStdio(t *testing.T) {
	t.Parallel()
	for name, path := range wireScripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("agent-server", "serve", "--stdio")
			cmd.Env = append(os.Environ(), "PATH=/no/such/folder", tempDirEnv+"="+t.TempDir())
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }() // of use where the script has failed
			f := transport.NDJSON(stdout, stdin, 64<<20, 0, stdin.Close)
			script.Play(t, script.Over(f), path, asCommand)
			_ = stdin.Close()
			for err == nil {
				_, err = f.Next()
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// TestWireScriptsOnAWebSocket plays them to the command where it listens.
func TestWireScriptsOnAWebSocket(t *testing.T) {
	t.Parallel()
	for name, path := range wireScripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &served{t: t, dir: t.TempDir()}
			s.file = secretFile(t, s.dir, "token")
			s.start(exec.Command("agent-server", "serve", "--listen", "0", "--state-dir", s.dir, "--log", "memory"), "PATH=/no/such/folder")
			s.listens()
			f, err := transport.DialClient(t.Context(), s.url, transport.ClientOptions{TokenFile: s.file, Socket: transport.SocketOptions{CloseTimeout: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			script.Play(t, script.Over(f), path, asCommand)
		})
	}
}
