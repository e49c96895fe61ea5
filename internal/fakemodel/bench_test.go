package fakemodel

import (
	"fmt"
	"io"
	"testing"
)

// How fast deltas leave the server: it has to be faster than any harness it feeds.
func BenchmarkDeltas(b *testing.B) {
	srv, err := Start(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	const deltas = 2000
	c := asks(fmt.Sprintf(`[[text say="word " repeat=%d pieces=%d]]`, deltas, deltas))
	for b.Loop() {
		resp := post(b.Context(), b, srv, c)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
}
