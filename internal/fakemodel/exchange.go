package fakemodel

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// exchange is what a request means, whichever API it came by.
type exchange struct {
	prompt  string // the text block that decides
	round   int    // assistant messages after the prompt
	length  int    // messages in the conversation
	session string // whatever the client names its session by; may be empty
	side    bool   // a call of the CLI's own, which runs no script
	schema  string // JSON schema a side call's answer has to fit; "" is free text
	model   string
	stream  bool
}

// message is one message of a conversation, as far as it matters here.
type message struct {
	role    string
	texts   []string // text blocks, in order
	results bool     // it carries results of tools
}

// locate finds the prompt that decides and the round it is in. Text next to a tool's
// result belongs to the running script unless it brings a script of its own: CLIs put
// notes and steering there.
func (e *exchange) locate(messages []message) {
	e.length = len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		text, found := lastText(m.texts)
		if m.role != "user" || !found || m.results && !hasMarker(text) {
			continue
		}
		e.prompt, e.round = text, replies(messages[i+1:])
		return
	}
}

// lastText finds the newest text a user typed. A CLI appends prompts whose turn failed to
// one message, block by block, so only the last one counts.
func lastText(texts []string) (string, bool) {
	for i := len(texts) - 1; i >= 0; i-- {
		if strings.TrimSpace(texts[i]) != "" && !isReminder(texts[i]) {
			return texts[i], true
		}
	}
	return "", false
}

// replies counts what the model has said. A CLI sends one assistant message for each
// request it made, however many lines it printed for it.
func replies(messages []message) int {
	n := 0
	for _, m := range messages {
		if m.role == "assistant" {
			n++
		}
	}
	return n
}

// answer is the reply this exchange gets. Side calls come first: they often quote the
// prompt, markers and all.
func (e *exchange) answer() (reply, error) {
	if !e.side && hasMarker(e.prompt) {
		s, err := parse(e.prompt)
		return s.reply(e.round), err
	}
	return say(e.small(), 4), nil
}

// small is the text for requests without a script. A CLI that compacts asks with all its
// tools, so a summary is known by the tags it wants and not by being a side call.
func (e *exchange) small() string {
	lower := strings.ToLower(e.prompt)
	switch {
	case e.schema != "":
		return sample(e.schema)
	case strings.Contains(lower, "<summary>"):
		return "<summary>Fake summary of the conversation so far.</summary>"
	case e.side && strings.Contains(lower, "title"):
		return "Fake title"
	}
	return DefaultText
}

// key names the place in one session's conversation; requests with one key are attempts.
func (e *exchange) key() string { return e.session + "\x00" + e.place() }

// place names the same without the session, so that ids do not depend on it.
func (e *exchange) place() string {
	return fmt.Sprintf("%d\x00%d\x00%s", e.length, e.round, e.prompt)
}

// id is the stem of every id in the answer to the given attempt.
func (e *exchange) id(attempt int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d", e.place(), attempt)
	return fmt.Sprintf("fake%016x", h.Sum64())
}
