package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent-server/eventlog"
	"agent-server/eventlog/sqlite"
	"agent-server/gateway"
	"agent-server/protocol"
)

// fenced are the engines' gateways on which session "s" has lost its front, and "young"
// has not.
var fenced = map[string]func(t *testing.T) *gateway.Gateway{
	"memory": func(t *testing.T) *gateway.Gateway { g, _ := fencedMemory(t); return g },
	"sqlite": fencedSQLite,
}

// fencedMemory has a small budget, and twelve turns that are more.
func fencedMemory(t *testing.T) (*gateway.Gateway, *eventlog.Memory) {
	log := eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 200 << 10})
	g := open(t, func(o *gateway.Options) { o.Log = log })
	p := as(t, g, nil)
	for i := range 12 {
		p.run(turn("s", fmt.Sprint("t", i), "flood 10 1024", puppetID))
	}
	p.run(turn("young", "t", "say hi", puppetID))
	return g, log
}

// fencedSQLite has taken both sessions in as another log held them: on disk no session
// loses its front otherwise.
func fencedSQLite(t *testing.T) *gateway.Gateway {
	_, from := fencedMemory(t)
	log, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s", "young"} {
		info, err := from.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := from.Range(id)
		in := eventlog.Import{Facts: info.Facts, CreatedAt: 1, UpdatedAt: 2, First: first, Next: info.NextSeq, Admissions: info.Admissions,
			Records: func(yield func(eventlog.Record, error) bool) {
				records, err := from.Read(id, first-1, 64<<20)
				for _, r := range records {
					if r.Durable && !yield(r, err) {
						return
					}
				}
			}}
		if err := log.Import(id, in); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, func(o *gateway.Options) { o.Log = log })
}

// fence gives what is held of "s".
func fence(t *testing.T, p *peer) (first, head int64) {
	t.Helper()
	_, r := p.replayed("s", 1)
	if *r.FirstAvailableSeq < 3 {
		t.Fatalf("nothing was pruned: %d to %d", *r.FirstAvailableSeq, *r.LatestSeq)
	}
	return *r.FirstAvailableSeq, *r.LatestSeq
}

// Law 115: a cursor is served exactly, or it is refused with the numbers: it is
// never moved, and nothing is skipped.
func TestLaw115_fencePosts(t *testing.T) {
	t.Parallel()
	for name, opened := range fenced {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := opened(t)
			subscribeFence(t, g)
			replayFence(t, g)
		})
	}
}

// subscribeFence subscribes at each post.
func subscribeFence(t *testing.T, g *gateway.Gateway) {
	base := connect(t, g, gateway.ConnectOptions{})
	first, head := fence(t, base)
	gone := func(after int64) string {
		return fmt.Sprintf(`-32020 {"afterSeq":%d,"firstAvailableSeq":%d,"latestSeq":%d}`, after, first, head)
	}
	const none = int64(-2) // no cursor
	for _, tt := range []struct {
		after                       int64
		unsaid, auto, never, always string
	}{
		{none, "snapshot", "snapshot", "suffix", "snapshot"},
		{0, "snapshot", "snapshot", gone(0), "snapshot"},
		{first - 2, "snapshot", "snapshot", gone(first - 2), "snapshot"},
		{first - 1, "suffix", "suffix", "suffix", "snapshot"},
		{first, "suffix", "suffix", "suffix", "snapshot"},
		{head - 1, "suffix", "suffix", "suffix", "snapshot"},
		{head, "suffix", "suffix", "suffix", "snapshot"},
		{head + 1, gone(head + 1), gone(head + 1), gone(head + 1), gone(head + 1)},
	} {
		for word, want := range map[string]string{"": tt.unsaid, "auto": tt.auto, "never": tt.never, "always": tt.always} {
			at := post{after: tt.after, first: first, head: head, snapshot: word}
			at.subscribe(t, g, base, want)
		}
	}
	p := as(t, g, chosen).unjudged()
	if r, a := p.subscribe("young", "afterSeq", 0); a.Error != nil || r.Mode != protocol.SubscribedSuffix {
		t.Errorf("after 0 of a whole log: %s", a.Raw)
	}
	if _, a := p.subscribe("unheard"); fault(a) != "-32001" {
		t.Errorf("an unknown session: %s", a.Raw)
	}
	if got := fault(p.call("session/snapshot", map[string]any{"sessionId": "unheard"})); got != "-32001" {
		t.Errorf("its snapshot: %s", got)
	}
}

// post is a place to subscribe at, after -2 being none, and the word on snapshots.
type post struct {
	after, first, head int64
	snapshot           string
}

