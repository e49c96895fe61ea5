package claudecode

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

// What the CLI tells of the session is told on, where it is news.
func TestSessionInfo(t *testing.T) {
	t.Parallel()
	tr := fresh(t, protocol.RunConfig{})
	beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, succeed(tr, "id-2", `{"current_permission_mode":"plan","commands":[{"name":"compact"},7]}`),
		harness.SessionInfo{Mode: new("plan")},
		harness.SessionInfo{Commands: []protocol.Object{protocol.Object(`{"name":"compact"}`)}},
		harness.PromptWritten{})
	const init = `{"type":"system","subtype":"init","session_id":"native","model":"m","permissionMode":"plan","user_message_uuids":["id-1"]}`
	wantUpdates(t, feed(tr, init), harness.SessionInfo{Model: new("m")}, harness.Registered{}, harness.Created{NativeID: "native"})
	wantUpdates(t, feed(tr, init))
	wantUpdates(t, feed(tr, `{"type":"system","subtype":"status","status":null,"permissionMode":"default"}`),
		harness.SessionInfo{Mode: new("default")})
	wantUpdates(t, feed(tr, `{"type":"system","subtype":"session_title_changed","title":"Work"}`),
		harness.SessionInfo{Title: new("Work")})
}
