package rpcline

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	raw := func(s string) jsontext.Value { return jsontext.Value(s) }
	tests := []struct {
		name, line string
		want       Message
	}{
		{"request", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}`,
			Message{Kind: Request, ID: raw("7"), Method: "m", Params: raw(`{"a":1}`)}},
		{"request numbered 0", `{"id":0,"method":"m"}`, Message{Kind: Request, ID: raw("0"), Method: "m"}},
		{"id as it is spelled", `{"id":1.50e1,"method":"m"}`, Message{Kind: Request, ID: raw("1.50e1"), Method: "m"}},
		{"id that is a string", `{"id":"7","method":"m"}`, Message{Kind: Request, ID: raw(`"7"`), Method: "m"}},
		{"id that is empty", `{"id":"","method":"m"}`, Message{Kind: Request, ID: raw(`""`), Method: "m"}},
		{"notification", `{"method":"m","params":[1]}`, Message{Kind: Notification, Method: "m", Params: raw("[1]")}},
		{"id null is none", `{"id":null,"method":"m"}`, Message{Kind: Notification, Method: "m"}},
		{"members in any order", `{"params":{},"method":"m","id":2,"jsonrpc":"2.0"}`,
			Message{Kind: Request, ID: raw("2"), Method: "m", Params: raw("{}")}},
		{"answer", `{"jsonrpc":"2.0","result":{"x":[]},"id":3}`,
			Message{Kind: Answer, ID: raw("3"), Result: raw(`{"x":[]}`)}},
		{"answer of nothing", `{"id":3,"result":null}`, Message{Kind: Answer, ID: raw("3"), Result: raw("null")}},
		{"error", `{"id":3,"error":{"code":-32603,"message":"no","data":{"d":1}}}`,
			Message{Kind: Answer, ID: raw("3"), Error: &Error{Code: CodeInternal, Message: "no", Data: raw(`{"d":1}`)}}},
		{"error without an id", `{"error":{"code":-32700,"message":"Parse error"}}`,
			Message{Kind: Answer, Error: &Error{Code: CodeParse, Message: "Parse error"}}},
		{"error beside a result", `{"id":3,"result":{},"error":{"code":1,"message":"no"}}`,
			Message{Kind: Answer, ID: raw("3"), Error: &Error{Code: 1, Message: "no"}}},
		{"error that is null", `{"id":3,"result":{},"error":null}`, Message{Kind: Answer, ID: raw("3"), Result: raw("{}")}},
		{"error of another shape", `{"id":3,"error":"no"}`,
			Message{Kind: Answer, ID: raw("3"), Error: &Error{Code: CodeInternal, Message: `"no"`}}},
		{"method that is no string", `{"id":3,"method":5}`, Message{ID: raw("3")}},
		{"log line", `{"level":"info"}`, Message{}},
		{"empty object", `{}`, Message{}},
		{"duplicate member", `{"method":"a","method":"b"}`, Message{Kind: Notification, Method: "b"}},
		{"no UTF-8", "{\"method\":\"a\xff\"}", Message{Kind: Notification, Method: "a\uFFFD"}},
		{"half a surrogate pair", `{"method":"a\ud83d"}`, Message{Kind: Notification, Method: "a\uFFFD"}},
		{"colour before it", "\x1b[1;31m{\"method\":\"m\"}", Message{Kind: Notification, Method: "m"}},
		{"title before it", "\x1b]0;demo\a\x1b[0m {\"method\":\"m\"}", Message{Kind: Notification, Method: "m"}},
		{"title that ends in ST", "\x1b]0;demo\x1b\\{\"method\":\"m\"}", Message{Kind: Notification, Method: "m"}},
		{"white space around it", " \t{\"method\":\"m\"} \r", Message{Kind: Notification, Method: "m"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSkipsNoise(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", " ", "\r", "banner", "42", "null", "[]", `["a"]`, `[{"method":"m"}]`, `"a string"`, `{"cut":`,
		`{"method":"m"} and more`, "\x1b", "\x1b[31m", "\x1b[", "\x1b]0;title", "\x1b]0;\x1b", "\x00\x01", "\xff",
		"text before {\"method\":\"m\"}",
	} {
		if m, err := Parse([]byte(line)); !errors.Is(err, ErrNoObject) {
			t.Errorf("Parse(%q) = %+v, %v; want ErrNoObject", line, m, err)
		}
	}
}

func TestParseSharesNothingWithTheLine(t *testing.T) {
	t.Parallel()
	line := []byte(`{"id":"abc","method":"name","params":{"a":1}}`)
	m, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	for i := range line {
		line[i] = 'x'
	}
	want := Message{Kind: Request, ID: jsontext.Value(`"abc"`), Method: "name", Params: jsontext.Value(`{"a":1}`)}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("the message changed with the line (-want +got):\n%s", diff)
	}
}

// FuzzParse: nothing panics, and what is a request can be answered with its own
// id in one valid line.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"m"}`, `{"id":"\ud800","method":"m"}`, "\x1b]0;t\a{}", "\x1b[0m{\"id\":\"\xff\",\"method\":\"\"}",
		`{"id":{"a":[1,{}]},"method":"m"}`, `{"error":{"code":1e99}}`, "\x1b\x1b\x1b[",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Parse(line)
		if err != nil || m.Kind != Request {
			return
		}
		answer := Framing{}.AppendError(nil, m.ID, Error{Code: CodeMethodNotFound})
		back, err := Parse(answer)
		if err != nil || back.Kind != Answer || back.ID == nil {
			t.Errorf("the answer %q to %q reads as %+v, %v", answer, line, back, err)
		}
	})
}
