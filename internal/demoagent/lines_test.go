package demoagent

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readAll reads lines to the end: a lost one is "…" and what was kept of it.
func readAll(in io.Reader, limit int) (lines []string, end error) {
	r := bufio.NewReaderSize(in, 16)
	for {
		next := readLine(r, limit)
		switch {
		case next.err != nil:
			return lines, next.err
		case next.tooLong:
			lines = append(lines, "…"+string(next.line))
		default:
			lines = append(lines, string(next.line))
		}
	}
}

// TestReadLine: where the reads fall does not matter, too long a line costs
// itself only, and what is cut off at the end is no line.
func TestReadLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40)
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"lines", "a\nbb\n\nc\n", []string{"a\n", "bb\n", "\n", "c\n"}},
		{"over the buffer", long[:30] + "\nb\n", []string{long[:30] + "\n", "b\n"}},
		{"at the limit", long[:31] + "\nb\n", []string{long[:31] + "\n", "b\n"}},
		{"over the limit", "a\n" + long[:32] + "\nb\n", []string{"a\n", "…", "b\n"}},
		{"far over the limit", long + long + "\nb\n", []string{"…", "b\n"}},
		{"over the limit, with a short rest", long + long[:20] + "\nb\n", []string{"…", "b\n"}},
		{"cut off", "a\nb", []string{"a\n"}},
		{"cut off over the limit", "a\n" + long, []string{"a\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for name, in := range map[string]io.Reader{
				"whole":  strings.NewReader(test.in),
				"bytes":  iotest.OneByteReader(strings.NewReader(test.in)),
				"halves": iotest.HalfReader(strings.NewReader(test.in)),
			} {
				got, err := readAll(in, 32)
				if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, io.EOF) {
					t.Errorf("read in %s, ended with %v (-want +got):\n%s", name, err, diff)
				}
			}
		})
	}
}

// TestTooLongLine: such a line is answered and the next one served. The limit is
// a small one here.
func TestTooLongLine(t *testing.T) {
	t.Parallel()
	var out collector
	a := newAgent(t.Context(), &out, io.Discard, Options{Seed: testSeed})
	in := strings.NewReader(strings.Repeat(" ", 100) + "\n" + `{"jsonrpc":"2.0","id":0,"method":"nope"}` + "\n")
	if err := a.serve(t.Context(), readLines(t.Context(), in, 64)); !errors.Is(err, io.EOF) {
		t.Errorf("serving ended with %v", err)
	}
	want := []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is longer than 33554432 bytes"}}`,
		`{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"the demo has no method \"nope\""}}`,
	}
	if diff := cmp.Diff(want, splitLines(out.take())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHold: held lines go out with the next write, at the limit, or at a flush,
// and always before what was written later.
func TestHold(t *testing.T) {
	t.Parallel()
	var out collector
	w := newLineWriter(&out)
	w.hold([]byte("a\n"))
	if got := out.take(); got != "" {
		t.Errorf("hold wrote %q", got)
	}
	w.write([]byte("b\n"))
	if got := out.take(); got != "a\nb\n" {
		t.Errorf("write wrote %q", got)
	}
	half := []byte(strings.Repeat("x", flushAt/2))
	w.hold(half)
	w.hold(half)
	if got := out.take(); len(got) != flushAt {
		t.Errorf("at the limit %d bytes were written", len(got))
	}
	w.hold([]byte("c\n"))
	if err := w.flush(); err != nil || out.take() != "c\n" {
		t.Errorf("flush returned %v", err)
	}
}

// TestWriterKeepsFirstError: after an error nothing more is tried.
func TestWriterKeepsFirstError(t *testing.T) {
	t.Parallel()
	first := errors.New("first")
	out := &failingWriter{left: 1, err: first}
	w := newLineWriter(out)
	w.write([]byte("a\n"))
	w.write([]byte("b\n"))
	out.err = errors.New("second")
	w.write([]byte("c\n"))
	if err := w.flush(); !errors.Is(err, first) {
		t.Errorf("flush returned %v", err)
	}
	select {
	case <-w.failed:
	default:
		t.Error("the failure was not told")
	}
}
