package fakemodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// responses is the OpenAI Responses API: POST /v1/responses, as a stream. No CLI here
// asks for it in one piece.
type responses struct{}

// errWhole is returned for a request that asks for no stream.
var errWhole = errors.New("the Responses API is spoken as a stream only")

// responsesRequest is the part of a request body that decides.
type responsesRequest struct {
	Model  string          `json:"model"`
	Stream bool            `json:"stream"`
	Input  json.RawMessage `json:"input"` // a string, or a list of items
	// PromptCacheKey is the CLI's own name of the conversation.
	PromptCacheKey string `json:"prompt_cache_key"`
	Text           struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

// responsesItem is one item of the conversation: a message, a call, a call's output,
// reasoning.
type responsesItem struct {
	Type    string          `json:"type"` // "" is a message
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string, or a list of pieces
}

// read makes of the items what other APIs call messages: what the model did between two
// things it was told is one.
func (responses) read(body []byte) (exchange, error) {
	var req responsesRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return exchange{}, fmt.Errorf("reading the request: %w", err)
	}
	schema := string(req.Text.Format.Schema)
	ex := exchange{session: req.PromptCacheKey, side: schema != "", schema: schema, model: req.Model, stream: req.Stream}
	if !req.Stream {
		return ex, errWhole
	}
	messages, err := responsesMessages(req.Input)
	if err != nil {
		return ex, err
	}
	ex.locate(messages)
	return ex, nil
}

// responsesMessages reduces a conversation to what is common to all APIs.
func responsesMessages(input json.RawMessage) ([]message, error) {
	var text string
	if json.Unmarshal(input, &text) == nil {
		return []message{{role: "user", texts: []string{text}}}, nil
	}
	var items []responsesItem
	if err := json.Unmarshal(input, &items); err != nil {
		return nil, fmt.Errorf("reading the conversation: %w", err)
	}
	var messages []message
	for i, it := range items {
		m, err := it.plain()
		if err != nil {
			return nil, fmt.Errorf("reading item %d: %w", i, err)
		}
		last := len(messages) - 1
		if m.role == "assistant" && last >= 0 && messages[last].role == "assistant" {
			continue // of the same reply
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// plain is an item as a message. What a call gave back may hold markers, and is no prompt.
func (it responsesItem) plain() (message, error) {
	switch it.Type {
	case "function_call_output", "custom_tool_call_output":
		return message{role: "user", results: true}, nil
	case "", "message":
	default:
		return message{role: "assistant"}, nil
	}
	m := message{role: it.Role}
	var text string
	if json.Unmarshal(it.Content, &text) == nil {
		m.texts = []string{text}
		return m, nil
	}
	var pieces []struct {
		Text string `json:"text"`
	}
	err := json.Unmarshal(it.Content, &pieces)
	for _, p := range pieces {
		m.texts = append(m.texts, p.Text)
	}
	return m, err
}

func (responses) count() string { return `{"object":"response.input_tokens","input_tokens":100}` }

func (responses) voice(w http.ResponseWriter, ex exchange, id string, u usage) voice {
	return &responsesStream{w: w, id: id, model: ex.model, usage: u}
}

// responsesErrors names the error code that goes with a status; the type is the service's
// word for whose fault it is.
var responsesErrors = map[int]string{
	http.StatusBadRequest:          "invalid_request",
	http.StatusUnauthorized:        "invalid_api_key",
	http.StatusNotFound:            "model_not_found",
	http.StatusTooManyRequests:     "rate_limit_exceeded",
	http.StatusInternalServerError: "server_error",
	http.StatusServiceUnavailable:  "server_is_overloaded",
}

// code is the failure's code as this API has it.
func (f *failure) code() string {
	switch {
	case f.kind != "":
		return f.kind
	case responsesErrors[f.status] != "":
		return responsesErrors[f.status]
	}
	return "server_error"
}

// responsesProblem is a failure before anything was sent.
func responsesProblem(f *failure) object {
	kind := "invalid_request_error"
	if f.status >= http.StatusInternalServerError {
		kind = "server_error"
	}
	return object{{"error", object{
		{"message", f.message}, {"type", kind}, {"param", nil}, {"code", f.code()},
	}}}
}
