package fakemodel

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// builder turns markers into a script, adding to the reply that is open.
type builder struct {
	script  script
	calling bool // a tool call is the open block
}

// grammar has one entry a marker; the table of the package comment describes them.
var grammar = map[string]func(*builder, *args){
	"text":   func(b *builder, a *args) { b.step(newSpeech(a, textBlock, DefaultText)) },
	"think":  func(b *builder, a *args) { b.step(newSpeech(a, thinkBlock, defaultThought)) },
	"tool":   func(b *builder, a *args) { b.step(newCall(a)); b.calling = true },
	"more":   (*builder).more,
	"block":  func(b *builder, _ *args) { b.step(seal{}) },
	"stall":  func(b *builder, a *args) { b.step(stall{a.text("gate", DefaultGate)}) },
	"cut":    func(b *builder, a *args) { b.step(cut{a.number("times", 0)}) },
	"error":  func(b *builder, a *args) { b.step(newFailure(a)) },
	"event":  func(b *builder, a *args) { b.step(newEvent(a)) },
	"stop":   func(b *builder, a *args) { b.open().stop = a.text("reason", "") },
	"usage":  func(b *builder, a *args) { b.open().usage = newUsage(a) },
	"then":   func(b *builder, _ *args) { b.then() },
	"repeat": func(b *builder, _ *args) { b.script.repeats = true },
}

// add applies one marker.
func (b *builder) add(a *args) error {
	build, known := grammar[a.name]
	if !known {
		return errors.New("there is no such marker")
	}
	switch a.name {
	case "text", "think", "block":
		b.calling = false
	}
	build(b, a)
	return a.done()
}

// more is refused where it would write into nothing, so that a script means what it says.
func (b *builder) more(a *args) {
	b.step(more{a.text("raw", ""), a.number("pieces", 1)})
	if !b.calling {
		a.fail(errors.New("no tool call is open"))
	}
}

// then begins the next reply.
func (b *builder) then() {
	b.calling = false
	b.script.replies = append(b.script.replies, reply{usage: defaultUsage})
}

func (b *builder) open() *reply { return &b.script.replies[len(b.script.replies)-1] }

func (b *builder) step(s step) { b.open().steps = append(b.open().steps, s) }

// maxText bounds what one marker says, in bytes: room for the largest line a harness has
// to bear, and no room for a typo that fills the memory.
const maxText = 64 << 20

func newSpeech(a *args, kind kind, def string) speech {
	text, repeat := a.text("say", def), a.number("repeat", 1)
	if repeat > maxText/max(1, len(text)) {
		a.fail(fmt.Errorf("text of more than %d bytes", maxText))
		repeat = 1
	}
	return speech{kind, strings.Repeat(text, repeat), a.number("pieces", 4)}
}

// newCall takes raw before input: only raw may hold something that is not JSON.
func newCall(a *args) call {
	raw := a.text("raw", "")
	if raw == "" {
		raw = a.input("input")
	}
	return call{a.text("name", "Bash"), raw, a.number("pieces", 3)}
}

// newEvent keeps the type out of the data, where it would stand twice.
func newEvent(a *args) event {
	e := event{a.text("type", "fake_event"), a.object("data")}
	if slices.ContainsFunc(e.data, func(m member) bool { return m.name == "type" }) {
		a.fail(errors.New("data holds a type, which is an argument of its own"))
	}
	return e
}

func newUsage(a *args) usage {
	return usage{
		input:      a.number("input", defaultUsage.input),
		output:     a.number("output", defaultUsage.output),
		cacheRead:  a.number("cache_read", 0),
		cacheWrite: a.number("cache_write", 0),
	}
}

func newFailure(a *args) failure {
	status := a.number("status", http.StatusInternalServerError)
	if status < 400 || status > 599 {
		a.fail(errors.New("status has to be between 400 and 599"))
	}
	return failure{
		status:     status,
		kind:       a.text("type", ""),
		message:    a.text("message", "scripted error"),
		retryAfter: a.text("retry_after", ""),
		times:      a.number("times", 0),
	}
}
