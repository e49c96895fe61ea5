package verify

import (
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// numbered makes envelopes of harmless events: a pair is {seq, prevSeq}, a
// prevSeq of -1 is left out.
func numbered(pairs ...[2]int64) []protocol.Envelope {
	var envs []protocol.Envelope
	for _, p := range pairs {
		env := protocol.Envelope{SessionID: "s", Seq: p[0], Event: unknown("x.y", `{"type":"x.y"}`)}
		if p[1] >= 0 {
			env.PrevSeq = &p[1]
		}
		envs = append(envs, env)
	}
	return envs
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts Options
		envs []protocol.Envelope
		want []Violation
	}{
		{"a stream may begin anywhere", Options{}, numbered([2]int64{7, -1}, [2]int64{8, -1}), nil},
		{"each seq is above the one before it, not above all", Options{}, numbered([2]int64{1, -1}, [2]int64{2, -1}, [2]int64{3, -1}, [2]int64{2, -1}, [2]int64{3, -1}, [2]int64{4, -1}),
			[]Violation{broke(SeqMonotonic, 3)}},
		{"to begin again at 1 is a step back", Options{}, numbered([2]int64{1, -1}, [2]int64{2, -1}, [2]int64{1, -1}, [2]int64{2, -1}),
			[]Violation{broke(SeqMonotonic, 2)}},
		{"a hole is blamed once", Options{}, numbered([2]int64{1, -1}, [2]int64{5, -1}, [2]int64{6, -1}),
			[]Violation{broke(SeqContiguous, 1)}},
		{"the base lets holes pass", Options{Base: true}, numbered([2]int64{1, -1}, [2]int64{5, -1}, [2]int64{5, -1}),
			[]Violation{broke(SeqMonotonic, 2)}},
		{"a chain may begin anywhere and leave numbers out", Options{Chained: true}, numbered([2]int64{9, 4}, [2]int64{12, 9}), nil},
		{"a link that leads nowhere", Options{}, numbered([2]int64{1, 0}, [2]int64{5, 4}, [2]int64{6, 5}), []Violation{broke(SeqContiguous, 1)}},
		{"a link to what came long before", Options{}, numbered([2]int64{1, 0}, [2]int64{2, 1}, [2]int64{3, 1}), []Violation{broke(SeqContiguous, 2)}},
		{"a chain in part", Options{}, numbered([2]int64{1, -1}, [2]int64{5, 1}, [2]int64{6, -1}), nil},
		{"a chain in part where it was asked for", Options{Chained: true}, numbered([2]int64{1, 0}, [2]int64{2, -1}, [2]int64{5, 2}), []Violation{broke(SeqContiguous, 1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Stream(tt.envs, tt.opts), anyOrder); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// numberedFrom puts events into envelopes, from the given seq on.
func numberedFrom(seq int64, events []protocol.Event) []protocol.Envelope {
	var envs []protocol.Envelope
	for i, ev := range events {
		envs = append(envs, protocol.Envelope{SessionID: "s", Seq: seq + int64(i), Event: ev})
	}
	return envs
}

func TestWhereJudgingBegins(t *testing.T) {
	t.Parallel()
	events := then(closed("z", "m"), end("z", ok), echoed("a"), end("a", ok), end("z", ok))
	all := []Violation{broke(TurnEndedPairs, 1), broke(TurnEndedPairs, 6)}
	chained := numberedFrom(3, events)
	for i := range chained {
		chained[i].PrevSeq = new(chained[i].Seq - 1)
	}
	genesis := numberedFrom(3, events)
	genesis[0].PrevSeq = new(int64(0))
	tests := []struct {
		name string
		envs []protocol.Envelope
		opts Options
		want []Violation
	}{
		{"from 1: at the first event", numberedFrom(1, events), Options{}, all},
		{"later: at the first turn.started", numberedFrom(3, events), Options{}, all[1:]},
		{"a chain that comes from 3: at the first turn.started", chained, Options{}, all[1:]},
		{"a chain that comes from 0: at the first event", genesis, Options{}, all},
		{"the base: always at the first event", numberedFrom(3, events), Options{Base: true}, all},
		{"no turn ever starts", numberedFrom(3, events[:2]), Options{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Stream(tt.envs, tt.opts), anyOrder); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// A part whose deltas may be lost is not held to them, whatever the numbers are
// blamed for besides.
func TestNumbersOutOfPlaceExcuseAPart(t *testing.T) {
	t.Parallel()
	events := then(echoed("a"), show("a", text("m", "p", "", streaming)), show("a", text("m", "p", "x", done)), end("a", ok))
	whole := Stream(numberedFrom(1, events), Options{})
	if diff := cmp.Diff([]Violation{broke(DeltaConcatEqualsFinal, 4)}, whole, anyOrder); diff != "" {
		t.Errorf("without a hole (-want +got):\n%s", diff)
	}
	torn := numberedFrom(1, events)
	for i := range torn[4:] {
		torn[4+i].Seq += 10
	}
	if diff := cmp.Diff([]Violation{broke(SeqContiguous, 4)}, Stream(torn, Options{}), anyOrder); diff != "" {
		t.Errorf("with a hole (-want +got):\n%s", diff)
	}
}
