package rpc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

// TestParse: a message is what its shape says, and its values are kept to the byte.
func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Message{
		`{"jsonrpc":"2.0","id":1,"method":"m"}`:                                  {Kind: Request, ID: []byte("1"), Method: []byte(`"m"`)},
		`{"method":"m","params":{"a": [1 ]},"id":"\u0061","jsonrpc":"\u0032.0"}`: {Kind: Request, ID: []byte(`"\u0061"`), Method: []byte(`"m"`), Params: []byte(`{"a": [1 ]}`)},
		`{"jsonrpc":"2.0","id":1.50e2,"method":"m","params":null}`:               {Kind: Request, ID: []byte("1.50e2"), Method: []byte(`"m"`), Params: []byte("null")},
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`:                           {Kind: Request, ID: []byte("2"), Method: []byte(`"m"`)},
		`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`:                      {Kind: Request, ID: []byte("1"), Method: []byte(`"m"`)},
		`{"jsonrpc":"2.0","method":"m"}`:                                         {Kind: Notification, Method: []byte(`"m"`)},
		`{"jsonrpc":"2.0","id":null,"method":"m"}`:                               {Kind: Notification, ID: []byte("null"), Method: []byte(`"m"`)},
		`{"jsonrpc":"2.0","id":[1],"method":"m"}`:                                {Kind: Notification, ID: []byte("[1]"), Method: []byte(`"m"`)},
		`{"jsonrpc":"2.0","id":1,"result":0}`:                                    {Kind: Response, ID: []byte("1")},
		`{"jsonrpc":"2.0","id":null,"error":{}}`:                                 {Kind: Response, ID: []byte("null")},
	} {
		if diff := cmp.Diff(want, Parse([]byte(line))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	for _, line := range []string{
		``, `1`, `"x"`, `null`, `[]`, `{}`, `{"id":1,"method":"m"}`, `{"jsonrpc":"1.0","id":1,"method":"m"}`, `{"jsonrpc":2.0,"id":1,"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":1}`, `{"jsonrpc":"2.0","id":true,"result":1}`, `{"jsonrpc":"2.0","result":1}`, `{"jsonrpc":"2.0","id":1}`,
	} {
		if m := Parse([]byte(line)); m.Kind != Invalid {
			t.Errorf("%s is taken for %+v", line, m)
		}
	}
}

// TestSplit: a line is JSON or it is not; a batch is its members, and one that is too
// long is no longer than needed to see that.
func TestSplit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		" {} \r\n":       {"{}"},
		"[]":             nil,
		` [1 , {"a":2}]`: {"1", `{"a":2}`},
		"[\"\xff\"]":     {"\"\xff\""},
	} {
		members, batch, err := Split([]byte(line))
		var got []string
		for _, m := range members {
			got = append(got, string(m))
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || batch != strings.Contains(line, "[") {
			t.Errorf("%q: batch %v, %v (-want +got):\n%s", line, batch, err, diff)
		}
	}
	for _, line := range []string{"", "{", "[1,]", "{}{}", "nul", "\x00", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)} {
		if _, _, err := Split([]byte(line)); err == nil || strings.Contains(err.Error(), "nul") {
			t.Errorf("%.20q: %v", line, err)
		}
	}
	if members, _, err := Split([]byte("[" + strings.Repeat("0,", 500) + "0]")); err != nil || len(members) != MaxBatch+1 {
		t.Errorf("a long batch: %d members, %v", len(members), err)
	}
}

// TestEncodeResponse: the order of members, and the id, are as the protocol has them.
func TestEncodeResponse(t *testing.T) {
	t.Parallel()
	result, data := json.RawMessage(`{"x":1}`), json.RawMessage(`[2]`)
	for want, r := range map[string]*jsonrpc2.Response{
		`{"jsonrpc":"2.0","id":1.0,"result":{"x":1}}`:                           {Result: &result},
		`{"jsonrpc":"2.0","id":1.0,"result":null}`:                              {},
		`{"jsonrpc":"2.0","id":1.0,"error":{"code":-1,"message":"\"<\u2028"}}`:  {Error: &jsonrpc2.Error{Code: -1, Message: "\"<\u2028"}},
		`{"jsonrpc":"2.0","id":1.0,"error":{"code":7,"message":"","data":[2]}}`: {Error: &jsonrpc2.Error{Code: 7, Data: &data}, Result: &result},
	} {
		if got := string(EncodeResponse([]byte("1.0"), r)); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if got, want := string(Refusal(-32600, "no", `{"a":1}`)), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no","data":{"a":1}}}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