// subscribe holds a subscription there to what is wanted: a mode, or a refusal.
func (at post) subscribe(t *testing.T, g *gateway.Gateway, base *peer, want string) {
	t.Helper()
	name := fmt.Sprintf("after %d of %d to %d, snapshot %q", at.after, at.first, at.head, at.snapshot)
	p := as(t, g, chosen).unjudged()
	defer p.stop()
	var more []any
	seq := at.head
	if at.after >= 0 {
		more, seq = append(more, "afterSeq", at.after), at.after
	}
	if at.snapshot != "" {
		more = append(more, "snapshot", at.snapshot)
	}
	r, a := p.subscribe("s", more...)
	if a.Error != nil || strings.HasPrefix(want, "-") {
		if got := fault(a); got != want {
			t.Errorf("%s: %.300s, want %s", name, got, want)
		}
		return
	}
	var snap protocol.SessionSnapshotResult
	if want == "snapshot" {
		seq = at.head
		if got := p.call("session/snapshot", map[string]any{"sessionId": "s"}); json.Unmarshal(got.Result, &snap) != nil || snap.State == nil {
			t.Fatalf("session/snapshot: %s", got.Raw)
		}
	}
	if string(r.Mode) != want || r.Seq != seq || string(r.State) != string(snap.State) {
		t.Errorf("%s: mode %s at %d, want %s at %d; state %.200s", name, r.Mode, r.Seq, want, seq, r.State)
	}
	done := p.synced(a)
	if want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"events/synced","params":{"sessionId":"s","seq":%d}}`, at.head); done.Raw != want {
		t.Errorf("%s: %s", name, done.Raw)
	}
	// What the client holds and what it is sent: not one durable event less.
	whole, _ := base.replayed("s", at.first)
	checkSuffix(t, name, p.between("s", a.At, done.At), seq, whole)
}

// checkSuffix holds what a chained client was sent to the whole: its chain begins at
// the cursor, and nothing but what a base client is shown a filler for is missing.
func checkSuffix(t *testing.T, name string, sent []string, seq int64, whole []string) {
	t.Helper()
	have := map[int64]bool{}
	for i, text := range sent {
		env := enveloped(t, text)
		if env.PrevSeq == nil || i == 0 && *env.PrevSeq != seq {
			t.Fatalf("%s: the first that follows %d is %s", name, seq, text)
		}
		have[env.Seq] = true
	}
	for _, text := range whole {
		env := enveloped(t, text)
		if env.Seq > seq && !have[env.Seq] && !strings.Contains(text, protocol.MetaElided) {
			t.Errorf("%s: %s was not sent", name, text)
		}
		delete(have, env.Seq)
	}
	if len(have) > 0 {
		t.Errorf("%s: sent beyond the log: %v", name, have)
	}
}

// replayFence replays from each post, whole and in pages, to clients of each kind.
func replayFence(t *testing.T, g *gateway.Gateway) {
	for kind, capabilities := range map[string]map[string]any{
		"base": nil, "chained": {"chainedSeq": true}, "sparse": {"chainedSeq": true, "deltas": false},
	} {
		p := as(t, g, capabilities)
		first, head := fence(t, p)
		whole, _ := p.replayed("s", 1)
		if got := fault(p.call("events/replay", map[string]any{"sessionId": "s", "fromSeq": 0})); !strings.HasPrefix(got, "-32602 ") {
			t.Errorf("%s: from 0: %s", kind, got)
		}
		for _, from := range []int64{1, first - 1, first, first + 1, head, head + 1, head + 2} {
			name := fmt.Sprintf("%s from %d of %d to %d", kind, from, first, head)
			got, r := p.replayed("s", from)
			if *r.FirstAvailableSeq != first || *r.LatestSeq != head || r.NextSeq != nil {
				t.Errorf("%s: %d to %d, next %v", name, *r.FirstAvailableSeq, *r.LatestSeq, r.NextSeq)
			}
			checkReplay(t, name, got, max(from, first)-1, whole, capabilities != nil)
			for _, limit := range []int{1, 7, len(got) + 1} {
				if pages := paged(t, p, from, limit); !slices.Equal(pages, got) {
					t.Errorf("%s: pages of %d hold %d events, the whole %d, or others", name, limit, len(pages), len(got))
				}
			}
		}
	}
}

// checkReplay holds what was replayed to the whole behind a seq; where it is chained the
// first names that seq, whatever stood there.
func checkReplay(t *testing.T, name string, got []string, after int64, whole []string, chained bool) {
	t.Helper()
	whole = slices.DeleteFunc(slices.Clone(whole), func(e string) bool { return enveloped(t, e).Seq <= after })
	if len(got) != len(whole) {
		t.Errorf("%s: %d events, want %d", name, len(got), len(whole))
		return
	}
	for i := range got {
		env, want := enveloped(t, got[i]), enveloped(t, whole[i])
		if i == 0 && chained && (env.PrevSeq == nil || *env.PrevSeq != after || env.Seq != want.Seq) {
			t.Errorf("%s: the first is %s, behind %d", name, got[i], after)
		}
		if (i > 0 || !chained) && got[i] != whole[i] {
			t.Errorf("%s: event %d is\n\t%s\nwant\n\t%s", name, i, got[i], whole[i])
		}
	}
}

// paged replays in pages.
func paged(t *testing.T, p *peer, from int64, limit int) (all []string) {
	t.Helper()
	for {
		page, r := p.replayed("s", from, "limit", limit)
		if all = append(all, page...); r.NextSeq == nil {
			return all
		}
		if len(page) != limit || *r.NextSeq <= from {
			t.Fatalf("%d events on a page of %d from %d, the next is at %d", len(page), limit, from, *r.NextSeq)
		}
		from = *r.NextSeq
	}
}

// enveloped decodes an envelope.
func enveloped(t *testing.T, text string) protocol.Envelope {
	t.Helper()
	env, err := protocol.DecodeEnvelope([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return env
}
