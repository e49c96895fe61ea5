package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responsesStream answers in server-sent events. The response's head goes out with the
// first item or event, so that an error before it can be an HTTP error.
type responsesStream struct {
	w     http.ResponseWriter
	id    string // stem of all ids
	model string // as the client asked for
	usage usage

	started bool
	number  int // of the next event
	items   int // opened so far
	kind    kind
	name    string // of the open tool call
	begun   bool   // the open item was announced
	custom  bool   // the open call's input is free text
	written strings.Builder
}

// open begins an item. It is announced with its first piece: only that tells a call whose
// input is JSON from one whose input is free text.
func (s *responsesStream) open(kind kind, name string) error {
	if err := s.start(); err != nil {
		return err
	}
	s.kind, s.name, s.begun, s.custom = kind, name, false, false
	s.written.Reset()
	s.items++
	return nil
}

// index is the number of the open item.
func (s *responsesStream) index() int { return s.items - 1 }

// itemID is the id of the open item.
func (s *responsesStream) itemID() string {
	prefix := map[kind]string{textBlock: "msg", thinkBlock: "rs", toolBlock: "fc"}[s.kind]
	return fmt.Sprintf("%s_%s_%d", prefix, s.id, s.index())
}

// at is the data of an event about the open item.
func (s *responsesStream) at(members ...member) object {
	return append(object{{"item_id", s.itemID()}, {"output_index", s.index()}}, members...)
}

func (s *responsesStream) write(piece string) error {
	if !s.begun {
		s.custom = s.kind == toolBlock && !strings.HasPrefix(strings.TrimSpace(piece), "{")
		if err := s.announce(); err != nil {
			return err
		}
	}
	s.written.WriteString(piece)
	delta := member{"delta", piece}
	switch {
	case s.kind == thinkBlock:
		return s.put("response.reasoning_summary_text.delta", s.at(member{"summary_index", 0}, delta))
	case s.custom:
		return s.put("response.custom_tool_call_input.delta", s.at(delta))
	case s.kind == toolBlock:
		return s.put("response.function_call_arguments.delta", s.at(delta))
	}
	return s.put("response.output_text.delta", s.at(member{"content_index", 0}, delta))
}

// announce tells of the open item while it is empty.
func (s *responsesStream) announce() error {
	s.begun = true
	added := object{{"output_index", s.index()}, {"item", s.item("in_progress", "")}}
	if err := s.put("response.output_item.added", added); err != nil {
		return err
	}
	switch s.kind {
	case textBlock:
		part := object{{"type", "output_text"}, {"text", ""}, {"annotations", []any{}}}
		return s.put("response.content_part.added", s.at(member{"content_index", 0}, member{"part", part}))
	case thinkBlock:
		part := object{{"type", "summary_text"}, {"text", ""}}
		return s.put("response.reasoning_summary_part.added", s.at(member{"summary_index", 0}, member{"part", part}))
	}
	return nil
}

// item is the open item, holding text.
func (s *responsesStream) item(status, text string) object {
	switch {
	case s.kind == thinkBlock:
		summary := []object{}
		if text != "" {
			summary = append(summary, object{{"type", "summary_text"}, {"text", text}})
		}
		return object{{"type", "reasoning"}, {"id", s.itemID()}, {"summary", summary}, {"encrypted_content", signature}}
	case s.kind == toolBlock:
		return s.callItem(status, text)
	}
	content := []object{}
	if text != "" {
		content = append(content, object{{"type", "output_text"}, {"text", text}, {"annotations", []any{}}})
	}
	return object{
		{"type", "message"}, {"id", s.itemID()}, {"role", "assistant"}, {"status", status}, {"content", content},
	}
}

