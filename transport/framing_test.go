package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-server/transport"
)

// readAll gives what Next gives until the end, errors as text.
func readAll(f transport.Framing) (got []string) {
	for {
		line, err := f.Next()
		var over *transport.OversizeError
		switch {
		case errors.As(err, &over):
			got = append(got, fmt.Sprintf("over %d of %d", over.Bytes, over.Limit))
		case errors.Is(err, io.EOF):
			return got
		case err != nil:
			return append(got, "error: "+err.Error())
		default:
			got = append(got, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in    string
		limit int64
		want  []string
	}{
		"nothing":                  {"", 0, nil},
		"two lines":                {"a\nb\n", 0, []string{"a", "b"}},
		"last without newline":     {"a\nb", 0, []string{"a", "b"}},
		"CR LF, also at the end":   {"a\r\nb\r", 0, []string{"a", "b"}},
		"one CR of two":            {"a\r\r\n", 0, []string{"a\r"}},
		"CR inside":                {"a\rb\n", 0, []string{"a\rb"}},
		"blank":                    {"\n\r\n\n", 0, []string{"", "", ""}},
		"bytes as they are":        {"\x00\xff\u2028\n", 0, []string{"\x00\xff\u2028"}},
		"at the limit":             {"12345\n12345\r\n12345", 5, []string{"12345", "12345", "12345"}},
		"over the limit":           {"123456\na\n", 5, []string{"over 6 of 5", "a"}},
		"over, CR LF":              {"123456\r\na\n", 5, []string{"over 6 of 5", "a"}},
		"over, last":               {"a\n123456", 5, []string{"a", "over 6 of 5"}},
		"over by a CR that counts": {"12345\rx\na\n", 5, []string{"over 7 of 5", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in)), iotest.DataErrReader(strings.NewReader(tc.in))} {
				if diff := cmp.Diff(tc.want, readAll(transport.NDJSON(r, io.Discard, tc.limit, 0, nil))); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestLongLines: around the size of a chunk and of the limit nothing is lost,
// torn or taken for something else.
func TestLongLines(t *testing.T) {
	t.Parallel()
	const chunk = 64 << 10
	for _, limit := range []int64{chunk - 2, chunk, 3 * chunk} {
		for _, size := range []int{chunk - 3, chunk - 2, chunk - 1, chunk, chunk + 1, 2 * chunk, 3*chunk - 1, 3 * chunk, 3*chunk + 1, 7 * chunk} {
			for _, end := range []string{"\n", "\r\n", ""} {
				want := strings.Repeat("x", size)
				if int64(size) > limit {
					want = fmt.Sprintf("over %d of %d", size, limit)
				}
				in, wants := strings.Repeat("x", size)+end, []string{want}
				if end != "" {
					in, wants = in+"next\n", append(wants, "next")
				}
				got := readAll(transport.NDJSON(strings.NewReader(in), io.Discard, limit, 0, nil))
				if !cmp.Equal(wants, got) {
					t.Errorf("limit %d, size %d, end %q: got %d lines, first of %d bytes", limit, size, end, len(got), len(got[0]))
				}
			}
		}
	}
}

// TestOversizeIsNotHeld: a line without end costs no memory.
func TestOversizeIsNotHeld(t *testing.T) { // not parallel: it counts what is allocated
	const size = 64 << 20
	long := io.LimitReader(repeat('x'), size)
	f := transport.NDJSON(io.MultiReader(long, strings.NewReader("\nnext\n")), io.Discard, 1<<20, 0, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := readAll(f)
	runtime.ReadMemStats(&after)
	grown := after.TotalAlloc - before.TotalAlloc
	if diff := cmp.Diff([]string{fmt.Sprintf("over %d of %d", size, 1<<20), "next"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if grown > 16<<20 {
		t.Errorf("reading past a line of %d bytes allocated %d", size, grown)
	}
}

// repeat is a reader of one byte without end.
type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// TestReadErrors: what came before the error is given, half a line is not.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	r := io.MultiReader(strings.NewReader("a\nhal"), iotest.ErrReader(errors.New("cable cut")))
	got := readAll(transport.NDJSON(r, io.Discard, 0, 0, nil))
	if diff := cmp.Diff([]string{"a", "error: cable cut"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestWriteDeadline: a pipe that nobody reads does not hold a writer for ever.
func TestWriteDeadline(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := transport.NDJSON(strings.NewReader(""), w, 0, 20*time.Millisecond, w.Close)
	done := make(chan error, 1)
	go func() { done <- f.Write(bytes.Repeat([]byte("x"), 1<<20)) }()
	if err := await(t, done, "the deadline"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write = %v, want the deadline", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
