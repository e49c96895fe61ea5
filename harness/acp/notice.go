package acp

import (
	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNoticed bounds the notices that wait for a turn.
const maxNoticed = 16

// categoryInfo is the category of a notice of which the agent says that nothing is
// wrong.
const categoryInfo protocol.ErrorCategory = "_info"

// notice takes what an agent wants a person to know beside what the model says. One
// that comes between turns waits for the next.
func (t *translator) notice(raw jsontext.Value) {
	n := read[struct {
		Severity    text `json:"severity"`
		Title       text `json:"title"`
		Description text `json:"description"`
	}](raw)
	message := string(n.Title)
	if n.Description != "" && message != "" {
		message += ": "
	}
	message += string(n.Description)
	if message == "" {
		t.note("notice without a text", word(string(n.Severity)))
		return
	}
	u := harness.Notice{Category: categoryInfo, Message: message}
	if n.Severity == "error" || n.Severity == "warning" {
		u.Category = textCategory(message)
	}
	switch {
	case t.turn != nil:
		t.emit(u)
	case len(t.noticed) < maxNoticed:
		t.noticed = append(t.noticed, u)
	default:
		t.note("too many notices between turns", "")
	}
}

// catchUp shows in a turn that begins what came while there was none to show it in.
func (t *translator) catchUp() {
	for _, u := range t.noticed {
		t.emit(u)
	}
	if t.gauged != nil {
		t.emit(*t.gauged)
	}
	t.noticed, t.gauged = nil, nil
}
