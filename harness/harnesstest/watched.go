package harnesstest

import (
	"bytes"

	"agent-server/harness"
	"agent-server/protocol"
)

// watched is a harness whose translators are held to what package harness asks of
// them.
type watched struct {
	harness.Harness
	fault func(format string, args ...any)
}

// New is the harness's, watched.
func (w *watched) New(l harness.Launch, newID func() string) harness.Translator {
	tr := &watchedTranslator{watched: w}
	tr.inner = w.Harness.New(l, func() string {
		if !tr.busy {
			w.fault("an id is minted outside of Line and Step")
		}
		return newID()
	})
	return tr
}

type watchedTranslator struct {
	*watched
	inner  harness.Translator
	busy   bool
	exited bool
}

// Line is the translator's.
func (tr *watchedTranslator) Line(line []byte) harness.Output {
	tr.busy = true
	out := tr.inner.Line(line)
	tr.busy = false
	return tr.judged(out)
}

// Step is the translator's.
func (tr *watchedTranslator) Step(in harness.Input) harness.Output {
	if tr.exited {
		tr.fault("told %T after its process has exited", in)
	}
	_, tr.exited = in.(harness.Exited)
	tr.busy = true
	out := tr.inner.Step(in)
	tr.busy = false
	return tr.judged(out)
}

// Leave is the translator's, if it has anything to say.
func (tr *watchedTranslator) Leave() []byte {
	l, ok := tr.inner.(harness.Leaver)
	if !ok {
		return nil
	}
	tr.busy = true
	lines := l.Leave()
	tr.busy = false
	if len(lines) > 0 && lines[len(lines)-1] != '\n' {
		tr.fault("its farewell is not whole: %q", lines)
	}
	return lines
}

// maxDetail bounds what a remark says beside its phrase, in bytes: a few words.
const maxDetail = 200

// judged holds an output to the contract.
func (tr *watchedTranslator) judged(out harness.Output) harness.Output {
	if len(out.Stdin) > 0 && !bytes.HasSuffix(out.Stdin, []byte("\n")) {
		tr.fault("half a line is to be written: %.200q", out.Stdin)
	}
	for _, t := range out.Timers {
		if t.Name == "" {
			tr.fault("a timer has no name")
		}
	}
	for _, d := range out.Diagnostics {
		if d.Message == "" || len(d.Detail) > maxDetail {
			tr.fault("remark %q has a detail of %d bytes: %.80q", d.Message, len(d.Detail), d.Detail)
		}
	}
	for _, u := range out.Updates {
		tr.update(u, out)
	}
	return out
}

// update holds one update to the contract.
func (tr *watchedTranslator) update(u harness.Update, out harness.Output) {
	switch u := u.(type) {
	case harness.PromptWritten:
		if len(out.Stdin) == 0 {
			tr.fault("the prompt is said to be written, and nothing is")
		}
	case harness.Finished:
		if (u.Error != nil) != (u.Reason == protocol.StopError) {
			tr.fault("ends as %q with error %+v", u.Reason, u.Error)
		}
	case harness.ToolSet:
		if u.Call == "" {
			tr.fault("a tool call has no id: %+v", u)
		}
	case harness.Asked:
		if u.Request == "" {
			tr.fault("a request has no key: %+v", u)
		}
	case harness.PartSet:
		if u.Value == nil {
			tr.fault("part %s is set to nothing", u.Part)
		}
	}
}
