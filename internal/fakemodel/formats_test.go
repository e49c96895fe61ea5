package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// format is one API but the Messages API, whose tests are older.
type format struct {
	name string
	// address is where a streamed answer is asked for, and one in one piece.
	address [2]string
	// body asks a prompt, with tools or as a side call with a schema, after turns of
	// conversation: each a reply of the model and a tool's result.
	body func(prompt string, stream, tools bool, rounds int) obj
}

var formats = []format{
	{"chat", [2]string{"/v1/chat/completions", "/v1/chat/completions"}, func(prompt string, stream, tools bool, rounds int) obj {
		messages := []obj{{"role": "system", "content": "[[text say=no]]"}, {"role": "user", "content": []obj{text(prompt)}}}
		for range rounds {
			messages = append(messages, obj{"role": "assistant", "content": nil, "tool_calls": []obj{}}, obj{"role": "tool", "content": "[[text say=no]]"})
		}
		b := obj{"model": "m", "stream": stream, "messages": messages}
		if tools {
			b["tools"] = []obj{{"type": "function"}}
		} else {
			b["response_format"] = obj{"json_schema": obj{"schema": obj{"type": "object", "required": []string{"title"}, "properties": obj{"title": obj{"type": "string"}}}}}
		}
		return b
	}},
	{"gemini", [2]string{"/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta/models/m:generateContent"}, func(prompt string, _, tools bool, rounds int) obj {
		contents := []obj{{"role": "user", "parts": []obj{{"text": prompt}}}}
		for range rounds {
			contents = append(contents, obj{"role": "model", "parts": []obj{{"functionCall": obj{}}}},
				obj{"role": "user", "parts": []obj{{"functionResponse": obj{"response": "[[text say=no]]"}}}})
		}
		b := obj{"contents": contents}
		if tools {
			b["tools"] = []obj{{}}
		} else {
			b["generationConfig"] = obj{"responseJsonSchema": obj{"type": "object", "required": []string{"title"}, "properties": obj{"title": obj{"type": "string"}}}}
		}
		return b
	}},
}

// asked is the answer to a request of a format.
func (f format) asked(t *testing.T, srv *Server, prompt string, stream, tools bool, rounds int) (int, string) {
	t.Helper()
	body, err := json.Marshal(f.body(prompt, stream, tools, rounds))
	if err != nil {
		t.Fatal(err)
	}
	address := f.address[1]
	if stream {
		address = f.address[0]
	}
	resp := request(bounded(t), t, http.MethodPost, srv.URL()+address, body)
	got, err := io.ReadAll(resp.Body)
	if err != nil && !strings.Contains(prompt, "cut") {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

// The exact bytes on the wire, streamed and in one piece.
func TestGoldenFormats(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for _, f := range formats {
		for name, prompt := range map[string]string{
			"hello":   "hello",
			"tool":    `[[think say=a]] [[text say="I run it." pieces=2]] [[tool name=run input={"command":"echo hi"}]] [[tool name=run input={} ]]`,
			"error":   `[[text say=a pieces=1]] [[error status=503 message=later]]`,
			"refused": `[[error status=401 retry_after=3]]`,
			"event":   `[[event data={"a":1}]] [[text say=a pieces=1]] [[stop reason=max_tokens]] [[usage input=7 output=2 cache_read=3]]`,
		} {
			var all strings.Builder
			for _, stream := range []bool{true, false} {
				status, got := f.asked(t, srv, prompt, stream, true, 0)
				fmt.Fprintf(&all, "%d\n%s\n", status, got)
			}
			golden(t, filepath.Join("testdata", f.name, name+".txt"), []byte(all.String()))
		}
	}
}

// The round goes by what the model has said, and results of tools are no scripts.
func TestFormatRounds(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	const prompt = "[[text say=first]][[then]][[text say=second]]"
	for _, f := range formats {
		for rounds, want := range []string{"first", "second", FinalText} {
			if _, got := f.asked(t, srv, prompt, false, true, rounds); !strings.Contains(got, want) {
				t.Errorf("%s, round %d: %s", f.name, rounds, got)
			}
		}
	}
}

// A side call gets what fits its schema, whatever its prompt quotes.
func TestFormatSideCalls(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for _, f := range formats {
		_, got := f.asked(t, srv, "[[text say=no]]", false, false, 0)
		if !strings.Contains(got, `{\"title\":`) {
			t.Errorf("%s: %s", f.name, got)
		}
	}
}

// What is no request is refused in the API's own words, a script's mistake too.
func TestFormatFaults(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for _, f := range formats {
		if status, got := f.asked(t, srv, "[[nothing]]", true, true, 0); status != 400 || !strings.Contains(got, "no such marker") {
			t.Errorf("%s: %d %s", f.name, status, got)
		}
		resp := request(bounded(t), t, http.MethodPost, srv.URL()+f.address[1], []byte("no json"))
		if got, _ := io.ReadAll(resp.Body); resp.StatusCode != 400 || !strings.Contains(string(got), "reading the request") {
			t.Errorf("%s: %d %s", f.name, resp.StatusCode, got)
		}
	}
}

// A count of tokens is no conversation.
func TestGeminiCounts(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	resp := request(bounded(t), t, http.MethodPost, srv.URL()+"/v1beta/models/m:countTokens", []byte("{}"))
	got, err := io.ReadAll(resp.Body)
	if diff := cmp.Diff(`{"totalTokens":100}`, string(got)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	resp = request(bounded(t), t, http.MethodPost, srv.URL()+"/v1beta/models/m:embedContent", []byte("{}"))
	if resp.StatusCode != 404 {
		t.Errorf("an address of no use answers %d", resp.StatusCode)
	}
}
