package verify

import (
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

func TestLinesThatDoNotDecode(t *testing.T) {
	t.Parallel()
	const bad = `"event":{"type":"turn.started","sessionId":"s","turnId":7,"timestamp":0}`
	tests := []struct {
		name, line string
		want       []Violation
	}{
		{"no JSON", `{`, []Violation{broke(SchemaValid, 0)}},
		{"no object", `[]`, []Violation{broke(SchemaValid, 0)}},
		{"nothing", ``, []Violation{broke(SchemaValid, 0)}},
		{"no event", `{"sessionId":"s","seq":1}`, []Violation{broke(SchemaValid, 0)}},
		{"event without a type", `{"sessionId":"s","seq":1,"event":{}}`, []Violation{broke(SchemaValid, 0)}},
		{"body that does not fit", `{"sessionId":"s","seq":1,` + bad + `}`, []Violation{broke(SchemaValid, 0)}},
		{"seq that is none", `{"sessionId":"s","seq":0,` + bad + `}`, []Violation{broke(SchemaValid, 0)}},
		{"names in other case", `{"sessionId":"s","Seq":1,"event":{"type":"x.y"}}`, []Violation{broke(SchemaValid, 0)}},
		{"time left out", `{"sessionId":"s","seq":1,"event":{"type":"turn.started","sessionId":"s","turnId":"t"}}`,
			[]Violation{broke(SchemaValid, 0), broke(TimestampValid, 0)}},
		{"time of words", `{"sessionId":"s","seq":1,"event":{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":"noon"}}`,
			[]Violation{broke(SchemaValid, 0), broke(TimestampValid, 0)}},
		{"minus zero", `{"sessionId":"s","seq":1,"event":{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":-0}}`,
			[]Violation{broke(SchemaValid, 0), broke(TimestampValid, 0)}},
		{"half a millisecond", `{"sessionId":"s","seq":1,"event":{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":0.5}}`,
			[]Violation{broke(SchemaValid, 0), broke(TimestampValid, 0)}},
		{"time beyond what is safe", `{"sessionId":"s","seq":1,"event":{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":9007199254740992}}`,
			[]Violation{broke(SchemaValid, 0), broke(TimestampValid, 0)}},
		{"an unknown event's time is its own affair", `{"sessionId":"s","seq":1,"event":{"type":"x.y","timestamp":-5}}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, a := range []adder{New(Options{}), New(Options{Base: true}), NewSet(Options{})} {
				got := append(a.AddRaw([]byte(tt.line)), a.Finish()...)
				if diff := cmp.Diff(tt.want, got, anyOrder); diff != "" {
					t.Errorf("verdict of %T (-want +got):\n%s", a, diff)
				}
			}
		})
	}
}

// A line that does not decode keeps its place: the next is no hole. One without
// a readable place leaves the numbers as they are.
func TestALineThatDoesNotDecodeKeepsItsPlace(t *testing.T) {
	t.Parallel()
	v := New(Options{})
	lines := []string{
		`{"sessionId":"s","seq":1,"event":{"type":"x.y"}}`,
		`{"sessionId":"s","seq":2,"event":{"type":"turn.started"}}`,
		`{"sessionId":"s","seq":3,"event":{"type":"x.y"}}`,
		`{"sessionId":"s","seq":-3,"event":{"type":"x.y"}}`,
		`{"sessionId":"s","seq":4,"event":{"type":"x.y"}}`,
		`{"sessionId":"s","seq":4,"event":{"type":"turn.started"}}`,
		`{"sessionId":"s","seq":9,"prevSeq":4,"event":{"type":"turn.started"}}`,
		`{"sessionId":"s","seq":12,"prevSeq":9,"event":{"type":"x.y"}}`,
	}
	var got []Violation
	for _, l := range lines {
		got = append(got, v.AddRaw([]byte(l))...)
	}
	want := []Violation{broke(SchemaValid, 1), broke(TimestampValid, 1), broke(SchemaValid, 3),
		broke(SchemaValid, 5), broke(TimestampValid, 5), broke(SeqMonotonic, 5), broke(SchemaValid, 6), broke(TimestampValid, 6)}
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

// What was made in memory is held to the same decoder.
func TestEventsMadeInMemory(t *testing.T) {
	t.Parallel()
	late := start("t")
	late.Timestamp = -1
	blank := end("t", " ")
	demo := created()
	demo.Harness = protocol.HarnessDemo
	tests := []struct {
		name string
		ev   protocol.Event
		opts Options
		want []Violation
	}{
		{"a time before time", late, Options{}, []Violation{broke(SchemaValid, 0), broke(TimestampValid, 0)}},
		{"a blank word", blank, Options{}, []Violation{broke(SchemaValid, 0)}},
		{"a harness of our own", demo, Options{}, nil},
		{"which a base client does not know", demo, Options{Base: true}, []Violation{broke(SchemaValid, 0)}},
		{"no event", nil, Options{}, []Violation{broke(SchemaValid, 0)}},
		{"a part that is none", &protocol.MessagePart{SessionID: "s"}, Options{}, []Violation{broke(SchemaValid, 0)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := protocol.Envelope{SessionID: "s", Seq: 1, Event: tt.ev}
			if diff := cmp.Diff(tt.want, Stream([]protocol.Envelope{env}, tt.opts), anyOrder); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// From the wire, too, a base client's four ids are all that Base takes.
func TestBaseKnowsFourHarnesses(t *testing.T) {
	t.Parallel()
	line := []byte(`{"sessionId":"s","seq":1,"event":{"type":"raw","sessionId":"s","turnId":"","harness":"demo","data":null,"timestamp":1}}`)
	if got := New(Options{}).AddRaw(line); len(got) > 0 {
		t.Errorf("ours: %v", got)
	}
	if diff := cmp.Diff([]Violation{broke(SchemaValid, 0)}, New(Options{Base: true}).AddRaw(line), anyOrder); diff != "" {
		t.Errorf("base (-want +got):\n%s", diff)
	}
}
