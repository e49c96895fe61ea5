package protocol

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		` { "b" : 1.0 , "a" : [ 1e2 , -0 , 0.10 ] } `: `{"a":[100,0,0.1],"b":1}`,
		`{"a":1,"\u0061":2}`:                          `{"a":2}`,
		`{}`:                                          `{}`,
		`"\u003c\/\u2028"`:                            `"</\u2028"`,
		`"\ud800"`:                                    "\"\uFFFD\"",
		`12345678901234567890`:                        `12345678901234567000`,
		`[1e999,-1e999]`:                              `[1.7976931348623157e+308,-1.7976931348623157e+308]`,
		"{\"\uE000\":1,\"😀\":2,\"a\":3,\"aa\":4,\"\":5}": "{\"\":5,\"a\":3,\"aa\":4,\"😀\":2,\"\uE000\":1}",
		`{"z":{"y":1,"x":null},"a":true}`:                `{"a":true,"z":{"x":null,"y":1}}`,
	} {
		got, err := Canonical([]byte(raw))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s (%v), want %s", raw, got, err, want)
		}
	}
	if got, err := Canonical([]byte("{")); err == nil {
		t.Errorf("the canonical form of no JSON is %s", got)
	}
}

// TestCanonicalIsRFC8785 compares with the JSON package wherever that has an
// opinion: it has none on duplicates and lone surrogates, and writes -0.
func TestCanonicalIsRFC8785(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := Object(genJSON(t, 4))
		want := raw.Clone()
		if err := want.Canonicalize(jsontext.EscapeForJS(true)); err != nil {
			t.Skip("not for RFC 8785")
		}
		got, err := Canonical(raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("%s (-theirs +ours):\n%s", raw, diff)
		}
	})
}

func TestCanonicalIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once, err := Canonical([]byte(genJSON(t, 4)))
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Canonical(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%s, again %s (%v)", once, twice, err)
		}
	})
}

// identityOf decodes a turn/start and gives its identity.
func identityOf(t *testing.T, params string) string {
	t.Helper()
	p, faults := DecodeTurnStart([]byte(params), nil)
	if faults != nil {
		t.Fatal(faults)
	}
	return string(TurnIdentity(p.Input, p.Config))
}

// Law 56: a turn is its known content, however that is spelled.
func TestLaw56_turnIdentity(t *testing.T) {
	t.Parallel()
	const params = `{"input":"hi","config":{"harness":"acp","cwd":"/","env":{"B":"2","A":"1"},"apiKey":"k","maxTurns":3}}`
	const want = `{"config":{"apiKey":"k","cwd":"/","env":{"A":"1","B":"2"},"harness":"acp","maxTurns":3},"input":"hi"}`
	if diff := cmp.Diff(want, identityOf(t, params)); diff != "" {
		t.Error(diff)
	}
	for _, same := range []string{
		`{"config":{"cwd":"/","maxTurns":3.0,"harness":"acp","apiKey":"k","env":{"A":"1","B":"2"},"nobody":1},"input":"\u0068i"}`,
		`{"sessionId":"other","turnId":"t","ifBusy":"queue","input":"hi","config":{"harness":"acp","cwd":"/","env":{"B":"0","A":"1","B":"2"},"apiKey":"k","maxTurns":3e0}}`,
	} {
		if diff := cmp.Diff(want, identityOf(t, same)); diff != "" {
			t.Errorf("%s is another turn:\n%s", same, diff)
		}
	}
	for _, other := range []string{
		`{"input":[{"type":"text","text":"hi"}],"config":{"harness":"acp","cwd":"/","env":{"B":"2","A":"1"},"apiKey":"k","maxTurns":3}}`,
		`{"input":"hi","config":{"harness":"acp","cwd":"/","env":{"B":"2"},"apiKey":"k","maxTurns":3}}`,
		`{"input":"hi","config":{"harness":"acp","cwd":"/","env":{"B":"2","A":"1"},"apiKey":"other","maxTurns":3}}`,
		`{"input":"hi","config":{"harness":"acp","cwd":"/","env":{"B":"2","A":"1"},"apiKey":"k","maxTurns":3,"model":""}}`,
		`{"input":"hi","config":{"harness":"acp","cwd":"/","env":{"B":"2","A":"1"},"apiKey":"k","maxTurns":3,"disableTools":false}}`,
	} {
		if identityOf(t, other) == want {
			t.Errorf("%s is the same turn", other)
		}
	}
}
