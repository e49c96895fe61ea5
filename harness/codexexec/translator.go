package codexexec

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// A process runs one turn. It reads its prompt from stdin to the end, names its thread,
// tells items, and ends with turn.completed or turn.failed; whether it then exits with
// 0 or 1 says nothing more. A process that was stopped or killed says no last word, so
// that its exit is the end of the turn: a cancelled one where we had it stopped.
//
// The next turn is another process that goes on with the thread. Codex may silently
// begin a new one instead, which shows in the id that it names.

// translator is one process's state, and so one turn's.
type translator struct {
	launch harness.Launch
	newID  func() string
	// out is what the call in progress answers.
	out harness.Output

	// begun is true once the process has its prompt; over, once its turn has ended.
	begun, over bool
	// created is true once Codex has named the thread; cancelled, once we had the
	// process stopped.
	created, cancelled bool
	// held is an error line that may be the turn's last word; "" for none.
	held string
	// prefix tells this turn's calls from those of others: Codex counts items anew in
	// each process.
	prefix string
	// items are those seen, by id; order is theirs.
	items map[string]*item
	order []string
	// speech is what the open message holds.
	speech speech
}

// line is a line of Codex's.
type line struct {
	Type   rpcline.Text   `json:"type"`
	Thread rpcline.Text   `json:"thread_id"`
	Item   jsontext.Value `json:"item"`
	// Message is of error; Error, an object with a message, of turn.failed.
	Message rpcline.Text `json:"message"`
	Error   struct {
		Message rpcline.Text `json:"message"`
	} `json:"error"`
	Usage jsontext.Value `json:"usage"`
}

// Line takes one line of stdout.
func (t *translator) Line(raw []byte) harness.Output {
	t.out = harness.Output{}
	raw = rpcline.Trim(raw)
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
	case raw[0] != '{' || !jsontext.Value(raw).IsValid(rpcline.Lenient):
		t.note("line is no JSON object", strconv.Itoa(len(raw))+" bytes")
	default:
		t.read(rpcline.Read[line](bytes.Clone(raw)))
	}
	return t.out
}

func (t *translator) read(l line) {
	if t.over || !t.begun {
		t.note("line outside a turn", rpcline.Word(string(l.Type)))
		return
	}
	if l.Type != "turn.failed" {
		t.release()
	}
	switch l.Type {
	case "thread.started":
		t.threadStarted(string(l.Thread))
	case "turn.started":
	case "item.started", "item.updated", "item.completed":
		t.item(l)
	case "error":
		t.held = string(l.Message)
	case "turn.completed":
		t.end(harness.Finished{Reason: protocol.StopEndTurn, Raw: "completed", Tokens: t.tokens(l.Usage)})
	case "turn.failed":
		t.turnFailed(l.Error.Message.Or("Codex gave no reason"))
	default:
		t.note("unknown line", rpcline.Word(string(l.Type)))
	}
}

// Step takes one input.
func (t *translator) Step(in harness.Input) harness.Output {
	t.out = harness.Output{}
	switch in := in.(type) {
	case harness.Begin:
		t.begin(in)
	case harness.Configure:
		t.out.Process = harness.Restart
	case harness.Cancel:
		// There is no interrupt on this wire: the process's end is the turn's.
		t.cancelled = true
		t.out.Process = harness.Stop
	case harness.Dropped:
		t.note("line over the budget was lost", strconv.FormatInt(in.Bytes, 10)+" bytes")
	case harness.Exited:
		t.exited(in.Status)
	}
	return t.out
}

// begin writes the prompt. A process that had one takes no other.
func (t *translator) begin(in harness.Begin) {
	if t.begun {
		t.out.Process = harness.Restart
		return
	}
	text, err := prompt(in.Input)
	if err != nil {
		t.begun, t.over = true, true
		t.emit(harness.Rejected{Error: protocol.TurnError{Category: protocol.CategoryInvalidRequest, Message: err.Error()}})
		t.out.Process = harness.Stop
		return
	}
	t.begun, t.prefix = true, t.newID()+"/"
	t.out.Stdin = []byte(text + "\n")
	t.emit(harness.PromptWritten{})
}

