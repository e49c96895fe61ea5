package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"agent-server/protocol"
)

// mcpVar makes the test binary an MCP server on stdio, which says its value.
const mcpVar = "AGENT_SERVER_E2E_MCP"

// isMCP says whether this process is such a server, and has served.
func isMCP() bool {
	name := os.Getenv(mcpVar)
	if name != "" {
		serveMCP(name, os.Stdin, os.Stdout)
	}
	return name != ""
}

// serveMCP serves MCP on stdin and stdout, to their end.
func serveMCP(name string, in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if answer := answerMCP(name, lines.Bytes()); answer != nil {
			_, _ = out.Write(append(answer, '\n'))
		}
	}
}

// answerMCP answers one message of MCP; nil: none is due. The server has one tool,
// echo, which says the server's name and the text that it is given.
func answerMCP(name string, line []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version   string            `json:"protocolVersion"`
			Arguments map[string]string `json:"arguments"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil {
		return nil
	}
	var result any = object{}
	switch m.Method {
	case "initialize":
		result = object{"protocolVersion": m.Params.Version, "capabilities": object{"tools": object{}},
			"serverInfo": object{"name": name, "version": "1"}}
	case "tools/list":
		result = object{"tools": []object{{"name": "echo", "description": "Say it again.", "inputSchema": object{
			"type": "object", "properties": object{"text": object{"type": "string"}}}}}}
	case "tools/call":
		result = object{"content": []object{{"type": "text", "text": name + " says " + m.Params.Arguments["text"]}}}
	}
	answer, _ := json.Marshal(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
	return answer
}

// httpMCP is an MCP server that answers each request by itself. It wants the header
// that its config names.
func httpMCP(t *testing.T, name string) protocol.MCPServer {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := answerMCP(name, body)
		switch {
		case r.Header.Get("X-Key") != "secret":
			w.WriteHeader(http.StatusForbidden)
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case answer == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
		}
	}))
	t.Cleanup(srv.Close)
	return protocol.MCPServer{Type: protocol.MCPHTTP, URL: srv.URL, Headers: map[string]string{"X-Key": "secret"}}
}

// sseMCP is an MCP server that answers on a stream of its own.
func sseMCP(t *testing.T, name string) protocol.MCPServer {
	answers, over := make(chan []byte, 16), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case answer := <-answers:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
			case <-r.Context().Done():
				return
			case <-over:
				return
			}
		}
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if answer := answerMCP(name, body); answer != nil {
			answers <- answer
		}
		w.WriteHeader(http.StatusAccepted)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { close(over); srv.Close() })
	return protocol.MCPServer{Type: protocol.MCPSSE, URL: srv.URL + "/sse"}
}

// stdioMCP is this test binary as an MCP server.
func stdioMCP(t *testing.T, name string) protocol.MCPServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return protocol.MCPServer{Type: protocol.MCPStdio, Command: self, Env: map[string]string{mcpVar: name}}
}
