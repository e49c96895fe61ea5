package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// sse sends an answer in events without names, or as one JSON value.
type sse struct {
	w       http.ResponseWriter
	started bool
}

// put sends one event at once: how a stream is cut into pieces is part of the script.
func (s *sse) put(data object) error {
	line, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	return s.line(string(line))
}

// line sends the data of one event; the head goes out before the first.
func (s *sse) line(data string) error {
	if !s.started {
		s.started = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.WriteHeader(http.StatusOK)
	}
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", data); err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	return http.NewResponseController(s.w).Flush()
}

// send answers with one JSON value.
func (s *sse) send(value object) error { return s.status(http.StatusOK, value) }

// refuse answers with an HTTP error.
func (s *sse) refuse(f *failure, problem object) error {
	if f.retryAfter != "" {
		s.w.Header().Set("Retry-After", f.retryAfter)
	}
	return s.status(f.status, problem)
}

func (s *sse) status(status int, value object) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	writeJSON(s.w, status, body)
	return nil
}
