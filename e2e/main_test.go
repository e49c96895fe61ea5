package e2e

import (
	"net"
	"os"
	"testing"
)

// isolation is why the network is not shut off, or nil when it is.
var isolation error

func TestMain(m *testing.M) {
	if isMCP() {
		return // it has served to the end of its input
	}
	os.Exit(isolated(func() int { defer removeBinary(); return m.Run() }))
}

// requireVar, set to 1, makes missing things failures instead of skips.
const requireVar = "AGENT_SERVER_E2E_REQUIRE"

// missing ends a test that cannot run here.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv(requireVar) == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// A CLI that reaches past the fake model would make tests depend on the world.
func TestOnlyLoopback(t *testing.T) {
	t.Parallel()
	if isolation != nil {
		missing(t, "no network namespace with loopback alone: %v", isolation)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			t.Errorf("interface %s is up", i.Name)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatalf("loopback is not up: %v", err)
	}
	conn.Close()
}
