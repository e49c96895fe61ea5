package reducer

import (
	"encoding/json"
	"testing"

	v2 "github.com/go-json-experiment/json"
)

// A change has exactly the members of its kind, whichever encoder asks.
func TestChangeMembers(t *testing.T) {
	t.Parallel()
	full := Change{MessageID: "m", PartID: "p", TurnID: "t", CompactionID: "k", RequestID: "r", OutputIndex: 1, PartIndex: 0.5}
	for kind, want := range map[ChangeKind]string{
		MessageUpserted:    `{"kind":"message-upserted","messageId":"m","turnId":"t"}`,
		PartUpserted:       `{"kind":"part-upserted","messageId":"m","partId":"p","outputIndex":1,"partIndex":0.5}`,
		MessageEnded:       `{"kind":"message-ended","messageId":"m"}`,
		DeltaBuffered:      `{"kind":"delta-buffered","partId":"p"}`,
		TurnUpdated:        `{"kind":"turn-updated","turnId":"t"}`,
		CompactionUpserted: `{"kind":"compaction-upserted","compactionId":"k"}`,
		PermissionUpdated:  `{"kind":"permission-updated","requestId":"r"}`,
		UsageUpdated:       `{"kind":"usage-updated"}`,
		SessionMetaUpdated: `{"kind":"session-meta-updated"}`,
		SessionEnded:       `{"kind":"session-ended"}`,
		UnknownRecorded:    `{"kind":"unknown-event-recorded"}`,
	} {
		c := full
		c.Kind = kind
		for _, marshal := range []func(any) ([]byte, error){json.Marshal, func(v any) ([]byte, error) { return v2.Marshal(v) }} {
			if got, err := marshal(c); err != nil || string(got) != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		}
	}
}

// A conversation is encoded inside other values too.
func TestConversationInsideValues(t *testing.T) {
	t.Parallel()
	c := foldAll(nil, history(3))
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, func(v any) ([]byte, error) { return v2.Marshal(v) }} {
		got, err := marshal(map[string]any{"state": c})
		if want := `{"state":` + bytesOf(c) + `}`; err != nil || string(got) != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}
