package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog"
	"agent-server/eventlog/eventlogtest"
	"agent-server/eventlog/sqlite"
)

// engines are logs that hold what they are given for good.
var engines = map[string]func(*testing.T) Log{
	"memory": func(*testing.T) Log { return eventlog.NewMemory(eventlog.MemoryOptions{}) },
	"sqlite": func(t *testing.T) Log {
		l, err := sqlite.Open(t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	},
}

// odd is a session id that has to be escaped.
const odd = "s \"1\"\u2028<é>"

// lived gives a log a session that has lived: turns, deltas, an event that is shown
// otherwise, spaces within an event, a pruned front.
func lived(t *testing.T, l Log) {
	t.Helper()
	id, _ := encoded(odd)
	m := eventlog.Import{Facts: eventlog.Facts{Harness: "acp", Cwd: `/a "b" <&>`}, CreatedAt: 5, UpdatedAt: 6, First: 7, Next: 9,
		Admissions: []eventlog.Admission{{TurnID: "t<1>", Hash: [32]byte{1, 2}}, {TurnID: "t2"}},
		Records: func(yield func(eventlog.Record, error) bool) {
			r := event{Session: odd, Seq: 8, Event: []byte(`{"type": "x",  "é":"\u00e9","n":1e400}`), Base: []byte(`{"type":"y"}`), Turn: 2}.record()
			yield(r, nil)
		}}
	if err := l.(eventlog.Importer).Import(odd, m); err != nil {
		t.Fatal(err)
	}
	for seq := int64(9); seq < 40; seq++ {
		line := fmt.Sprintf(`%s{"sessionId":%s,"seq":%d,"event":`, eventlog.Prefix, id, seq)
		r := eventlog.Record{Seq: seq, EventAt: len(line), Line: []byte(line + `{"type":"z"}}}` + "\n"), Durable: seq%5 != 0 && seq < 38, Turn: 3}
		b := eventlog.Batch{Records: []eventlog.Record{r}, Running: 3}
		if seq == 20 {
			b.Admission = &eventlog.Admission{TurnID: "t3", Hash: [32]byte{9}}
		}
		if err := l.Append(odd, b); err != nil {
			t.Fatal(err)
		}
	}
}

func encoded(s string) (string, error) {
	b := head(nil, s, 0)
	return strings.TrimSuffix(strings.TrimPrefix(string(b), `{"sessionId":`), `,"seq":0`), nil
}

// export writes a session, or fails the test.
func export(t *testing.T, l Log, session string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, l, session); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// load imports a file.
func load(l Log, in io.Reader) error {
	f, err := Read(in)
	if err != nil {
		return err
	}
	return l.(eventlog.Importer).Import(f.Session, f.Import)
}

// contents is all that a log says of a session.
func contents(t *testing.T, l Log, session string) (all []any) {
	t.Helper()
	sum, err := Find(l, session)
	if err != nil {
		t.Fatal(err)
	}
	sum.Bytes = 0 // each engine reckons in its own way
	info, err := l.Open(session)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, sum, info)
	for at := sum.First - 1; ; {
		rs, err := l.Read(session, at, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(rs) == 0 {
			return all
		}
		for _, r := range rs {
			if at = r.Seq; r.Durable {
				all = append(all, r)
			}
		}
	}
}

// TestLaw200_exportReturns: what one log has written another one takes, of whatever
// engine; it holds the same then, and writes the same.
func TestLaw200_exportReturns(t *testing.T) {
	t.Parallel()
	for from, open := range engines {
		for to, openOther := range engines {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				l, other := open(t), openOther(t)
				lived(t, l)
				file := export(t, l, odd)
				if err := load(other, bytes.NewReader(file)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(contents(t, l, odd), contents(t, other, odd)); diff != "" {
					t.Errorf("it is held otherwise (-from +to):\n%s", diff)
				}
				if again := export(t, other, odd); !bytes.Equal(file, again) {
					t.Errorf("it is written otherwise: %s", cmp.Diff(string(file), string(again)))
				}
				if err := load(other, bytes.NewReader(file)); !errors.Is(err, eventlog.ErrExists) {
					t.Errorf("a second time: %v", err)
				}
			})
		}
	}
}

