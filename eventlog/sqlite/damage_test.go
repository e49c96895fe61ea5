package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent-server/eventlog"
)

// store makes a log of a few sessions and gives its directory; left open, it is as
// a kill leaves it, its write-ahead log full.
func store(t *testing.T, kill bool) (dir string, sessions []string) {
	t.Helper()
	dir = t.TempDir()
	l := open(t, dir, Options{})
	for i := range 4 {
		s := fmt.Sprint("session-", i)
		sessions = append(sessions, s)
		for seq := int64(1); seq < 60; seq += 3 {
			b := batch(s, seq, 3)
			b.Admission = &eventlog.Admission{TurnID: fmt.Sprint("turn-", seq), Hash: [32]byte{byte(seq)}}
			b.Facts = &eventlog.Facts{Harness: "acp", Cwd: "/work"}
			if err := l.Append(s, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if kill {
		dir = copyOf(t, dir)
	}
	shut(t, l)
	return dir, sessions
}

// content is everything that a log gives; the first error, where it refuses.
func content(dir string, sessions []string) (text string, err error) {
	l, err := Open(dir, Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %x\n", l.ID(), l.HashKey())
	for _, s := range sessions {
		info, err := l.Open(s)
		if err != nil {
			return "", err
		}
		rs, err := all(l, s)
		if err != nil {
			return "", err
		}
		first, last, ok := l.Range(s)
		fmt.Fprintf(&out, "%s %v %d %d %v %v\n", s, info, first, last, ok, rs)
	}
	page, _, err := l.Sessions("", 0)
	fmt.Fprintf(&out, "%v\n", page)
	return out.String(), err
}

// TestLaw106_damagedFile: whatever is garbled or cut off in the file, the log gives
// what was put, or refuses; never anything else.
func TestLaw106_damagedFile(t *testing.T) {
	t.Parallel()
	dir, sessions := store(t, false)
	want, err := content(dir, sessions)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 1000 / thin() {
		file, what := garble(rng, whole)
		if damagedFile(t, file, what, want, sessions) {
			refused++
		}
	}
	for cut := 1; cut < len(whole); cut += 997 * thin() {
		if damagedFile(t, whole[:cut], fmt.Sprint("cut at ", cut), want, sessions) {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed at all")
	}
}

// garble changes a few bytes of a copy.
func garble(rng *rand.Rand, whole []byte) (file []byte, what string) {
	file = bytes.Clone(whole)
	at, n := rng.IntN(len(file)), 1
	if rng.IntN(3) == 0 {
		n = 1 + rng.IntN(600)
	}
	n = min(n, len(file)-at)
	for i := range file[at : at+n] {
		file[at+i] ^= byte(1 + rng.IntN(255))
	}
	return file, fmt.Sprintf("%d bytes garbled at %d", n, at)
}

// damagedFile opens a damaged file; refused says whether that was noticed.
func damagedFile(t *testing.T, file []byte, what, want string, sessions []string) (refused bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, dbName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := content(dir, sessions)
	if err == nil && got != want {
		t.Errorf("%s: the log gives something else, and says nothing", what)
	}
	return err != nil
}

// TestLaw107_damagedTail: a write-ahead log that is cut or garbled at any place
// gives whole steps from the start on; what is damaged before the last steps is
// refused.
func TestLaw107_damagedTail(t *testing.T) {
	t.Parallel()
	dir, sessions := store(t, true)
	db, err := os.ReadFile(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	tail, err := os.ReadFile(filepath.Join(dir, dbName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(wal []byte) string {
		to := t.TempDir()
		err := errors.Join(os.WriteFile(filepath.Join(to, dbName), db, 0o600), os.WriteFile(filepath.Join(to, dbName+"-wal"), wal, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
	last := 0
	for cut := len(tail) / 2; cut <= len(tail); cut += 401 * thin() {
		n := wholeSteps(t, put(tail[:cut]), sessions)
		if n < last {
			t.Errorf("cut at %d it holds %d steps, cut before that %d", cut, n, last)
		}
		last = n
	}
	if n := wholeSteps(t, put(append(bytes.Clone(tail[:len(tail)-3000]), make([]byte, 3000)...)), sessions); n < 4*20-2 {
		t.Errorf("with a garbled end %d of 80 steps are there", n)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 / thin() {
		file, what := garble(rng, tail[:len(tail)*3/4])
		file = append(file, tail[len(tail)*3/4:]...)
		if _, err := Open(put(file), Options{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s of %d: %v, want it refused", what, len(tail), err)
		}
	}
}

// wholeSteps counts the steps that a log holds, and holds them to being whole, and
// to a session's being a prefix of what was put.
func wholeSteps(t *testing.T, dir string, sessions []string) (n int) {
	t.Helper()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Errorf("a damaged tail is refused: %v", err)
		return 0
	}
	defer shut(t, l)
	for _, s := range sessions {
		info, err := l.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := all(l, s)
		if err != nil || len(rs)%3 != 0 || len(rs)/3 != len(info.Admissions) || info.NextSeq != int64(len(rs))+1 {
			t.Errorf("%s holds %d events and %d admissions, next %d, %v", s, len(rs), len(info.Admissions), info.NextSeq, err)
		}
		for i, r := range rs {
			if want := batch(s, int64(i+1), 1).Records[0]; !bytes.Equal(r.Line, want.Line) {
				t.Errorf("%s: place %d holds %s", s, i, r.Line)
			}
		}
		n += len(rs) / 3
	}
	return n
}

// TestLostRows: what SQLite finds in order, and is not: rows that are gone.
func TestLostRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, statement string }{
		{"an event", "DELETE FROM events WHERE place = (SELECT place FROM events LIMIT 1 OFFSET 20)"},
		{"the last event", "DELETE FROM events WHERE place = (SELECT max(place) FROM events WHERE place < 2 << 40)"},
		{"all events", "DELETE FROM events"},
		{"an admission", "DELETE FROM admissions WHERE place = (SELECT max(place) FROM admissions WHERE place < 2 << 40)"},
		{"a session", "DELETE FROM sessions WHERE number = 2"},
		{"the last session", "DELETE FROM sessions WHERE number = 4"},
		{"the identity", "DELETE FROM meta WHERE name = 'id'"},
		{"one event is two", "INSERT INTO events SELECT place + 500, turn, event_at, line, base, sum FROM events LIMIT 1"},
		{"a next seq", "UPDATE sessions SET next = 2 WHERE number = 1"},
		{"events swapped", "UPDATE events SET turn = 7 WHERE place = (1 << 40) + 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, sessions := store(t, false)
			want, err := content(dir, sessions)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := connect(filepath.Join(dir, dbName), "")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(run(conn, tt.statement), conn.Close()); err != nil {
				t.Fatal(err)
			}
			got, err := content(dir, sessions)
			if !errors.Is(err, ErrDamaged) && (err != nil || got != want) {
				t.Errorf("%v, want ErrDamaged", err)
			}
			l, err := Open(dir, Options{})
			if err != nil {
				return
			}
			defer shut(t, l)
			if err := l.Verify(); !errors.Is(err, ErrDamaged) {
				t.Errorf("Verify: %v, want ErrDamaged", err)
			}
		})
	}
}

func TestVerifyWhole(t *testing.T) {
	t.Parallel()
	dir, _ := store(t, true)
	l := open(t, dir, Options{Now: time.Now})
	if err := l.Verify(); err != nil {
		t.Errorf("a log that is whole: %v", err)
	}
}