// callItem is a tool call. A name with a dot is that of a namespace and a tool in it,
// which is how tools of MCP servers are called.
func (s *responsesStream) callItem(status, text string) object {
	kind, input := "function_call", "arguments"
	if s.custom {
		kind, input = "custom_tool_call", "input"
	}
	it := object{
		{"type", kind}, {"id", s.itemID()}, {"call_id", fmt.Sprintf("call_%s_%d", s.id, s.index())}, {"status", status},
	}
	if space, name, found := strings.Cut(s.name, "."); found {
		it = append(it, member{"namespace", space}, member{"name", name})
	} else {
		it = append(it, member{"name", s.name})
	}
	return append(it, member{input, text})
}

// close tells the whole of the open item.
func (s *responsesStream) close() error {
	if !s.begun {
		if err := s.announce(); err != nil {
			return err
		}
	}
	text := s.written.String()
	name, whole := "response.output_text.done", s.at(member{"content_index", 0}, member{"text", text})
	switch {
	case s.kind == thinkBlock:
		name, whole = "response.reasoning_summary_text.done", s.at(member{"summary_index", 0}, member{"text", text})
	case s.custom:
		name, whole = "response.custom_tool_call_input.done", s.at(member{"input", text})
	case s.kind == toolBlock:
		name, whole = "response.function_call_arguments.done", s.at(member{"arguments", text})
	}
	if err := s.put(name, whole); err != nil {
		return err
	}
	return s.put("response.output_item.done", object{{"output_index", s.index()}, {"item", s.item("completed", text)}})
}

func (s *responsesStream) event(e event) error {
	if err := s.start(); err != nil {
		return err
	}
	return s.put(e.name, e.data)
}

// finish ends the response; running out of tokens is an end of its own here.
func (s *responsesStream) finish(stop string, failed *failure) error {
	if failed != nil && !s.started {
		return s.refuse(failed)
	}
	if err := s.start(); err != nil {
		return err
	}
	switch {
	case failed != nil:
		problem := object{{"code", failed.code()}, {"message", failed.message}}
		return s.put("response.failed", s.response("failed", member{"error", problem}))
	case stop == "max_tokens":
		why := object{{"reason", "max_output_tokens"}}
		return s.put("response.incomplete", s.response("incomplete", member{"incomplete_details", why}, s.counts()))
	}
	return s.put("response.completed", s.response("completed", s.counts()))
}

// refuse answers with an HTTP error.
func (s *responsesStream) refuse(f *failure) error {
	body, err := json.Marshal(responsesProblem(f))
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	if f.retryAfter != "" {
		s.w.Header().Set("Retry-After", f.retryAfter)
	}
	writeJSON(s.w, f.status, body)
	return nil
}

// counts are the tokens as this API counts them: input holds what came from a cache.
func (s *responsesStream) counts() member {
	u := s.usage
	input := u.input + u.cacheRead + u.cacheWrite
	return member{"usage", object{
		{"input_tokens", input},
		{"input_tokens_details", object{{"cached_tokens", u.cacheRead}}},
		{"output_tokens", u.output},
		{"output_tokens_details", object{{"reasoning_tokens", 0}}},
		{"total_tokens", input + u.output},
	}}
}

// response is the answer's frame.
func (s *responsesStream) response(status string, members ...member) object {
	return object{{"response", append(object{
		{"id", "resp_" + s.id}, {"object", "response"}, {"status", status}, {"model", s.model}, {"output", []any{}},
	}, members...)}}
}

// start sends the head and response.created, once.
func (s *responsesStream) start() error {
	if s.started {
		return nil
	}
	s.started = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Request-Id", "req_"+s.id)
	s.w.WriteHeader(http.StatusOK)
	return s.put("response.created", s.response("in_progress"))
}

// put sends one event at once: how a stream is cut into pieces is part of the script.
func (s *responsesStream) put(name string, data object) error {
	line, err := json.Marshal(append(object{{"type", name}, {"sequence_number", s.number}}, data...))
	if err != nil {
		return fmt.Errorf("encoding event %s: %w", name, err)
	}
	s.number++
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, line); err != nil {
		return fmt.Errorf("sending event %s: %w", name, err)
	}
	return http.NewResponseController(s.w).Flush()
}
