package eventlogtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog"
)

// parcel is a session as a log of long ago has held it: its front pruned, holes
// where deltas were, also at its end, two encodings, admissions.
func parcel(session string) (m eventlog.Import, records []eventlog.Record) {
	for seq := int64(11); seq < 60; seq++ {
		if seq%4 == 0 || seq > 50 {
			continue
		}
		r := Record(session, seq, seq/10, 30)
		if seq%7 == 0 {
			r.Base = []byte(fmt.Sprintf(`%s{"shown":"otherwise","seq":%d}`+"}\n", eventlog.Prefix, seq))
		}
		records = append(records, r)
	}
	m = eventlog.Import{Facts: eventlog.Facts{Harness: "acp", Cwd: "/a"}, CreatedAt: 1_000, UpdatedAt: 2_000, First: 11, Next: 60,
		Admissions: []eventlog.Admission{{TurnID: "b", Hash: [32]byte{1}}, {TurnID: "a", Hash: [32]byte{2}}}}
	m.Records = giving(records, nil)
	return m, records
}

// giving gives records, and then an error where there is one.
func giving(records []eventlog.Record, fault error) func(func(eventlog.Record, error) bool) {
	return func(yield func(eventlog.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
		if fault != nil {
			yield(eventlog.Record{}, fault)
		}
	}
}

// take imports, or fails the test.
func take(t *testing.T, l eventlog.Log, session string, m eventlog.Import) {
	t.Helper()
	if err := l.(eventlog.Importer).Import(session, m); err != nil {
		t.Fatalf("import: %v", err)
	}
}

// imported: an imported session is what it was, for whoever reads, lists or opens it,
// from every cursor, and goes on. It survives as any other does.
func imported(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "other", 1, 5, 1, 10)
	m, records := parcel("s")
	take(t, l, "s", m)
	check := func() {
		t.Helper()
		info, err := l.Open("s")
		if diff := cmp.Diff(eventlog.Info{NextSeq: m.Next, Admissions: m.Admissions, Facts: m.Facts}, info); err != nil || diff != "" {
			t.Errorf("open: %v (-put +got):\n%s", err, diff)
		}
		page, _, err := l.(eventlog.Catalog).Sessions("", 10)
		if err != nil || len(page) != 2 {
			t.Fatalf("sessions: %+v, %v", page, err)
		}
		want := eventlog.Summary{Session: "s", Facts: m.Facts, First: m.First, Latest: m.Next - 1, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Bytes: page[1].Bytes}
		if page[1] != want || want.Bytes == 0 {
			t.Errorf("listed as %+v, want %+v", page[1], want)
		}
		everyCursor(t, l, m, records)
	}
	check()
	if e.Reopen != nil {
		l = e.Reopen(t, l)
		check()
	}
	fill(t, l, "s", m.Next, m.Next+3, 9, 10)
	if got := read(t, l, "s", m.First-1, 1<<20); len(got) != len(records)+4 {
		t.Errorf("%d events once it goes on, want %d", len(got), len(records)+4)
	}
	if got := seqs(t, l, "other", 0); len(got) != 5 {
		t.Errorf("the other session holds %v", got)
	}
}

// everyCursor reads an imported session from each: a suffix, or a refusal.
func everyCursor(t *testing.T, l eventlog.Log, m eventlog.Import, records []eventlog.Record) {
	t.Helper()
	if first, last, ok := l.Range("s"); first != m.First || last != m.Next-1 || !ok {
		t.Errorf("range %d..%d %v", first, last, ok)
	}
	for after := int64(0); after <= m.Next; after++ {
		if after < m.First-1 {
			if _, err := l.Read("s", after, 100); !errors.Is(err, eventlog.ErrGone) {
				t.Errorf("after %d: %v, want ErrGone", after, err)
			}
			continue
		}
		for len(records) > 0 && records[0].Seq <= after {
			records = records[1:]
		}
		if diff := cmp.Diff(records, read(t, l, "s", after, 100), equalEmpty); diff != "" {
			t.Fatalf("after %d (-put +got):\n%s", after, diff)
		}
	}
}

// equalEmpty: no records are no records.
var equalEmpty = cmp.Transformer("empty", func(rs []eventlog.Record) []eventlog.Record {
	if len(rs) == 0 {
		return nil
	}
	return rs
})

// importFails breaks an import at each of its records, and in each way: nothing of it
// is there, nothing of a session that is there is touched, and a whole one is taken.
func importFails(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fault := errors.New("the file is damaged")
	m, records := parcel("s")
	broken := map[string]eventlog.Import{}
	for n := range records {
		cut := m
		cut.Records = giving(records[:n], fault)
		broken[fmt.Sprint("cut at ", n)] = cut
	}
	for name, change := range map[string]func([]eventlog.Record){
		"doubled":     func(rs []eventlog.Record) { rs[5] = rs[4] },
		"out of turn": func(rs []eventlog.Record) { rs[5], rs[4] = rs[4], rs[5] },
		"a delta":     func(rs []eventlog.Record) { rs[5].Durable = false },
		"too low":     func(rs []eventlog.Record) { rs[0].Seq = m.First - 1 },
		"too high":    func(rs []eventlog.Record) { rs[len(rs)-1].Seq = m.Next },
	} {
		rs := append([]eventlog.Record(nil), records...)
		change(rs)
		changed := m
		changed.Records = giving(rs, nil)
		broken[name] = changed
	}
	broken["nothing in it"] = eventlog.Import{First: 1, Next: 2, Records: giving(nil, nil)}
	broken["no range"] = eventlog.Import{First: 60, Next: 60, Records: m.Records}
	broken["no first"] = eventlog.Import{Next: 60, Records: m.Records}
	for name, m := range broken {
		if err := l.(eventlog.Importer).Import("s", m); err == nil {
			t.Fatalf("%s: it was taken", name)
		}
		unseen(t, Engine{Open: func(*testing.T, int64) eventlog.Log { return l }})
	}
	if page, _, err := l.(eventlog.Catalog).Sessions("", 10); err != nil || len(page) != 0 {
		t.Errorf("%+v is listed, %v", page, err)
	}
	if err := l.(eventlog.Importer).Import("s", broken["cut at 3"]); !errors.Is(err, fault) {
		t.Errorf("the error was %v, want what the records gave", err)
	}
	take(t, l, "s", m)
	if err := l.(eventlog.Importer).Import("s", m); !errors.Is(err, eventlog.ErrExists) {
		t.Errorf("a second import: %v, want ErrExists", err)
	}
	everyCursor(t, l, m, records)
}

// importAgain: a session that was removed comes back, with its numbers, and none that
// was used since is used again; what the log had still to delete of it harms nothing.
func importAgain(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	m, records := parcel("s")
	take(t, l, "s", m)
	fill(t, l, "s", m.Next, 99, 9, 10)
	for range 3 {
		if err := l.(eventlog.Catalog).Remove("s"); err != nil {
			t.Fatal(err)
		}
		take(t, l, "s", m)
		m := m
		m.Next = 100
		everyCursor(t, l, m, records)
		if info, err := l.Open("s"); err != nil || info.NextSeq != 100 || len(info.Admissions) != 2 {
			t.Fatalf("open: %+v, %v: the numbers up to 99 are used", info, err)
		}
		if e.Reopen != nil {
			l = e.Reopen(t, l)
			everyCursor(t, l, m, records)
		}
	}
}
