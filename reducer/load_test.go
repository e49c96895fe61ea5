package reducer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/fixtures/vectors"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// The reference's states load, and come out as they went in.
func TestReferenceStatesLoad(t *testing.T) {
	t.Parallel()
	for _, v := range vectors.Shared(t) {
		c, err := Load(v.State)
		if err != nil {
			t.Fatalf("seed %d: %v", v.Seed, err)
		}
		if diff := cmp.Diff(canonical(t, v.State), canonical(t, c.AppendJSON(nil))); diff != "" {
			t.Errorf("seed %d (-reference +loaded):\n%s", v.Seed, diff)
		}
	}
}

// The reference's states in the order of their schema come out byte for byte.
func TestReferenceOrder(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "shared", "vectors", "samples.md"))
	if err != nil {
		t.Skipf("the reference's samples are not here: %v", err)
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		state, ok := strings.CutPrefix(strings.TrimSpace(line), "schema  ")
		if !ok {
			continue
		}
		n++
		c, err := Load([]byte(state))
		if err != nil {
			t.Fatalf("%v: %s", err, state)
		}
		if diff := cmp.Diff(state, bytesOf(c)); diff != "" {
			t.Errorf("(-reference +ours):\n%s", diff)
		}
	}
	if n == 0 {
		t.Error("no samples")
	}
}

// A wrapper is taken as it is: what its raw holds is not read again.
func TestWrappersAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	const state = `{"timeline":[{"kind":"message","messageId":"m","sessionId":"s","turnId":"t","outputIndex":0,"role":"assistant",` +
		`"parts":[{"type":"plan","id":"p","sessionId":"s","messageId":"m","raw":{"id":"another","raw":1}}],"startedAt":1}],` +
		`"turns":[],"permissions":[],"totals":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"errors":[],` +
		`"unknownEvents":[{"type":"x.y","raw":{"type":"turn.started"}}],"toolInputJson":{}}`
	c, err := Load([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state, bytesOf(c)); diff != "" {
		t.Error(diff)
	}
	p, ok := c.Part("m", "p")
	if !ok || string(p.(*protocol.UnknownPart).Raw) != `{"id":"another","raw":1}` {
		t.Errorf("%v, %v", p, ok)
	}
}

// An empty object is the empty conversation; members nobody knows are ignored.
func TestLenientStates(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{}`, ` {"future":{"a":1,"a":2}} `, `{"timeline":[],"turns":[{"turnId":"t","future":1}]}`} {
		if _, err := Load([]byte(raw)); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// What is no state is refused, and the error says where.
func TestWhatIsNoState(t *testing.T) {
	t.Parallel()
	message := func(parts string) string {
		return `{"timeline":[{"kind":"message","messageId":"m","parts":[` + parts + `]}]}`
	}
	for _, tt := range []struct{ raw, why string }{
		{``, "loading a conversation"},
		{`[]`, "loading a conversation"},
		{`{"sessionId":7}`, "sessionId"},
		{`{"timeline":[{"kind":"future"}]}`, `timeline.0: kind "future"`},
		{`{"timeline":[7]}`, "timeline.0"},
		{`{"timeline":[{"kind":"message","messageId":7}]}`, "timeline.0"},
		{`{"timeline":[{"kind":"compaction","status":7}]}`, "timeline.0"},
		{`{"timeline":[{"kind":"message","messageId":"m"},{"kind":"message","messageId":"m"}]}`, `timeline.1: a second message "m"`},
		{`{"timeline":[{"kind":"compaction","compactionId":"k"},{"kind":"compaction","compactionId":"k"}]}`, `timeline.1: a second compaction "k"`},
		{`{"turns":[{"turnId":"t"},{"turnId":"t"}]}`, `turns.1: a second turn "t"`},
		{`{"permissions":[{"requestId":"r"},{"requestId":"r"}]}`, `permissions.1: a second request "r"`},
		{`{"unknownEvents":[{"type":"x.y"}]}`, "unknownEvents.0"},
		{message(`null`), "timeline.0"},
		{message(`{"type":"text","id":"p"}`), "timeline.0"},
		{message(`{"type":"plan","id":"p","sessionId":"s","messageId":"m"}`), "raw"},
		{message(`{"type":"tool","id":"p","sessionId":"s","messageId":"m","toolCallId":"c","toolName":"B"}`), "state"},
	} {
		if _, err := Load([]byte(tt.raw)); err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: error %v, want one that says %q", tt.raw, err, tt.why)
		}
	}
}
