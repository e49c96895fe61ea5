package transport_test

import (
	"io"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// flood is a Source with n lines of one session, all visible at once.
type flood struct {
	line []byte
	left int
	wake chan struct{}
}

func (f *flood) Wake() <-chan struct{} { return f.wake }
func (f *flood) Mark()                 {}
func (f *flood) Close()                {}

func (f *flood) Read(dst []byte, _ string, _ int64, budget int) ([]byte, bool, error) {
	for limit := len(dst) + budget; f.left > 0 && len(dst) < limit; f.left-- {
		dst = append(dst, f.line...)
	}
	return dst, f.left > 0, nil
}

// BenchmarkEvents is the way of an event of 320 bytes from a Source through the
// writer into a pipe.
func BenchmarkEvents(b *testing.B) {
	line := `{"jsonrpc":"2.0","method":"event","params":"` + strings.Repeat("x", 320-47) + `"}` + "\n"
	src := &flood{line: []byte(line), left: b.N, wake: make(chan struct{}, 1)}
	r, hold := io.Pipe()
	s := transport.Open(transport.NDJSON(r, io.Discard, 0, 0, hold.Close), handler(echo), src, transport.Options{})
	b.SetBytes(int64(len(line)))
	b.ResetTimer()
	src.wake <- struct{}{}
	_ = s.Finish(b.Context())
	s.Wait()
	if src.left > 0 {
		b.Errorf("%d events were not written", src.left)
	}
}

// BenchmarkRequests is a request and its answer, asked one after the other.
func BenchmarkRequests(b *testing.B) {
	in, ask := io.Pipe()
	hear, out := io.Pipe()
	s := transport.Open(transport.NDJSON(in, out, 0, 0, nil), handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) { send(c, r, "{}") }),
		newSource(), transport.Options{})
	line := []byte(`{"jsonrpc":"2.0","id":12,"method":"turn/cancel","params":{"sessionId":"01a22df5-9f91-7878-bba1-6836555eba63"}}` + "\n")
	answer := make([]byte, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ask.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := hear.Read(answer); err != nil {
			b.Fatal(err)
		}
	}
	_ = ask.Close()
	_ = s.Finish(b.Context())
	s.Wait()
}
