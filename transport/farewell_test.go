package transport

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// TestLineOutlivesClose: who was given a line may be at it while another closes the
// socket, whatever the peer still sends.
func TestLineOutlivesClose(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		_ = ws.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte("a"), 1000))
		<-more
		for range 50 {
			if ws.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte("b"), 1000)) != nil {
				return
			}
		}
	}))
	defer srv.Close()
	f, err := DialClient(context.Background(), "ws"+strings.TrimPrefix(srv.URL, "http"), ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	line, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	close(more)
	_ = f.Close() // it waits for the farewell, which reads what comes
	if string(line) != strings.Repeat("a", 1000) {
		t.Errorf("the line became %.40q…", line)
	}
}
