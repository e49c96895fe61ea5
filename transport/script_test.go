package transport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

// What the stream answers by itself; ids that could not be read are null.
const (
	notJSON    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not valid JSON"}}`
	notRequest = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC 2.0 request"}}`
	emptyBatch = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an empty batch"}}`
	longBatch  = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch of more than 100 members"}}`
	noMethod   = `"error":{"code":-32601,"message":"Method not found"}}`
)

// script is what goes in, and the lines that come back.
type script struct {
	name string
	in   string
	want []string
}

func play(t *testing.T, scripts []script, h handler) {
	t.Helper()
	for _, sc := range scripts {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			// A request behind it shows that the connection lives.
			in := strings.TrimSuffix(sc.in, "\n") + "\n" + `{"jsonrpc":"2.0","method":"alive","id":"last"}`
			got := say(t, in, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
				if r.Method == "alive" {
					send(c, r, "true")
					return
				}
				h(c, r)
			}, 0)
			want := append(append([]string(nil), sc.want...), `{"jsonrpc":"2.0","id":"last","result":true}`)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

// arithmetic serves the methods that the specification's examples call.
func arithmetic(conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var list []int
	var named struct{ Subtrahend, Minuend int }
	if req.Params != nil && json.Unmarshal(*req.Params, &list) != nil {
		_ = json.Unmarshal(*req.Params, &named)
		list = []int{named.Minuend, named.Subtrahend}
	}
	switch req.Method {
	case "subtract":
		send(conn, req, fmt.Sprint(list[0]-list[1]))
	case "sum":
		send(conn, req, fmt.Sprint(list[0]+list[1]+list[2]))
	case "get_data":
		send(conn, req, `["hello",5]`)
	default:
		_ = conn.ReplyWithError(context.Background(), req.ID, &jsonrpc2.Error{Code: -32601, Message: "Method not found"})
	}
}

// TestSpecExamples plays every example of the JSON-RPC 2.0 specification.
func TestSpecExamples(t *testing.T) {
	t.Parallel()
	play(t, []script{
		{"positional 1", `{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}`, []string{`{"jsonrpc":"2.0","id":1,"result":19}`}},
		{"positional 2", `{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}`, []string{`{"jsonrpc":"2.0","id":2,"result":-19}`}},
		{"named 1", `{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}`,
			[]string{`{"jsonrpc":"2.0","id":3,"result":19}`}},
		{"named 2", `{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}`,
			[]string{`{"jsonrpc":"2.0","id":4,"result":19}`}},
		{"notification", `{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}`, nil},
		{"notification without params", `{"jsonrpc": "2.0", "method": "foobar"}`, nil},
		{"no such method", `{"jsonrpc": "2.0", "method": "foobar", "id": "1"}`, []string{`{"jsonrpc":"2.0","id":"1",` + noMethod}},
		{"invalid JSON", `{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]`, []string{notJSON}},
		{"invalid request", `{"jsonrpc": "2.0", "method": 1, "params": "bar"}`, []string{notRequest}},
		{"batch, invalid JSON", `[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]`, []string{notJSON}},
		{"empty batch", `[]`, []string{emptyBatch}},
		{"batch of one, invalid", `[1]`, []string{"[" + notRequest + "]"}},
		{"batch of three, invalid", `[1,2,3]`, []string{"[" + notRequest + "," + notRequest + "," + notRequest + "]"}},
		{"batch", `[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},` +
			`{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},` +
			`{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},{"foo": "boo"},` +
			`{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},` +
			`{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]`,
			[]string{"[" + strings.Join([]string{notRequest, `{"jsonrpc":"2.0","id":"1","result":7}`, `{"jsonrpc":"2.0","id":"2","result":19}`,
				`{"jsonrpc":"2.0","id":"5",` + noMethod, `{"jsonrpc":"2.0","id":"9","result":["hello",5]}`}, ",") + "]"}},
		{"batch of notifications", `[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]`, nil},
	}, arithmetic)
}

// TestIDs: an id comes back digit for digit; what is no id makes a notification.
func TestIDs(t *testing.T) {
	t.Parallel()
	var scripts []script
	for _, id := range []string{"1", "0", "-0", "-3", "1.5", "1.0", "2.50", "1e3", "1E400", "-1e-400", "18446744073709551616",
		"123456789012345678901234567890", `""`, `"1"`, `"null"`, `"é日本"`, `"\u00e9\"\\\/"`, `"\ud800"`, `" "`} {
		scripts = append(scripts, script{id, `{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`, []string{`{"jsonrpc":"2.0","id":` + id + `,"result":"m absent"}`}})
	}
	for _, id := range []string{"null", "true", "false", "{}", `{"a":1}`, "[]", "[1]"} {
		scripts = append(scripts, script{"no id " + id, `{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`, nil})
	}
	scripts = append(scripts,
		script{"separators are escaped", "{\"jsonrpc\":\"2.0\",\"id\":\"a\u2028b\u2029\",\"method\":\"m\"}",
			[]string{`{"jsonrpc":"2.0","id":"a\u2028b\u2029","result":"m absent"}`}},
		script{"invalid UTF-8 is replaced", "{\"jsonrpc\":\"2.0\",\"id\":\"a\xff\",\"method\":\"m\"}",
			[]string{"{\"jsonrpc\":\"2.0\",\"id\":\"a\uFFFD\",\"result\":\"m absent\"}"}},
		script{"the last of two ids", `{"jsonrpc":"2.0","id":1,"method":"m","id":2}`, []string{`{"jsonrpc":"2.0","id":2,"result":"m absent"}`}},
		script{"one id twice", `{"jsonrpc":"2.0","id":7,"method":"a"}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"b"}`,
			[]string{`{"jsonrpc":"2.0","id":7,"result":"a absent"}`, `{"jsonrpc":"2.0","id":7,"result":"b absent"}`}},
		script{"a number beside the same string", `[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":"1","method":"b"}]`,
			[]string{`[{"jsonrpc":"2.0","id":1,"result":"a absent"},{"jsonrpc":"2.0","id":"1","result":"b absent"}]`}})
	play(t, scripts, echo)
}

// TestRefusals: what is no request is answered with id null, and reading goes on.
func TestRefusals(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000)
	play(t, []script{
		{"no JSON", `hello`, []string{notJSON}},
		{"half a line", `{"jsonrpc":"2.0",`, []string{notJSON}},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"m"}{"jsonrpc":"2.0","id":2,"method":"m"}`, []string{notJSON}},
		{"NUL", "\x00", []string{notJSON}},
		{"NUL in a string", "{\"jsonrpc\":\"2.0\",\"id\":\"\x00\",\"method\":\"m\"}", []string{notJSON}},
		{"byte order mark", "\uFEFF{}", []string{notJSON}},
		{"no-break space is no blank", "\u00A0", []string{notJSON}},
		{"NaN", `{"jsonrpc":"2.0","id":NaN,"method":"m"}`, []string{notJSON}},
		{"single quotes", `{'jsonrpc':'2.0'}`, []string{notJSON}},
		{"trailing comma", `{"jsonrpc":"2.0","id":1,"method":"m",}`, []string{notJSON}},
		{"leading zero", `{"jsonrpc":"2.0","id":01,"method":"m"}`, []string{notJSON}},
		{"nested without end", deep, []string{notJSON}},
		{"nested with an end", deep + strings.Repeat("]", 100_000), []string{notJSON}},
		{"nested inside params", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + deep + strings.Repeat("]", 100_000) + `}`, []string{notJSON}},
		{"number", `1`, []string{notRequest}},
		{"string", `"m"`, []string{notRequest}},
		{"null", `null`, []string{notRequest}},
		{"true", `true`, []string{notRequest}},
		{"empty object", `{}`, []string{notRequest}},
		{"no version", `{"id":1,"method":"m"}`, []string{notRequest}},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"m"}`, []string{notRequest}},
		{"version as number", `{"jsonrpc":2.0,"id":1,"method":"m"}`, []string{notRequest}},
		{"version null", `{"jsonrpc":null,"id":1,"method":"m"}`, []string{notRequest}},
		{"name in another case", `{"JSONRPC":"2.0","id":1,"method":"m"}`, []string{notRequest}},
		{"method in another case", `{"jsonrpc":"2.0","id":1,"Method":"m"}`, []string{notRequest}},
		{"no method", `{"jsonrpc":"2.0","id":1}`, []string{notRequest}},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, []string{notRequest}},
		{"response with a bool id", `{"jsonrpc":"2.0","id":true,"result":1}`, []string{notRequest}},
		{"response without an id", `{"jsonrpc":"2.0","result":1}`, []string{notRequest}},
		{"batch of batches", `[[{"jsonrpc":"2.0","id":1,"method":"m"}]]`, []string{"[" + notRequest + "]"}},
	}, echo)
}

