package fakemodel

import (
	"strings"
	"unicode/utf8"
)

// Texts that stand in for a script.
const (
	// DefaultText answers a prompt without a marker.
	DefaultText = "Hello from the fake model."
	// FinalText answers a round past the end of a script, such as the one after a tool's result.
	FinalText = "Done."

	defaultThought = "First I consider the question."
)

// script is all that one prompt makes the model say, request by request.
type script struct {
	replies []reply
	repeats bool // the last reply answers every later round
}

// reply is the answer to one request: steps in order, then the end of the message.
type reply struct {
	steps []step
	stop  string // "" lets the player choose by what was said
	usage usage  // the same at the start and at the end of a stream
}

// usage is what the model claims to have counted, in tokens.
type usage struct{ input, output, cacheRead, cacheWrite int }

// defaultUsage is claimed by each reply that says nothing else.
var defaultUsage = usage{input: 100, output: 10}

// step is one thing a reply does; the player runs them one after another.
// An error ends the reply: one of the sentinels of player.go, or a failed write.
type step interface{ play(*player) error }

// kind is what a content block holds.
type kind int

const (
	noBlock kind = iota
	textBlock
	thinkBlock
	toolBlock
)

// The steps are data and no functions, so that a parsed script can be compared and printed.
type (
	// speech writes text or reasoning, opening a block unless one of its kind is open.
	speech struct {
		kind   kind // textBlock or thinkBlock
		say    string
		pieces int // at most; a short text has fewer
	}
	// call opens a tool call and writes the first of its input.
	call struct {
		tool   string // as the harness names it
		raw    string // JSON of the input, or what stands for it
		pieces int
	}
	// more writes on in the open tool call.
	more struct {
		raw    string
		pieces int
	}
	// seal closes the open block.
	seal struct{}
	// stall keeps silent at a gate.
	stall struct{ gate string }
	// cut drops the connection, for the first times attempts (0: for all).
	cut struct{ times int }
	// event is a raw stream event, which a reply in one piece leaves out. Its type is its
	// name; data are the other members.
	event struct {
		name string
		data object
	}
	// failure is the model's error, for the first times attempts (0: for all).
	failure struct {
		status     int    // HTTP status, 400 to 599
		kind       string // error type; "" is the one the API has for the status
		message    string // shown to the user by most CLIs
		retryAfter string // seconds, as the header has it; "" sends none
		times      int
	}
)

// say is the reply that holds one text and nothing else.
func say(text string, pieces int) reply {
	return reply{steps: []step{speech{textBlock, text, pieces}}, usage: defaultUsage}
}

// reply picks the answer of a round, counted from 0.
func (s script) reply(round int) reply {
	last := len(s.replies) - 1
	switch {
	case round <= last:
		return s.replies[round]
	case s.repeats && last >= 0:
		return s.replies[last]
	}
	return say(FinalText, 1)
}

// split cuts text into at most n pieces of about equal size that never break a character.
func split(text string, n int) []string {
	n = max(1, n)
	size := max(1, (len(text)+n-1)/n)
	var pieces []string
	for len(text) > size {
		end := size
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	if text == "" {
		return pieces
	}
	return append(pieces, text)
}

// isReminder tells a note of the CLI's own from what a user typed: a reminder, or
// where the CLI has put an image of the prompt.
func isReminder(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<system-reminder>") || strings.HasPrefix(text, "[Image: source: ")
}
