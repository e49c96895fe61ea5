package e2e

import (
	"flag"
	"os"
	"testing"

	"agent-server/fixtures"
)

// record makes TestRecord write the fixtures anew.
var record = flag.Bool("record", false, "record the fixtures anew from the real harnesses")

// TestRecord plays every scenario through a gateway in this process and records it.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("not recording")
	}
	for _, h := range harnessesUnderTest {
		for _, s := range h.scenarios {
			t.Run(string(h.id)+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				h.require(t)
				p := newPlace(t)
				dir := "/tmp/rec/" + string(h.id) + "/" + s.name
				os.MkdirAll(dir, 0o755)
				rec, err := fixtures.NewRecorder(dir)
				if err != nil {
					t.Fatal(err)
				}
				s.run(t, p, h.id, func() *host { return p.embed(t, rec) })
				if err := rec.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
