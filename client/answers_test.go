package client_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"agent-server/transport"
)

// TestLaw15_oneAnswer: whatever is asked, in whatever order and however badly, over a
// real gateway: each id has exactly one answer, and what has none is answered with
// null.
func TestLaw15_oneAnswer(t *testing.T) {
	t.Parallel()
	const requests = 300
	g := start(t)
	conn := pipe(t, g)
	f := transport.NDJSON(conn, conn, 0, 0, conn.Close)
	r := rand.New(rand.NewPCG(15, 15))
	asked, nameless := map[string]int{}, 0
	go func() {
		for id := range requests {
			_ = f.Write([]byte(ask(r, id) + "\n"))
		}
	}()
	for id := range requests {
		asked[fmt.Sprint(id)] = 0
	}
	for missing := requests; missing > 0 || nameless < requests/10; {
		line, err := f.Next()
		if err != nil {
			t.Fatalf("with %d to come: %v", missing, err)
		}
		var a struct {
			ID            json.RawMessage
			Result, Error json.RawMessage
			Method        string
		}
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		switch id := string(a.ID); {
		case a.Method != "":
		case (a.Result == nil) == (a.Error == nil):
			t.Errorf("no answer, or two in one: %s", line)
		case id == "null":
			nameless++
		default:
			if asked[id]++; asked[id] == 1 {
				missing--
			}
		}
	}
	// Behind the last answer nothing more comes but this one.
	_ = f.Write([]byte(`{"jsonrpc":"2.0","id":"last","method":"turn/cancel","params":{"sessionId":"nobody"}}` + "\n"))
	for last := false; !last; {
		line, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		var a struct{ ID json.RawMessage }
		_ = json.Unmarshal(line, &a)
		if a.ID != nil {
			last = string(a.ID) == `"last"`
			asked[string(a.ID)]++
		}
	}
	for id, n := range asked {
		if n != 1 {
			t.Errorf("%s was answered %d times", id, n)
		}
	}
}

// ask is a request with an id, some with rubbish in front that has none.
func ask(r *rand.Rand, id int) string {
	session := fmt.Sprint("s", r.IntN(3))
	start := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"turn/start","params":{"sessionId":%q,"turnId":"t%d","input":"hello","config":{"harness":"demo","cwd":"/"}}}`, id, session, r.IntN(4))
	line := []string{
		start, start,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"turn/cancel","params":{"sessionId":%q}}`, id, session),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"events/replay","params":{"sessionId":%q,"fromSeq":1}}`, id, session),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/close","params":{"sessionId":%q}}`, id, session),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"permission/respond","params":{"sessionId":%q,"requestId":"r","outcome":{"outcome":"cancelled"}}}`, id, session),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"no/such","params":[1]}`, id),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"turn/start","params":{"input":7}}`, id),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize"}`, id),
	}[r.IntN(9)]
	if id%5 == 0 {
		return `{"rubbish":` + "\n" + line
	}
	return line
}
