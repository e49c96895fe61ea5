package protocol

import (
	"bytes"
	"testing"
)

// FuzzDecodeEvent: no bytes make the decoder panic, and what decodes has one
// spelling that decodes to itself.
func FuzzDecodeEvent(f *testing.F) {
	for _, d := range eventDocuments {
		f.Add([]byte(d.body))
	}
	for _, d := range partDocuments {
		f.Add([]byte(`{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m","outputIndex":0,"partIndex":0,"timestamp":1,"part":` + d.body + `}`))
	}
	f.Add([]byte("{\"type\":\"x\",\"a\":[\"\u2028\xff\",1e999]}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev, err := DecodeEvent(raw)
		if err != nil {
			if len(faultsOf(err)) == 0 {
				t.Fatalf("%q: malformed without a fault", raw)
			}
			return
		}
		line := AppendEvent(nil, ev)
		checkLine(t, line)
		again, err := DecodeEvent(line)
		if err != nil {
			t.Fatalf("%q is written as %q, which does not decode: %v", raw, line, err)
		}
		if twice := AppendEvent(nil, again); !bytes.Equal(line, twice) {
			t.Fatalf("%q is written as\n%q, then as\n%q", raw, line, twice)
		}
	})
}

// FuzzDecodeTurnStart: the same of what comes the other way.
func FuzzDecodeTurnStart(f *testing.F) {
	for _, d := range paramDocuments {
		f.Add([]byte(d.body))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, faults := DecodeTurnStart(raw, nil)
		if faults != nil {
			return
		}
		again, faults := DecodeTurnStart(Encode(p), nil)
		if faults != nil {
			t.Fatalf("%q is encoded as %s, which has faults: %v", raw, Encode(p), faults)
		}
		if a, b := TurnIdentity(p.Input, p.Config), TurnIdentity(again.Input, again.Config); !bytes.Equal(a, b) {
			t.Fatalf("the identity changed from %s to %s", a, b)
		}
	})
}
