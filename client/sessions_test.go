package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/transport"
)

// lister answers session/list in pages, by cursor; it answers initialize first.
func lister(peer net.Conn, pages map[string]string) {
	lines := bufio.NewScanner(peer)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Cursor string `json:"cursor"`
			} `json:"params"`
		}
		result := `{"protocolVersion":2,"server":{"name":"x"},"instanceId":"i","harnesses":{}}`
		if json.Unmarshal(lines.Bytes(), &m); m.Method == protocol.MethodSessionList {
			result = pages[m.Params.Cursor]
		}
		if m.Method == protocol.MethodHarnessList {
			result = pages[m.Method]
		}
		fmt.Fprintf(peer, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// TestSessions: all pages are asked for, in order; a server that goes on giving
// cursors to nothing is asked no further.
func TestSessions(t *testing.T) {
	t.Parallel()
	entry := func(id string) string {
		return `{"sessionId":"` + id + `","harness":"acp","cwd":"/","status":"idle","latestSeq":1,"createdAt":1,"updatedAt":1,"queuedTurns":0,"pendingPermissions":0,"backgroundTasks":0}`
	}
	here, there := net.Pipe()
	go lister(there, map[string]string{
		"":  `{"sessions":[` + entry("a") + `,` + entry("b") + `],"nextCursor":"2"}`,
		"2": `{"sessions":[` + entry("c") + `],"nextCursor":"3"}`,
		"3": `{"sessions":[],"nextCursor":"3"}`,
	})
	c := over(t, transport.NDJSON(here, here, 0, 0, here.Close), client.Options{})
	got, err := c.Sessions(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var ids string
	for _, e := range got {
		ids += e.SessionID
	}
	if ids != "abc" {
		t.Errorf("sessions %q, want a, b and c", ids)
	}
}

// TestHarnesses: the list is what the gateway says, and what it may leave out.
func TestHarnesses(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	go lister(there, map[string]string{protocol.MethodHarnessList: `{"harnesses":[{"id":"a","available":true,"version":"1.2","login":"found","news":1},{"id":"b","available":false,"reason":"gone"}]}`})
	c := over(t, transport.NDJSON(here, here, 0, 0, here.Close), client.Options{})
	got, err := c.Harnesses(within(t))
	if err != nil || len(got) != 2 || *got[0].Version != "1.2" || *got[0].Login != protocol.LoginFound || got[1].Available || *got[1].Reason != "gone" {
		t.Errorf("harnesses %+v, %v", got, err)
	}
}
