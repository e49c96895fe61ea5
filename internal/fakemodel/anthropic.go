package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// anthropic is the Messages API: POST /v1/messages and /v1/messages/count_tokens.
type anthropic struct{}

// anthropicRequest is the part of a request body that decides.
type anthropicRequest struct {
	Model    string             `json:"model"`
	Stream   bool               `json:"stream"`
	Messages []anthropicMessage `json:"messages"`
	// Tools tells the conversation from a side call, which has none.
	Tools []json.RawMessage `json:"tools"`
	// Metadata holds the CLI's session id, inside a string; it is compared as a whole.
	Metadata json.RawMessage `json:"metadata"`
	// OutputConfig.Format asks for JSON, as title calls do.
	OutputConfig struct {
		Format anthropicFormat `json:"format"`
	} `json:"output_config"`
	// OutputFormat is the same as OutputConfig.Format, in older clients.
	OutputFormat anthropicFormat `json:"output_format"`
}

// anthropicFormat is a JSON schema that the answer has to fit.
type anthropicFormat struct {
	Schema json.RawMessage `json:"schema"`
}

// anthropicMessage has content that is a string or a list of blocks.
type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// anthropicBlock is a content block of a request; only text and tool_result matter.
type anthropicBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// read takes the order of the conversation as it comes. Messages of the role system, which
// newer CLIs send between the others, are no prompts.
func (anthropic) read(body []byte) (exchange, error) {
	var req anthropicRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return exchange{}, fmt.Errorf("reading the request: %w", err)
	}
	schema := string(req.OutputConfig.Format.Schema) + string(req.OutputFormat.Schema)
	ex := exchange{
		session: string(req.Metadata),
		side:    len(req.Tools) == 0 || schema != "",
		schema:  schema,
		model:   req.Model,
		stream:  req.Stream,
	}
	messages := make([]message, len(req.Messages))
	for i, m := range req.Messages {
		var err error
		if messages[i], err = m.plain(); err != nil {
			return ex, fmt.Errorf("reading message %d: %w", i, err)
		}
	}
	ex.locate(messages)
	return ex, nil
}

// plain reduces a message to what is common to all APIs. The text inside a tool's result is
// left out: a file that is read may hold markers.
func (m anthropicMessage) plain() (message, error) {
	plain := message{role: m.Role}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		plain.texts = []string{text}
		return plain, nil
	}
	var blocks []anthropicBlock
	err := json.Unmarshal(m.Content, &blocks)
	for _, b := range blocks {
		switch b.Type {
		case "text":
			plain.texts = append(plain.texts, b.Text)
		case "tool_result":
			plain.results = true
		}
	}
	return plain, err
}

func (anthropic) count() string { return `{"input_tokens":100}` }

func (anthropic) voice(w http.ResponseWriter, ex exchange, id string, u usage) voice {
	m := anthropicAnswer{w: w, id: id, model: ex.model, usage: u}
	if ex.stream {
		return &anthropicStream{anthropicAnswer: m}
	}
	return &anthropicWhole{anthropicAnswer: m}
}

// anthropicErrors names the error type that goes with a status.
var anthropicErrors = map[int]string{
	http.StatusBadRequest:            "invalid_request_error",
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	529:                              "overloaded_error",
}

// anthropicAnswer is what the two forms of an answer have in common.
type anthropicAnswer struct {
	w      http.ResponseWriter
	id     string // stem of all ids
	model  string // as the client asked for
	usage  usage
	blocks int // opened so far
}

// signature closes a thinking block; the CLI sends it back, nobody checks it.
const signature = "c2lnbmF0dXJl"

// block is content block number index, holding text; in a stream it is opened empty.
func (a *anthropicAnswer) block(index int, kind kind, name, text string) object {
	switch kind {
	case thinkBlock:
		signed := signature
		if text == "" {
			signed = ""
		}
		return object{{"type", "thinking"}, {"thinking", text}, {"signature", signed}}
	case toolBlock:
		id := fmt.Sprintf("toolu_%s_%d", a.id, index)
		return object{{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", input(text)}}
	}
	return object{{"type", "text"}, {"text", text}}
}

// input is a tool's input as JSON. One that is broken can only be streamed: in one piece
// it is the empty object that a stream opens with.
func input(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// message is the answer's frame. output is the number of tokens said so far.
func (a *anthropicAnswer) message(content []object, stop any, output int) object {
	counts := object{
		{"input_tokens", a.usage.input},
		{"cache_creation_input_tokens", a.usage.cacheWrite},
		{"cache_read_input_tokens", a.usage.cacheRead},
		{"output_tokens", output},
		{"service_tier", "standard"},
	}
	return object{
		{"model", a.model}, {"id", "msg_" + a.id}, {"type", "message"}, {"role", "assistant"},
		{"content", content}, {"stop_reason", stop}, {"stop_sequence", nil}, {"usage", counts},
	}
}

// problem is a failure as this API words it.
func (a *anthropicAnswer) problem(f *failure) object {
	kind := f.kind
	if kind == "" {
		kind = anthropicErrors[f.status]
	}
	if kind == "" {
		kind = "api_error"
	}
	return object{
		{"type", "error"},
		{"error", object{{"type", kind}, {"message", f.message}}},
		{"request_id", "req_" + a.id},
	}
}

// refuse answers with an HTTP error.
func (a *anthropicAnswer) refuse(f *failure) error {
	if f.retryAfter != "" {
		a.w.Header().Set("Retry-After", f.retryAfter)
	}
	return a.send(f.status, a.problem(f))
}

// send answers with one JSON value.
func (a *anthropicAnswer) send(status int, value object) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	a.w.Header().Set("Request-Id", "req_"+a.id)
	writeJSON(a.w, status, body)
	return nil
}
