package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is our own command, built once for all tests that run it.
var built struct {
	sync.Once
	dir  string
	path string
	err  error
}

// binary is the path of agent-server as it is now.
func binary(t *testing.T) string {
	t.Helper()
	built.Do(func() { built.path, built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// binaryVar names a command that is there already, a release for instance.
const binaryVar = "AGENT_SERVER_E2E_BINARY"

// build needs no network: the modules are there, or this test would not be.
func build() (string, error) {
	if path := os.Getenv(binaryVar); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "agent-server-e2e-")
	if err != nil {
		return "", fmt.Errorf("building agent-server: %w", err)
	}
	built.dir = dir
	path := filepath.Join(dir, "agent-server")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "agent-server/cmd/agent-server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building agent-server: %w\n%s", err, out)
	}
	return path, nil
}

// removeBinary lets what binary has made go.
func removeBinary() {
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
}
