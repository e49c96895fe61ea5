package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// heard is what a reader of lines gave, in order: "L:" and a line, or "D:" and a size.
type heard []string

// linesInto makes a reader of lines that fills what is returned with it.
func linesInto(max int) (*lines, *heard) {
	got := &heard{}
	return &lines{
		max:     max,
		line:    func(b []byte) { *got = append(*got, "L:"+string(b)) },
		dropped: func(n int64) { *got = append(*got, fmt.Sprintf("D:%d", n)) },
	}, got
}

// model says what a stream gives, by the plainest means there are.
func model(stream []byte, max int) heard {
	want := heard{}
	for _, line := range bytes.Split(stream, []byte{'\n'}) {
		if len(line) > max {
			want = append(want, fmt.Sprintf("D:%d", len(line)))
			continue
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(line) > 0 {
			want = append(want, "L:"+string(bytes.ToValidUTF8(line, []byte("\uFFFD"))))
		}
	}
	return want
}

// Law 77: what is over the budget is dropped, with its size, and the stream goes on;
// how the bytes come means nothing.
func TestLaw77_lines(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tc := range []struct {
		name, stream string
		max          int
		want         heard
	}{
		{"nothing", "", 10, heard{}},
		{"one", "a\n", 10, heard{"L:a"}},
		{"no final newline", "a\nb", 10, heard{"L:a", "L:b"}},
		{"CRLF", "a\r\nb\r\n", 10, heard{"L:a", "L:b"}},
		{"one CR of two", "a\r\r\n", 10, heard{"L:a\r"}},
		{"CR inside", "a\rb\n", 10, heard{"L:a\rb"}},
		{"blank lines", "\n\r\n\na\n\n", 10, heard{"L:a"}},
		{"blanks are no blank line", "  \n", 10, heard{"L:  "}},
		{"NUL", "a\x00b\n\x00\n", 10, heard{"L:a\x00b", "L:\x00"}},
		{"escape codes", "\x1b[31mred\x1b[0m\n", 20, heard{"L:\x1b[31mred\x1b[0m"}},
		{"at the budget", x(10) + "\n" + "a\n", 10, heard{"L:" + x(10), "L:a"}},
		{"over the budget", x(11) + "\n" + "a\n", 10, heard{"D:11", "L:a"}},
		{"over the budget at the end", "a\n" + x(11), 10, heard{"L:a", "D:11"}},
		{"twice over the budget", x(30) + "\n" + x(12) + "\nb", 10, heard{"D:30", "D:12", "L:b"}},
		{"invalid byte", "a\xffb\n", 10, heard{"L:a\uFFFDb"}},
		{"cut character at the end", "a\xe4\xb8", 10, heard{"L:a\uFFFD"}},
		{"characters", "\u4e16\u754c\U0001F600\n", 20, heard{"L:\u4e16\u754c\U0001F600"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for name, src := range map[string]io.Reader{
				"whole":    strings.NewReader(tc.stream),
				"bytes":    iotest.OneByteReader(strings.NewReader(tc.stream)),
				"halves":   iotest.HalfReader(strings.NewReader(tc.stream)),
				"data+EOF": iotest.DataErrReader(strings.NewReader(tc.stream)),
			} {
				l, got := linesInto(tc.max)
				if err := l.read(src); err != nil {
					t.Errorf("%s: read: %v", name, err)
				}
				if diff := cmp.Diff(tc.want, *got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if diff := cmp.Diff(tc.want, model([]byte(tc.stream), tc.max)); diff != "" {
				t.Errorf("the model disagrees (-want +model):\n%s", diff)
			}
		})
	}
}

// TestLinesAtChunkEdges puts the end of a line around the sizes that are read at once.
func TestLinesAtChunkEdges(t *testing.T) {
	t.Parallel()
	for _, edge := range []int{smallChunk, largeChunk, 2 * largeChunk, smallChunk + largeChunk} {
		for off := -3; off <= 3; off++ {
			for _, end := range []string{"\n", "\r\n"} {
				first := strings.Repeat("\u4e16", edge/3+2)[:edge+off]
				stream := []byte(first + end + "b" + end + first + end)
				l, got := linesInto(len(stream))
				if err := l.read(bytes.NewReader(stream)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(model(stream, len(stream)), *got); diff != "" {
					t.Errorf("edge %d%+d: %.300s", edge, off, diff)
				}
			}
		}
	}
}

// Law 78: a character cut by a chunk is whole again in its line.
func TestLaw78_splitCharacter(t *testing.T) {
	t.Parallel()
	stream := []byte("a\u4e16\xffb\U0001F600\n")
	for cut := range stream {
		l, got := linesInto(100)
		l.feed(stream[:cut])
		l.feed(stream[cut:])
		if diff := cmp.Diff(model(stream, 100), *got); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
		}
	}
}

// TestLinesFault: a fault of the stream is returned, after what came before it.
func TestLinesFault(t *testing.T) {
	t.Parallel()
	l, got := linesInto(100)
	broken := errors.New("broken")
	err := l.read(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("read: %v, want %v", err, broken)
	}
	if diff := cmp.Diff(heard{"L:a", "L:b"}, *got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLinesForgetsMemory: neither a long line nor one over the budget is kept.
func TestLinesForgetsMemory(t *testing.T) {
	t.Parallel()
	l, _ := linesInto(1 << 20)
	l.feed(bytes.Repeat([]byte{'x'}, 1<<20))
	if cap(l.held) != 1<<20 {
		t.Errorf("%d bytes are held for a line of the budget's %d", cap(l.held), 1<<20)
	}
	l.feed([]byte{'\n'})
	if cap(l.held) > smallChunk {
		t.Errorf("%d bytes are held after a long line", cap(l.held))
	}
	l.feed(bytes.Repeat([]byte{'x'}, 1<<20+1))
	if cap(l.held) > smallChunk {
		t.Errorf("%d bytes are held of a line over the budget", cap(l.held))
	}
}

// FuzzLines feeds a stream in chunks of a random size and compares with the model.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n\xff\u4e16"), uint8(1), uint8(3))
	f.Add([]byte("\r\n\r\r\n\x00\n"), uint8(2), uint8(200))
	f.Add(bytes.Repeat([]byte("abcdefg\n"), 40), uint8(7), uint8(6))
	f.Fuzz(func(t *testing.T, stream []byte, chunk, max uint8) {
		l, got := linesInto(int(max))
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), int(chunk)+1)
			l.feed(rest[:n:n])
			rest = rest[n:]
		}
		l.finish()
		if diff := cmp.Diff(model(stream, int(max)), *got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// BenchmarkLines cuts 330-byte lines out of full chunks, as a busy child gives them.
func BenchmarkLines(b *testing.B) {
	line := append(bytes.Repeat([]byte{'x'}, 329), '\n')
	stream := bytes.Repeat(line, 64<<20/len(line))
	count := 0
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		l := &lines{max: 1 << 20, line: func([]byte) { count++ }, dropped: func(int64) {}}
		src := bytes.NewReader(stream)
		b.StartTimer()
		if err := l.read(src); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(count)/b.Elapsed().Seconds()/1e6, "Mlines/s")
}
