package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-server/eventlog/sqlite"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/verify"
)

// stored opens the log in a directory.
func stored(t *testing.T, dir string) func(*gateway.Options) {
	t.Helper()
	log, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return func(o *gateway.Options) { o.Log = log }
}

// TestReadingAcrossARestart: of a log that stores no deltas a base client that begins
// anew has every number, by fillers, and goes on without a hole; a chained one goes on
// at its cursor; a third takes a snapshot, which is what the first has folded.
func TestReadingAcrossARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var head int64
	func() {
		g, err := gateway.New(options(stored(t, dir)))
		if err != nil {
			t.Fatal(err)
		}
		p := as(t, g, map[string]any{"chainedSeq": true, "openHarnesses": true})
		p.run(turn("s", "a", "say hi;flood 50 8;say bye", puppetID))
		p.run(turn("s", "b", "flood 20 8", puppetID))
		_, r := p.replayed("s", 1)
		head = *r.LatestSeq
		p.unjudged().stop()
		if err := g.Shutdown(context.Background(), 0); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	g := open(t, stored(t, dir))
	base := as(t, g, nil)
	past, r := base.replayed("s", 1)
	if *r.FirstAvailableSeq != 1 || *r.LatestSeq < head || int64(len(past)) != *r.LatestSeq {
		t.Fatalf("%d events, from %d to %d, the head was %d", len(past), *r.FirstAvailableSeq, *r.LatestSeq, head)
	}
	if n := fillers(t, past, "acp"); n < 70 {
		t.Errorf("%d fillers", n)
	}
	named := as(t, g, map[string]any{"openHarnesses": true})
	all, _ := named.replayed("s", 1)
	fillers(t, all, puppetID)
	chained := as(t, g, map[string]any{"chainedSeq": true, "events": "subscribed"}).unjudged()
	first, a := chained.subscribe("s", "afterSeq", 30)
	done := chained.synced(a)
	if first.Mode != protocol.SubscribedSuffix || done.Params.Seq != *r.LatestSeq {
		t.Errorf("mode %s, synced at %d", first.Mode, done.Params.Seq)
	}
	if got := chainOf(t, "chained", chained.between("s", a.At, done.At), past); got != 30 {
		t.Errorf("the first follows %d", got)
	}
	snap, a := as(t, g, map[string]any{"events": "subscribed"}).subscribe("s")
	if a.Error != nil || string(snap.State) != folded(t, nil, 0, past) || snap.Seq != *r.LatestSeq {
		t.Errorf("snapshot at %d: %.300s", snap.Seq, a.Raw)
	}
	goesOn(t, base, chained, past)
}

// goesOn runs another turn, which both must be sent without a hole behind what they hold.
func goesOn(t *testing.T, base, chained *peer, past []string) {
	t.Helper()
	base.run(turn("s", "c", "say again", puppetID))
	live := base.envelopes("s")
	if want := fmt.Sprintf(`{"sessionId":"s","seq":%d,`, len(past)+1); !strings.HasPrefix(live[0], want) {
		t.Errorf("behind %d events comes %s", len(past), live[0])
	}
	chained.turnEnded("s", "c")
	chainOf(t, "chained", chained.envelopes("s"), slices.Concat(past, live))
}

// TestReadingAfterACrash: numbers that a crash has skipped are filled as deltas are, and
// what a base client is shown of a turn that the crash has cut breaks no law.
func TestReadingAfterACrash(t *testing.T) {
	t.Parallel()
	dir, left := t.TempDir(), t.TempDir()
	p := as(t, open(t, stored(t, dir)), nil)
	p.run(turn("s", "a", "say hi", puppetID))
	p.begin(turn("s", "b", "flood 50 8;open 20 8;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePartDelta) bool {
		d, ok := e.Delta.(*protocol.TextDelta)
		return ok && strings.HasSuffix(d.Text, "19 ") && e.OutputIndex > 0
	})
	for _, name := range []string{"log.db", "log.db-wal"} { // what a crash would leave now
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = p.call("turn/cancel", map[string]any{"sessionId": "s"})
	p.turnEnded("s", "b")

	base := as(t, open(t, stored(t, left)), nil)
	past, r := base.replayed("s", 1)
	fillers(t, past, "acp")
	if *r.LatestSeq != int64(len(past)) || *r.LatestSeq < 1_000 {
		t.Errorf("%d events up to %d: no number was skipped", len(past), *r.LatestSeq)
	}
	base.run(turn("s", "c", "say again", puppetID))
	whole := slices.Concat(past, base.envelopes("s"))
	for _, o := range []verify.Options{{}, {Base: true}} {
		judge := verify.New(o)
		var found []verify.Violation
		for _, e := range whole {
			found = append(found, judge.AddRaw([]byte(e))...)
		}
		for _, v := range append(found, judge.Finish()...) {
			t.Errorf("%+v: %s at %d: %s", o, v.Rule, v.Index, v.Message)
		}
	}
}
