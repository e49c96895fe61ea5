package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// gemini is Google's generateContent API. Whether an answer is streamed, and the model,
// stand in the address: …/models/MODEL:streamGenerateContent.
type gemini struct{ stream bool }

// geminiRoute is what an address of the API does; known is false for any other.
func geminiRoute(path string) (to route, known bool) {
	_, verb, ok := strings.Cut(path, "/models/")
	if !ok {
		return route{}, false
	}
	switch verb[strings.LastIndexByte(verb, ':')+1:] {
	case "streamGenerateContent":
		return route{api: gemini{stream: true}}, true
	case "generateContent":
		return route{api: gemini{}}, true
	case "countTokens":
		return route{api: gemini{}, counts: true}, true
	}
	return route{}, false
}

// geminiRequest is the part of a request body that decides.
type geminiRequest struct {
	Contents []struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	} `json:"contents"`
	// Tools tells the conversation from a side call, which has none.
	Tools []json.RawMessage `json:"tools"`
	// GenerationConfig asks for JSON.
	GenerationConfig struct {
		Schema     json.RawMessage `json:"responseSchema"`
		JSONSchema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

// geminiPart is text, or the result of a tool.
type geminiPart struct {
	Text     string          `json:"text"`
	Thought  bool            `json:"thought"`
	Response json.RawMessage `json:"functionResponse"`
}

// read calls the model's role by the name that the other APIs have.
func (g gemini) read(body []byte) (exchange, error) {
	var req geminiRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return exchange{}, fmt.Errorf("reading the request: %w", err)
	}
	schema := string(req.GenerationConfig.JSONSchema)
	if schema == "" {
		schema = string(req.GenerationConfig.Schema)
	}
	ex := exchange{side: len(req.Tools) == 0 || schema != "", schema: schema, model: "gemini", stream: g.stream}
	messages := make([]message, len(req.Contents))
	for i, c := range req.Contents {
		m := message{role: c.Role}
		if c.Role == "model" {
			m.role = "assistant"
		}
		for _, p := range c.Parts {
			m.results = m.results || p.Response != nil
			if p.Text != "" && !p.Thought {
				m.texts = append(m.texts, p.Text)
			}
		}
		messages[i] = m
	}
	ex.locate(messages)
	return ex, nil
}

func (gemini) count() string { return `{"totalTokens":100}` }

func (g gemini) voice(w http.ResponseWriter, _ exchange, id string, u usage) voice {
	return &geminiAnswer{sse: sse{w: w}, id: id, usage: u, stream: g.stream}
}

// geminiAnswer says one reply. A tool call has no pieces here: it is said when its block
// is closed.
type geminiAnswer struct {
	sse
	id     string
	usage  usage
	stream bool

	kind    kind
	name    string
	written strings.Builder
	blocks  int
	parts   []object // of an answer in one piece
}

func (a *geminiAnswer) open(kind kind, name string) error {
	a.kind, a.name = kind, name
	a.written.Reset()
	a.blocks++
	return nil
}

// write keeps what is only said when the block is closed.
func (a *geminiAnswer) write(piece string) error {
	if a.kind == toolBlock || !a.stream {
		a.written.WriteString(piece)
		return nil
	}
	return a.say(a.speech(piece))
}

// speech is a part that holds text or a thought.
func (a *geminiAnswer) speech(text string) object {
	part := object{{"text", text}}
	if a.kind == thinkBlock {
		part = append(part, member{"thought", true})
	}
	return part
}

func (a *geminiAnswer) close() error {
	switch {
	case a.kind != toolBlock && a.stream:
		return nil
	case a.kind != toolBlock:
		return a.say(a.speech(a.written.String()))
	}
	id := fmt.Sprintf("fc_%s_%d", a.id, a.blocks-1)
	return a.say(object{{"functionCall", object{{"id", id}, {"name", a.name}, {"args", input(a.written.String())}}}})
}

// say sends a part, or keeps it for the end.
func (a *geminiAnswer) say(part object) error {
	if !a.stream {
		a.parts = append(a.parts, part)
		return nil
	}
	return a.put(a.frame(nil, part))
}

func (a *geminiAnswer) event(e event) error {
	if !a.stream {
		return nil
	}
	return a.put(append(object{{"type", e.name}}, e.data...))
}

// frame is what every answer looks like, around its parts.
func (a *geminiAnswer) frame(stop any, parts ...object) object {
	candidate := object{
		{"content", object{{"role", "model"}, {"parts", append([]object{}, parts...)}}}, {"index", 0},
	}
	if stop != nil {
		candidate = append(candidate, member{"finishReason", stop})
	}
	in := a.usage.input + a.usage.cacheRead
	return object{
		{"candidates", []object{candidate}},
		{"usageMetadata", object{
			{"promptTokenCount", in}, {"candidatesTokenCount", a.usage.output}, {"totalTokenCount", in + a.usage.output},
			{"cachedContentTokenCount", a.usage.cacheRead},
		}},
		{"modelVersion", "fake"}, {"responseId", a.id},
	}
}

// geminiStops are this API's words.
var geminiStops = map[string]string{"end_turn": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}

func (a *geminiAnswer) finish(stop string, failed *failure) error {
	switch {
	case failed != nil && !a.started:
		return a.refuse(failed, a.problem(failed))
	case failed != nil:
		return a.put(a.problem(failed))
	}
	if word, ok := geminiStops[stop]; ok {
		stop = word
	}
	if !a.stream {
		return a.send(a.frame(stop, a.parts...))
	}
	return a.put(a.frame(stop, object{{"text", ""}}))
}

// geminiErrors names the status word that goes with a status.
var geminiErrors = map[int]string{
	http.StatusBadRequest:         "INVALID_ARGUMENT",
	http.StatusUnauthorized:       "UNAUTHENTICATED",
	http.StatusForbidden:          "PERMISSION_DENIED",
	http.StatusNotFound:           "NOT_FOUND",
	http.StatusTooManyRequests:    "RESOURCE_EXHAUSTED",
	http.StatusServiceUnavailable: "UNAVAILABLE",
}

// problem is a failure as this API words it.
func (a *geminiAnswer) problem(f *failure) object {
	word := f.kind
	if word == "" {
		word = geminiErrors[f.status]
	}
	if word == "" {
		word = "INTERNAL"
	}
	return object{{"error", object{{"code", f.status}, {"message", f.message}, {"status", word}}}}
}
