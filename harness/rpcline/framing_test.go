package rpcline

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestFraming(t *testing.T) {
	t.Parallel()
	params := struct {
		Name string `json:"name"`
	}{"a\u2028<b>"}
	const name = `{"name":"a\u2028<b>"}`
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"request", Framing{}.AppendRequest(nil, 3, "m", params),
			`{"jsonrpc":"2.0","id":3,"method":"m","params":` + name + `}`},
		{"request without params", Framing{}.AppendRequest(nil, 3, "m", nil), `{"jsonrpc":"2.0","id":3,"method":"m"}`},
		{"bare request", Framing{Bare: true}.AppendRequest(nil, 3, "m", nil), `{"id":3,"method":"m"}`},
		{"notification", Framing{}.AppendNotification(nil, "m", params),
			`{"jsonrpc":"2.0","method":"m","params":` + name + `}`},
		{"bare notification", Framing{Bare: true}.AppendNotification(nil, "m", nil), `{"method":"m"}`},
		{"result", Framing{}.AppendResult(nil, jsontext.Value(`"x"`), params),
			`{"jsonrpc":"2.0","id":"x","result":` + name + `}`},
		{"bare result under an id as spelled", Framing{Bare: true}.AppendResult(nil, jsontext.Value("1.50"), params),
			`{"id":1.50,"result":` + name + `}`},
		{"error", Framing{}.AppendError(nil, jsontext.Value("0"), Error{Code: CodeMethodNotFound, Message: "no"}),
			`{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}`},
		{"error with data", Framing{}.AppendError(nil, jsontext.Value("0"), Error{Code: 1, Data: jsontext.Value(`[1]`)}),
			`{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"","data":[1]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(tt.got); got != tt.want+"\n" {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFramingAppends(t *testing.T) {
	t.Parallel()
	var f Framing
	lines := f.AppendNotification(f.AppendRequest(nil, 1, "a", nil), "b", nil)
	if n := strings.Count(string(lines), "\n"); n != 2 {
		t.Errorf("%q has %d lines, want 2", lines, n)
	}
}
