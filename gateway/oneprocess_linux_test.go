package gateway_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

// Law 96: the process of a session that takes the place of another starts when that
// one is gone, however long it takes to go.
func TestLaw96_oneProcess(t *testing.T) {
	t.Parallel()
	room := filepath.Join(t.TempDir(), "room")
	// Who comes takes the room, and gives it back some time after its harness.
	const script = `mkdir "$1" || : >"$1.shared"
"$0" puppet
sleep 0.2
rmdir "$1"`
	p := connect(t, open(t, pup(func(p *puppet) { p.restart = true }), func(o *gateway.Options) {
		o.Harnesses[1].Path, o.Harnesses[1].Args = "/bin/sh", []string{"-c", script, os.Args[0], room}
	}), gateway.ConnectOptions{})
	for i := range 3 {
		id := strconv.Itoa(i)
		if end := p.run(turn("s", id, "say hi", puppetID, "model", "m"+id)); end.StopReason != protocol.StopEndTurn {
			t.Errorf("turn %s ended %s", id, end.StopReason)
		}
	}
	if _, err := os.Stat(room + ".shared"); err == nil {
		t.Error("two processes ran at a time")
	}
}
