package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// anthropicStream answers in server-sent events. The response's head and message_start go
// out with the first block or event, so that an error before them can be an HTTP error.
type anthropicStream struct {
	anthropicAnswer
	started bool
	kind    kind // of the block that was opened last
}

// deltas names the delta type of a block kind, and the member that holds the piece.
var deltas = map[kind][2]string{
	textBlock:  {"text_delta", "text"},
	thinkBlock: {"thinking_delta", "thinking"},
	toolBlock:  {"input_json_delta", "partial_json"},
}

// open numbers the block and begins it empty.
func (s *anthropicStream) open(kind kind, name string) error {
	if err := s.start(); err != nil {
		return err
	}
	s.kind = kind
	s.blocks++
	block := s.block(s.index(), kind, name, "")
	if err := s.put("content_block_start", s.at("content_block", block)); err != nil || kind != toolBlock {
		return err
	}
	return s.write("") // the service begins a tool's input with an empty piece
}

// index is the number of the open block.
func (s *anthropicStream) index() int { return s.blocks - 1 }

// at is the data of an event about the open block.
func (s *anthropicStream) at(name string, value object) object {
	return object{{"index", s.index()}, {name, value}}
}

func (s *anthropicStream) write(piece string) error {
	names := deltas[s.kind]
	return s.delta(object{{"type", names[0]}, {names[1], piece}})
}

func (s *anthropicStream) delta(delta object) error {
	return s.put("content_block_delta", s.at("delta", delta))
}

// close signs a thinking block, which is what makes the CLI keep it.
func (s *anthropicStream) close() error {
	if s.kind == thinkBlock {
		if err := s.delta(object{{"type", "signature_delta"}, {"signature", signature}}); err != nil {
			return err
		}
	}
	return s.put("content_block_stop", object{{"index", s.index()}})
}

func (s *anthropicStream) event(e event) error {
	if err := s.start(); err != nil {
		return err
	}
	return s.put(e.name, e.data)
}

// finish tells the whole count of tokens, message_start having told one. After an error
// nothing more comes, not even message_stop.
func (s *anthropicStream) finish(stop string, failed *failure) error {
	switch {
	case failed != nil && !s.started:
		return s.refuse(failed)
	case failed != nil:
		return s.put("error", s.problem(failed)[1:]) // put adds the type
	}
	if err := s.start(); err != nil {
		return err
	}
	if err := s.put("message_delta", object{
		{"delta", object{{"stop_reason", stop}, {"stop_sequence", nil}}},
		{"usage", object{{"output_tokens", s.usage.output}}},
	}); err != nil {
		return err
	}
	return s.put("message_stop", nil)
}

// start sends the head and message_start, once.
func (s *anthropicStream) start() error {
	if s.started {
		return nil
	}
	s.started = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Request-Id", "req_"+s.id)
	s.w.WriteHeader(http.StatusOK)
	return s.put("message_start", object{{"message", s.message([]object{}, nil, 1)}})
}

// put sends one event at once: how a stream is cut into pieces is part of the script.
func (s *anthropicStream) put(name string, data object) error {
	line, err := json.Marshal(append(object{{"type", name}}, data...))
	if err != nil {
		return fmt.Errorf("encoding event %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, line); err != nil {
		return fmt.Errorf("sending event %s: %w", name, err)
	}
	return http.NewResponseController(s.w).Flush()
}