// TestTolerated: odd, but requests, notifications or responses all the same.
func TestTolerated(t *testing.T) {
	t.Parallel()
	ok := []string{`{"jsonrpc":"2.0","id":1,"result":"m absent"}`}
	play(t, []script{
		{"blank lines", "\n \n\t\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, ok},
		{"CR LF", `{"jsonrpc":"2.0","id":1,"method":"m"}` + "\r\n", ok},
		{"space around", " \t" + `{ "jsonrpc" : "2.0" , "id" : 1 , "method" : "m" }` + " \t", ok},
		{"version spelled otherwise", `{"jsonrpc":"2\u002e0","id":1,"method":"m"}`, ok},
		{"names spelled otherwise", `{"\u006asonrpc":"2.0","\u0069d":1,"\u006dethod":"m"}`, ok},
		{"unknown members", `{"x":{"id":9},"jsonrpc":"2.0","id":1,"method":"m","meta":null}`, ok},
		{"members in any order", `{"method":"m","id":1,"jsonrpc":"2.0"}`, ok},
		{"a request with a result", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, ok},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, []string{`{"jsonrpc":"2.0","id":1,"result":" absent"}`}},
		{"params null", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, []string{`{"jsonrpc":"2.0","id":1,"result":"m null"}`}},
		{"params a number", `{"jsonrpc":"2.0","id":1,"method":"m","params":1.50}`, []string{`{"jsonrpc":"2.0","id":1,"result":"m 1.50"}`}},
		{"params byte for byte", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"b": 1e5,"a":[ ],"b":-0.0}}`,
			[]string{`{"jsonrpc":"2.0","id":1,"result":"m {\"b\": 1e5,\"a\":[ ],\"b\":-0.0}"}`}},
		{"the last of two params", `{"jsonrpc":"2.0","params":[1],"id":1,"method":"m","params":[2]}`, []string{`{"jsonrpc":"2.0","id":1,"result":"m [2]"}`}},
		{"responses are dropped", `{"jsonrpc":"2.0","id":0,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}` + "\n" +
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}` + "\n" + `{"jsonrpc":"2.0","id":0,"result":null}`, nil},
		{"responses in a batch", `[{"jsonrpc":"2.0","id":0,"result":{}},{"jsonrpc":"2.0","id":1,"method":"m"}]`,
			[]string{`[{"jsonrpc":"2.0","id":1,"result":"m absent"}]`}},
		{"a batch of responses", `[{"jsonrpc":"2.0","id":0,"result":{}},{"jsonrpc":"2.0","id":null,"error":{}}]`, nil},
		{"depth below the bound", `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
			[]string{`{"jsonrpc":"2.0","id":1,"result":"m ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `"}`}},
	}, echo)
}

// TestBatchBound: a hundred members are served, one more refuses the batch.
func TestBatchBound(t *testing.T) {
	t.Parallel()
	members, answers := make([]string, 100), make([]string, 100)
	for i := range members {
		members[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i)
		answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"m absent"}`, i)
	}
	all := strings.Join(members, ",")
	play(t, []script{
		{"a hundred", "[" + all + "]", []string{"[" + strings.Join(answers, ",") + "]"}},
		{"a hundred and one", "[" + all + `,{"jsonrpc":"2.0","method":"note"}]`, []string{longBatch}},
		{"very many", "[" + strings.Repeat("1,", 300_000) + "1]", []string{longBatch}},
	}, echo)
}