// TestLaw201_damagedExport: a file that is altered in any byte, cut anywhere, that
// lacks a line, has one twice or in another place, is refused at that line, and
// nothing of it is taken.
func TestLaw201_damagedExport(t *testing.T) {
	t.Parallel()
	l := engines["memory"](t)
	lived(t, l)
	file := export(t, l, odd)
	lines := bytes.SplitAfter(file, []byte("\n"))
	lines = lines[:len(lines)-1]
	into := engines["memory"](t)
	refused := func(what string, line int, damaged []byte) {
		t.Helper()
		err := load(into, bytes.NewReader(damaged))
		var wrong *LineError
		if !errors.As(err, &wrong) || wrong.Line != line {
			t.Fatalf("%s: %v, want a refusal at line %d", what, err, line)
		}
		if _, err := Find(into, odd); !errors.Is(err, ErrUnknown) {
			t.Fatalf("%s: something was taken: %v", what, err)
		}
	}
	for i := range file {
		line := 1 + bytes.Count(file[:i], []byte("\n"))
		refused(fmt.Sprint("cut at ", i), line, file[:i])
		altered := bytes.Clone(file)
		altered[i] ^= 1
		refused(fmt.Sprint("byte ", i, " altered"), line, altered)
	}
	for i := range lines {
		refused(fmt.Sprint("without line ", i+1), i+1, bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
		refused(fmt.Sprint("line ", i+1, " twice"), i+2, bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil))
		if i > 0 {
			moved := slices.Clone(lines)
			moved[i], moved[i-1] = moved[i-1], moved[i]
			refused(fmt.Sprint("line ", i+1, " before its time"), i, bytes.Join(moved, nil))
		}
	}
	if err := load(into, bytes.NewReader(file)); err != nil {
		t.Errorf("the file itself: %v", err)
	}
}

// TestRefusals: whole lines, well summed, that Write would not have written.
func TestRefusals(t *testing.T) {
	t.Parallel()
	header := `{"agent-server/export":{"version":1,"session":"s","harness":"","cwd":"","first":1,"next":9,"created":1,"updated":1}`
	one := `{"sessionId":"s","seq":1,"prevSeq":0,"event":{"type":"x"},"turn":1`
	ends := `{"agent-server/end":{"admissions":0,"events":1}`
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"another version":      {[]string{strings.Replace(header, `:1,`, `:2,`, 1), one, ends}, "line 1: the export has version 2, this program knows 1"},
		"no header":            {[]string{one, ends}, "line 1: an export begins with a header"},
		"a wordy header":       {[]string{strings.Replace(header, `"cwd"`, `"x":1,"cwd"`, 1), one, ends}, "line 1: it is no header"},
		"a short hash":         {[]string{header, `{"agent-server/admission":{"turn":"t","hash":"00"}`, one, ends}, "line 2: it is no admission"},
		"a foreign event":      {[]string{header, strings.Replace(one, `"s"`, `"r"`, 1), ends}, `line 2: it is an event of session "r"`},
		"a broken chain":       {[]string{header, strings.Replace(one, `prevSeq":0`, `prevSeq":1`, 1), ends}, "line 2: event 1 follows 0"},
		"a step back":          {[]string{header, one, strings.Replace(one, `prevSeq":0`, `prevSeq":1`, 1), ends}, "line 3: event 1 follows 1"},
		"an event with a tail": {[]string{header, one + `,"more":1`, ends}, "line 2: it is no event of version 1"},
		"another kind":         {[]string{header, `{"agent-server/other":{}`, ends}, "line 2: it is no end"},
		"a wrong count":        {[]string{header, one, strings.Replace(ends, `events":1`, `events":2`, 1)}, "line 3: it is no end of 0 admissions and 1 events"},
		"something behind":     {[]string{header, one, ends, one}, "line 4: something follows the end"},
		"beyond its next":      {[]string{strings.Replace(header, `"next":9`, `"next":1`, 1), one, ends}, "there is no such session"},
		"no event":             {[]string{header, strings.Replace(ends, `events":1`, `events":0`, 1)}, "there is no event in it"},
	} {
		var s sums
		var file []byte
		for _, line := range c.lines {
			file = append(file, s.seal([]byte(line))...)
		}
		if err := load(engines["memory"](t), bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := Write(io.Discard, engines["memory"](t), "none"); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown session: %v", err)
	}
	r := eventlogtest.Record("s", 1, 1, 10)
	r.Line = append([]byte(eventlog.Prefix+` {"sessionId":"s","seq":1,"event":`), r.Line[r.EventAt:]...)
	r.EventAt++
	l := engines["memory"](t)
	if err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{r}}); err != nil {
		t.Fatal(err)
	}
	if err := Write(io.Discard, l, "s"); err == nil || !strings.Contains(err.Error(), "event 1 has a form that cannot be exported") {
		t.Errorf("a form that would not come back: %v", err)
	}
}
