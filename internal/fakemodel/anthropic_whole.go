package fakemodel

import (
	"net/http"
	"strings"
)

// anthropicWhole answers in one JSON value, sent at the end.
type anthropicWhole struct {
	anthropicAnswer
	content []object
	kind    kind   // of the open block
	name    string // of its tool
	written strings.Builder
}

func (s *anthropicWhole) open(kind kind, name string) error {
	s.kind, s.name = kind, name
	s.written.Reset()
	return nil
}

func (s *anthropicWhole) write(piece string) error {
	_, err := s.written.WriteString(piece)
	return err
}

func (s *anthropicWhole) close() error {
	s.content = append(s.content, s.block(s.blocks, s.kind, s.name, s.written.String()))
	s.blocks++
	return nil
}

// event has no place in an answer that is not a stream.
func (s *anthropicWhole) event(event) error { return nil }

// finish sends everything. That is the first moment that something goes out, so an error
// is an HTTP error wherever it stands in the script.
func (s *anthropicWhole) finish(stop string, failed *failure) error {
	if failed != nil {
		return s.refuse(failed)
	}
	content := append([]object{}, s.content...) // [] rather than null when nothing was said
	return s.send(http.StatusOK, s.message(content, stop, s.usage.output))
}
