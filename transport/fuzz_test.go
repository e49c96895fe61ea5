package transport_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

// FuzzServe: whatever bytes come, the connection lives and every request has
// exactly one answer under its own id. What is a request is judged here by the
// standard library, not by ours.
func FuzzServe(f *testing.F) {
	for _, s := range []string{
		"", "\n\n", `{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":-3.50,"method":"m","params":[1]}` + "\r\n{",
		`[{"jsonrpc":"2.0","id":"a","method":"m"},1,{"jsonrpc":"2.0","method":"m"}]`, "{\"jsonrpc\":\"2.0\",\"id\":\"a\xff\xfe\",\"method\":\"m\"}",
		"[]", "[[[", "null\n1\n\"\"",
		`{"jsonrpc":"2.0","id":null,"error":{}}`, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\u2028\",\"method\":\"\x00\"}",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}` + "\n" + `{"id":3,"jsonrpc":"2.0","method":"m"}`,
		strings.Repeat("x", 300) + "\n" + `{"jsonrpc":"2.0","id":9,"method":"m"}`,
	} {
		f.Add([]byte(s))
	}
	const limit = 256
	f.Fuzz(func(t *testing.T, in []byte) {
		got := say(t, string(in)+"\n"+`{"jsonrpc":"2.0","id":"last","method":"m"}`, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
			send(c, r, "1")
		}, limit)
		var ids []string
		for _, line := range got {
			ids = append(ids, idsOf(t, line)...)
		}
		if want := expected(string(in), limit); !cmp.Equal(want, ids) {
			t.Errorf("answered ids:\n%q\nwant\n%q", ids, want)
		}
	})
}

// idsOf lists the ids that a line of ours answers; it must be whole and clean.
func idsOf(t *testing.T, line string) (ids []string) {
	if strings.ContainsAny(line, "\r\u2028\u2029") || !json.Valid([]byte(line)) || strings.ToValidUTF8(line, "?") != line {
		t.Errorf("line is not fit for the wire: %q", line)
	}
	members := []json.RawMessage{json.RawMessage(line)}
	if line[0] == '[' {
		_ = json.Unmarshal([]byte(line), &members)
	}
	for _, m := range members {
		var a map[string]json.RawMessage
		if err := json.Unmarshal(m, &a); err != nil || (a["result"] == nil) == (a["error"] == nil) {
			t.Errorf("no answer: %s", m)
		}
		ids = append(ids, string(a["id"]))
	}
	slices.Sort(ids)
	return ids
}

// expected are the ids that an input has to be answered with, line by line; in a
// batch sorted, since its members may be answered in any order.
func expected(in string, limit int) []string {
	ids := []string{}
	for _, line := range strings.Split(in, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch trimmed := bytes.Trim([]byte(line), " \t\r"); {
		case len(line) > limit:
			ids = append(ids, "null")
		case len(trimmed) == 0:
		default:
			of := idsFor(trimmed)
			slices.Sort(of)
			ids = append(ids, of...)
		}
	}
	return append(ids, `"last"`)
}

func idsFor(value []byte) (ids []string) {
	var members []json.RawMessage
	switch {
	case !json.Valid(value):
		return []string{"null"}
	case value[0] != '[':
		return idFor(value)
	}
	_ = json.Unmarshal(value, &members)
	if len(members) == 0 || len(members) > 100 {
		return []string{"null"}
	}
	for _, m := range members {
		ids = append(ids, idFor(m)...)
	}
	return ids
}

// idFor is the id that one message has to be answered with; none if it is owed
// no answer.
func idFor(value []byte) []string {
	var m map[string]json.RawMessage
	var version, method string
	if json.Unmarshal(value, &m) != nil || m == nil || json.Unmarshal(m["jsonrpc"], &version) != nil || version != "2.0" {
		return []string{"null"}
	}
	id, present := m["id"]
	idKind := byte('n')
	if present && id[0] != 'n' {
		idKind = id[0]
	}
	proper := present && (idKind == '"' || idKind == '-' || idKind >= '0' && idKind <= '9')
	if raw := m["method"]; len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &method) == nil {
		if !proper {
			return nil
		}
		return []string{clean(string(id))}
	}
	if (m["result"] != nil || m["error"] != nil) && (proper || present && id[0] == 'n') {
		return nil
	}
	return []string{"null"}
}

// clean is an id as it may be written.
func clean(id string) string {
	id = strings.Map(func(r rune) rune { return r }, id) // each bad byte becomes U+FFFD
	id = strings.ReplaceAll(id, "\u2028", `\u2028`)
	return strings.ReplaceAll(id, "\u2029", `\u2029`)
}