// prompt is an input as text: this way Codex takes no other.
func prompt(in protocol.Input) (string, error) {
	if in.IsText {
		return in.Text, nil
	}
	var texts []string
	for _, it := range in.Items {
		switch {
		case it.Type == protocol.InputText:
			texts = append(texts, it.Text)
		case it.Type == protocol.InputFile && it.URL != nil:
			texts = append(texts, "Attached: "+*it.URL)
		default:
			return "", errors.New("codex exec takes text, no images and no files with their data")
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// threadStarted takes the thread's name. Codex may have begun a new one where it
// was to go on with another.
func (t *translator) threadStarted(id string) {
	if t.created || id == "" {
		return
	}
	t.created = true
	t.emit(harness.Created{NativeID: id, Resumed: id == t.launch.Resume}, harness.Registered{})
}

// release tells the error that was held: something follows it, so Codex goes on.
func (t *translator) release() {
	if t.held != "" {
		t.emit(harness.Notice{Category: categoryOf(t.held), Message: t.held})
		t.held = ""
	}
}

// turnFailed ends the turn. The error line before it says the same.
func (t *translator) turnFailed(why string) {
	if t.held != why {
		t.release()
	}
	if strings.Contains(why, "reason: max_output_tokens") {
		t.end(harness.Finished{Reason: protocol.StopMaxTokens, Raw: "max_output_tokens"})
		return
	}
	e := protocol.TurnError{Category: categoryOf(why), Message: why}
	t.end(harness.Finished{Reason: protocol.StopError, Raw: "failed", Error: &e})
}

// end ends the turn and lets the process go, which ends by itself.
func (t *translator) end(f harness.Finished) {
	t.closeItems(f.Reason == protocol.StopCancelled)
	t.over = true
	t.emit(f)
	t.out.Process = harness.Stop
}

// exited takes the end of the process. Without a word about the turn before it, it
// was our cancel, a thread that cannot be gone on with, or a process that would
// not start; the machine tells any other end better.
func (t *translator) exited(s harness.ExitStatus) {
	why := harness.LastLine(s.Stderr)
	switch {
	case t.over || !t.begun:
	case t.cancelled:
		t.end(harness.Finished{Reason: protocol.StopCancelled, Raw: "stopped"})
	case t.created || s.Signal != "" || why == "":
		t.release()
		t.closeItems(false)
	case t.launch.Resume != "":
		t.over = true
		t.emit(harness.ResumeFailed{InUse: strings.Contains(s.Stderr, "active writer"), Message: why})
	default:
		t.over = true
		t.emit(harness.Rejected{Error: protocol.TurnError{Category: categoryOf(why), Message: why}})
	}
	t.out.Process = harness.Keep
}

// tokens are what the turn cost; nil where that is not known: Codex tells what the
// thread has cost, and what of it is older nobody here knows.
func (t *translator) tokens(raw jsontext.Value) *protocol.TokenUsage {
	u := rpcline.Read[struct {
		Input      rpcline.Number `json:"input_tokens"`
		CacheRead  rpcline.Number `json:"cached_input_tokens"`
		CacheWrite rpcline.Number `json:"cache_write_input_tokens"`
		Output     rpcline.Number `json:"output_tokens"`
		Reasoning  rpcline.Number `json:"reasoning_output_tokens"`
	}](raw)
	if t.launch.Resume != "" || !u.Input.Set {
		return nil
	}
	return &protocol.TokenUsage{
		Input: max(0, u.Input.Value-u.CacheRead.Value-u.CacheWrite.Value), Output: u.Output.Value,
		Reasoning: u.Reasoning.Pointer(),
		Cache:     &protocol.CacheUsage{Read: u.CacheRead.Value, Write: u.CacheWrite.Value},
	}
}

// emit adds updates to the answer.
func (t *translator) emit(updates ...harness.Update) {
	t.out.Updates = append(t.out.Updates, updates...)
}

// note adds a diagnostic to the answer.
func (t *translator) note(message, detail string) {
	t.out.Diagnostics = append(t.out.Diagnostics, harness.Diagnostic{Message: message, Detail: detail})
}
