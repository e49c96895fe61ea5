package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/transport"
)

// onlooker asks a gateway without being sent any session's events: it does not count as
// somebody who could be asked.
func (s *served) onlooker() (ask func(method, params string) string) {
	s.t.Helper()
	ws, id := s.raw(), 0
	ask = func(method, params string) string {
		s.t.Helper()
		id++
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
		if err := ws.WriteMessage(websocket.TextMessage, []byte(request)); err != nil {
			s.t.Fatal(err)
		}
		_, answer, err := ws.ReadMessage()
		if err != nil || !strings.HasPrefix(string(answer), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":`, id)) {
			s.t.Fatalf("%s: %s (%v)", method, answer, err)
		}
		return string(answer)
	}
	ask("initialize", `{"protocolVersion":2,"capabilities":{"events":"subscribed"}}`)
	return ask
}

// TestNoClientDenies: with --on-no-client deny a question whose last client has gone is
// denied once the grace is over, the turn goes on to its own end, and the stream says
// who decided. One that is asked where nobody is there any more waits for no grace; with
// somebody there again it is asked as ever.
func TestNoClientDenies(t *testing.T) {
	t.Parallel()
	s := serveOn(t, "--on-no-client", "deny")
	look := s.onlooker()
	f, err := transport.DialClient(t.Context(), s.url, transport.ClientOptions{TokenFile: s.file})
	if err != nil {
		t.Fatal(err)
	}
	c := clientOn(t, f)
	begins(t, c)
	if got := look("session/list", `{}`); !strings.Contains(got, `"pendingPermissions":1`) {
		t.Fatalf("the question did not stand: %s", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	ended := func() bool { return strings.Contains(look("session/list", `{}`), `"status":"idle"`) }
	if !within(ended) {
		t.Fatalf("the question waits for nobody: %s", look("session/list", `{}`))
	}
	past := look("events/replay", `{"sessionId":"s","fromSeq":1}`)
	for what, want := range map[string]int{`"type":"permission.resolved"`: 2, `"agent-server/by":"no-client"`: 2, `"stopReason":"end_turn"`: 1} {
		if got := strings.Count(past, what); got != want {
			t.Errorf("%s is there %d times, want %d: %s", what, got, want, past)
		}
	}

	begins(t, s.connect()) // who is there is asked
	if got := look("session/list", `{}`); !strings.Contains(got, `"pendingPermissions":1`) {
		t.Errorf("somebody is there, and is not asked: %s", got)
	}
}

// begins starts a turn that asks twice, and waits for its first question.
func begins(t *testing.T, c *client.Client) {
	t.Helper()
	feed := c.Follow("s")
	defer feed.Close()
	p := demoTurn(t, "sequence ask; ask")
	p.SessionID = new("s")
	started, err := c.StartTurn(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	started.Close()
	untilType(t, feed, protocol.TypePermissionRequested)
}
