package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// completions is OpenAI's Chat Completions API: POST /v1/chat/completions.
type completions struct{}

// chatRequest is the part of a request body that decides.
type chatRequest struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	Messages []chatMessage `json:"messages"`
	// Tools tells the conversation from a side call, which has none.
	Tools []json.RawMessage `json:"tools"`
	// User is whatever the client names its user by.
	User string `json:"user"`
	// ResponseFormat asks for JSON.
	ResponseFormat struct {
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// chatMessage has content that is a string, a list of parts, or null.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// read takes the roles system and developer as no prompts; a result of a tool is a
// message of its own.
func (completions) read(body []byte) (exchange, error) {
	var req chatRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return exchange{}, fmt.Errorf("reading the request: %w", err)
	}
	schema := string(req.ResponseFormat.JSONSchema.Schema)
	ex := exchange{
		session: req.User, side: len(req.Tools) == 0 || schema != "", schema: schema,
		model: req.Model, stream: req.Stream,
	}
	messages := make([]message, len(req.Messages))
	for i, m := range req.Messages {
		texts, err := textsOf(m.Content)
		if err != nil {
			return ex, fmt.Errorf("reading message %d: %w", i, err)
		}
		messages[i] = message{role: m.Role, texts: texts, results: m.Role == "tool"}
	}
	ex.locate(messages)
	return ex, nil
}

// textsOf are the texts of content that is a string, a list of parts, or absent.
func textsOf(content json.RawMessage) ([]string, error) {
	var text string
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	if json.Unmarshal(content, &text) == nil {
		return []string{text}, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	err := json.Unmarshal(content, &parts)
	var texts []string
	for _, p := range parts {
		if p.Type == "text" || p.Type == "input_text" {
			texts = append(texts, p.Text)
		}
	}
	return texts, err
}

// count is asked for by nobody: the API has no address for it.
func (completions) count() string { return "{}" }

func (completions) voice(w http.ResponseWriter, ex exchange, id string, u usage) voice {
	return &chatAnswer{sse: sse{w: w}, id: id, model: ex.model, usage: u, stream: ex.stream}
}

// chatAnswer says one reply: piece by piece in a stream, or at the end. The head goes
// out with the first block or event, so that an error before it can be an HTTP error.
type chatAnswer struct {
	sse
	id     string
	model  string
	usage  usage
	stream bool

	kind  kind // of the open block
	text  strings.Builder
	think strings.Builder
	calls []*chatCall
}

// chatCall is one tool call so far.
type chatCall struct {
	name      string
	arguments strings.Builder
}

// open begins a block; only a tool call is told of.
func (a *chatAnswer) open(kind kind, name string) error {
	a.kind = kind
	if err := a.start(); err != nil || kind != toolBlock {
		return err
	}
	a.calls = append(a.calls, &chatCall{name: name})
	return a.delta(object{{"tool_calls", []object{{
		{"index", len(a.calls) - 1}, {"id", a.callID(len(a.calls) - 1)}, {"type", "function"},
		{"function", object{{"name", name}, {"arguments", ""}}},
	}}}})
}

func (a *chatAnswer) callID(i int) string { return fmt.Sprintf("call_%s_%d", a.id, i) }

// start says whose turn it is, once.
func (a *chatAnswer) start() error {
	if a.started || !a.stream {
		return nil
	}
	return a.delta(object{{"role", "assistant"}, {"content", ""}})
}

func (a *chatAnswer) write(piece string) error {
	switch a.kind {
	case thinkBlock:
		a.think.WriteString(piece)
		return a.delta(object{{"reasoning_content", piece}})
	case toolBlock:
		last := len(a.calls) - 1
		a.calls[last].arguments.WriteString(piece)
		return a.delta(object{{"tool_calls", []object{{{"index", last}, {"function", object{{"arguments", piece}}}}}}})
	}
	a.text.WriteString(piece)
	return a.delta(object{{"content", piece}})
}

// close has no word in this API.
func (a *chatAnswer) close() error { return nil }

func (a *chatAnswer) event(e event) error {
	if !a.stream {
		return nil
	}
	if err := a.start(); err != nil {
		return err
	}
	return a.put(append(object{{"type", e.name}}, e.data...))
}

// delta sends a piece of the choice; an answer in one piece has none.
func (a *chatAnswer) delta(delta object) error {
	if !a.stream {
		return nil
	}
	return a.put(a.frame("chat.completion.chunk", object{{"index", 0}, {"delta", delta}, {"finish_reason", nil}}))
}

// frame is what every answer looks like, around its choices.
func (a *chatAnswer) frame(kind string, choices ...object) object {
	return object{
		{"id", "chatcmpl-" + a.id}, {"object", kind}, {"created", 1}, {"model", a.model},
		{"choices", append([]object{}, choices...)},
	}
}

// chatStops are this API's words.
var chatStops = map[string]string{"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}

// finish ends the answer.
func (a *chatAnswer) finish(stop string, failed *failure) error {
	switch {
	case failed != nil && !a.started:
		return a.refuse(failed, a.problem(failed))
	case failed != nil:
		return a.put(a.problem(failed))
	}
	if word, ok := chatStops[stop]; ok {
		stop = word
	}
	if !a.stream {
		return a.send(append(a.frame("chat.completion", a.choice(stop)), member{"usage", a.counts()}))
	}
	if err := a.start(); err != nil {
		return err
	}
	last := a.frame("chat.completion.chunk", object{{"index", 0}, {"delta", object{}}, {"finish_reason", stop}})
	if err := a.put(last); err != nil {
		return err
	}
	if err := a.put(append(a.frame("chat.completion.chunk"), member{"usage", a.counts()})); err != nil {
		return err
	}
	return a.line("[DONE]")
}

// choice is the whole message.
func (a *chatAnswer) choice(stop string) object {
	said := object{{"role", "assistant"}, {"content", a.text.String()}}
	if a.think.Len() > 0 {
		said = append(said, member{"reasoning_content", a.think.String()})
	}
	var calls []object
	for i, c := range a.calls {
		calls = append(calls, object{{"id", a.callID(i)}, {"type", "function"},
			{"function", object{{"name", c.name}, {"arguments", c.arguments.String()}}}})
	}
	if calls != nil {
		said = append(said, member{"tool_calls", calls})
	}
	return object{{"index", 0}, {"message", said}, {"finish_reason", stop}}
}

// counts are the tokens; here the input holds what was cached.
func (a *chatAnswer) counts() object {
	in := a.usage.input + a.usage.cacheRead + a.usage.cacheWrite
	return object{
		{"prompt_tokens", in}, {"completion_tokens", a.usage.output}, {"total_tokens", in + a.usage.output},
		{"prompt_tokens_details", object{{"cached_tokens", a.usage.cacheRead}}},
	}
}

// problem is a failure as this API words it.
func (a *chatAnswer) problem(f *failure) object {
	kind := f.kind
	if kind == "" {
		kind = openAIErrors[f.status]
	}
	if kind == "" {
		kind = "server_error"
	}
	return object{{"error", object{{"message", f.message}, {"type", kind}, {"param", nil}, {"code", nil}}}}
}

// openAIErrors names the error type that goes with a status.
var openAIErrors = map[int]string{
	http.StatusBadRequest:      "invalid_request_error",
	http.StatusUnauthorized:    "authentication_error",
	http.StatusForbidden:       "permission_error",
	http.StatusNotFound:        "invalid_request_error",
	http.StatusTooManyRequests: "rate_limit_exceeded",
}
