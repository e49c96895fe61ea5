package verify

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sharedVector is one stream of the published reference with its verdict.
type sharedVector struct {
	Seed       int               `json:"seed"`
	Events     []json.RawMessage `json:"events"`
	Violations []Violation       `json:"violations"`
}

// sharedVectors reads the streams; the test is skipped where they are not.
func sharedVectors(tb testing.TB) []sharedVector {
	tb.Helper()
	file, err := os.Open(filepath.Join("..", "..", "shared", "vectors", "fold.jsonl.gz"))
	if err != nil {
		tb.Skipf("the reference's streams are not here: %v", err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	var vectors []sharedVector
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var v sharedVector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatal(err)
		}
		vectors = append(vectors, v)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return vectors
}

// anyOrder compares verdicts by rule and index, as multisets.
var anyOrder = cmp.Options{
	cmpopts.SortSlices(func(a, b Violation) bool {
		return fmt.Sprintf("%6d %s", a.Index, a.Rule) < fmt.Sprintf("%6d %s", b.Index, b.Rule)
	}),
	cmpopts.IgnoreFields(Violation{}, "Message"),
	cmpopts.EquateEmpty(),
}

// Under Base the verdict is the reference's own, on every one of its streams.
func TestBaseAgreesWithTheReference(t *testing.T) {
	t.Parallel()
	vectors := sharedVectors(t)
	if len(vectors) != 57 {
		t.Errorf("%d streams, want 57", len(vectors))
	}
	for _, vector := range vectors {
		v := New(Options{Base: true})
		var got []Violation
		for _, raw := range vector.Events {
			ev, err := protocol.DecodeEvent(raw)
			if err != nil {
				t.Fatalf("stream %d: %v", vector.Seed, err)
			}
			got = append(got, v.AddEvent(ev)...)
		}
		got = append(got, v.Finish()...)
		if diff := cmp.Diff(vector.Violations, got, anyOrder); diff != "" {
			t.Errorf("stream %d (-reference +ours):\n%s", vector.Seed, diff)
		}
	}
}
