package main

import "testing"

func TestEnvelopeOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"sessionId":"s"}`: `{"sessionId":"s"}`,
		`{"jsonrpc":"2.0","method":"event","params":{"sessionId":"s"}}`:     `{"sessionId":"s"}`,
		`{ "params": {"a":1}, "method": "event", "jsonrpc": "2.0" }`:        `{"a":1}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                              ``,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`: ``,
		`[{"jsonrpc":"2.0","id":1,"result":{}}]`:                            ``,
		`["jsonrpc"]`:                                                       `["jsonrpc"]`,
		`{"sessionId":"s","event":{"input":{"jsonrpc":"2.0"}}}`:             `{"sessionId":"s","event":{"input":{"jsonrpc":"2.0"}}}`,
		`{"jsonrpc":"2.0","method":"event"`:                                 `{"jsonrpc":"2.0","method":"event"`,
		`rubbish`:                                                           `rubbish`,
	} {
		if got := string(envelopeOf([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
