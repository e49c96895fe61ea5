package gateway

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agent-server/protocol"
)

// dying makes the gateway's file system one that hangs at its second look, until the
// test ends: a network directory that is away between a turn's look and its start.
func dying(t *testing.T, g *Gateway) {
	t.Helper()
	dead := make(chan struct{})
	var looks atomic.Int64
	g.stat = func(path string) (os.FileInfo, error) {
		if looks.Add(1) == 2 {
			<-dead
			return nil, os.ErrNotExist
		}
		return os.Stat(path)
	}
	t.Cleanup(func() {
		close(dead)
		for _, s := range g.all() {
			for _, c := range s.living() {
				<-c.gone
			}
		}
	})
}

// TestHungSpawn: a start that does not come back costs its turn, in time; the session
// starts nothing behind it, answers all the same, and the gateway's end is bounded.
func TestHungSpawn(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	dying(t, g)
	g.spawnBound, g.closeBound = 20*time.Millisecond, 20*time.Millisecond
	c, said := asking(t, g)
	in := strings.Replace(startParams, "/somewhere", os.TempDir(), 1)
	g.turnStart(c, []byte(in))
	if r := heard(t, said); r.Error != nil {
		t.Fatalf("turn/start: %+v", r.Error)
	}
	ended := func(turn string) string {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			for after := int64(0); ; {
				records, err := g.log.Read("s", after, replayChunk)
				if err != nil {
					t.Fatal(err)
				}
				if len(records) == 0 {
					break
				}
				for _, r := range records {
					after = r.Seq
					if text := string(r.Line); strings.Contains(text, "turn.ended") && strings.Contains(text, `"turnId":"`+turn+`"`) {
						return text
					}
				}
			}
		}
		t.Fatalf("turn %s has not ended", turn)
		return ""
	}
	if got := ended("t"); !strings.Contains(got, "no answer within") || !strings.Contains(got, string(protocol.CategoryProcessExit)) {
		t.Errorf("the turn: %s", got)
	}
	s := g.lookup("s")
	c, said = asking(t, g)
	g.turnStart(c, []byte(strings.Replace(in, `"t"`, `"u"`, 1)))
	if r := heard(t, said); r.Error != nil {
		t.Fatalf("turn/start behind it: %+v", r.Error)
	}
	if got := ended("u"); !strings.Contains(got, "has not come back") {
		t.Errorf("the turn behind it: %s", got)
	}
	c, said = asking(t, g)
	g.sessionClose(c, []byte(`{"sessionId":"s"}`))
	if r := heard(t, said); r.Error != nil {
		t.Errorf("session/close: %+v", r.Error)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := g.Shutdown(ctx, 0); err == nil {
		t.Error("Shutdown says that all is gone")
	}
	if err := s.release(ctx); err == nil || !strings.Contains(err.Error(), "session s") {
		t.Errorf("release: %v", err)
	}
}

// TestCancelOfAStart: a turn whose process is being started is cancelled at once, and
// the process, when it comes, is ended without having been told anything.
func TestCancelOfAStart(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	wait := make(chan struct{})
	var looks atomic.Int64
	g.stat = func(path string) (os.FileInfo, error) {
		if looks.Add(1) > 1 {
			<-wait
		}
		return os.Stat(path)
	}
	g.registry.byID[protocol.HarnessDemo].Args = []string{"demo-agent"}
	c, said := asking(t, g)
	g.turnStart(c, []byte(strings.Replace(startParams, "/somewhere", os.TempDir(), 1)))
	heard(t, said)
	c, said = asking(t, g)
	g.turnCancel(c, []byte(`{"sessionId":"s"}`))
	if r := heard(t, said); r.Error != nil || !strings.Contains(string(*r.Result), "unconfirmed") {
		t.Errorf("turn/cancel: %+v", r)
	}
	close(wait)
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestVagueNames: ids that two processes mint each for itself keep nobody out.
func TestVagueNames(t *testing.T) {
	t.Parallel()
	var n natives
	a, b, c := &child{}, &child{}, &child{}
	if !n.claim("x", a) || n.claim("x", b) {
		t.Error("a native session that is taken was given, or one that is free was not")
	}
	n.name("y", a) // it went on under another name
	if !n.claim("x", b) || n.claim("y", c) {
		t.Error("the name it has left is not free, or the new one is")
	}
	n.name("1", a)
	n.name("1", c)
	if !n.claim("1", &child{}) {
		t.Error("an id that names two sessions keeps a third out")
	}
	n.release(a)
	n.release(b)
	if !n.claim("x", c) || n.claim("x", a) {
		t.Error("what was released is not free, or what is claimed is")
	}
	n.name("", c)
	if n.claim("x", a) {
		t.Error("a session without a name has freed one")
	}
}
