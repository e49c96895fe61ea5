package gateway

import (
	"os"
	"strings"
	"testing"
	"time"

	"agent-server/protocol"
)

// TestNobodyThere: once nobody has received a session for a while, what it asks is
// denied, if the operator wants that; who comes back is asked again.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	g.o.DenyWithoutClient, g.clientGrace = true, time.Millisecond
	g.registry.byID[protocol.HarnessDemo].Args = []string{"demo-agent"}
	c, said := asking(t, g)
	text := strings.NewReplacer("/somewhere", os.TempDir(), `"hello"`, `"ask"`).Replace(startParams)
	g.turnStart(c, []byte(text))
	if r := heard(t, said); r.Error != nil {
		t.Fatalf("turn/start: %+v", r.Error)
	}
	resolved := func() bool {
		for after := int64(0); ; {
			records, err := g.log.Read("s", after, replayChunk)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) == 0 {
				return false
			}
			for _, r := range records {
				after = r.Seq
				if line := string(r.Line); strings.Contains(line, "permission.resolved") {
					return strings.Contains(line, `"agent-server/by":"no-client"`)
				}
			}
		}
	}
	c.sub.Close()
	for end := time.Now().Add(time.Minute); !resolved(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the request waits for nobody")
		}
	}
	s := g.lookup("s")
	s.mu.Lock()
	alone := s.alone
	s.mu.Unlock()
	if !alone {
		t.Error("the machine was not told")
	}
	back, _ := asking(t, g)
	s.mu.Lock()
	s.greet()
	if s.alone || len(s.queue) != 1 {
		t.Error("who came back is not greeted")
	}
	s.drain()
	s.mu.Unlock()
	_ = back
}
