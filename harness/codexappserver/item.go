package codexappserver

import (
	"slices"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Everything that happens in a turn is an item with a start and an end, and neither
// can be relied upon: a short item may have an end alone, an interrupted turn leaves
// items without one, a retry leaves the half of an answer, and a command may end when
// its turn is long over. So an item is made at its first sight, whatever that is, and
// closed by whatever comes first: its end, its turn's, or Codex no longer knowing it.
//
// An item that we have closed is remembered for a while, since its end may still come
// and would otherwise look like something new.

// itemKey names an item: ids are the provider's, and unique only within a thread.
type itemKey struct{ thread, item string }

// item is one item that has begun and not ended.
type item struct {
	// kind is Codex's word for what it is.
	kind string
	// turn is the native turn that it belongs to, whenever it ends.
	turn string
	// call is the tool call id; "" for what is no tool. title is for people.
	call, title string
	// tool is what is known of a tool call, for approvals.
	tool tool
	// pending is true while it is shown as waiting; asked, while consent for it is
	// sought; refused, where that was denied.
	pending, asked, refused bool
	// left is true for a command whose turn is over and that runs on; closed, for
	// what we have closed ourselves: what comes of it later is not shown.
	left, closed bool
	// text is what a message or a plan has streamed; sections, reasoning's pieces.
	text     speechPart
	sections []*speechPart
}

// maxItems bounds the items that are remembered; those of the oldest that are
// closed go first.
const maxItems = 2000

// fields are the members of an item, of whatever type it is.
type fields struct {
	Type rpcline.Text `json:"type"`
	ID   rpcline.Text `json:"id"`
	// Status is inProgress, completed, failed or declined.
	Status rpcline.Text `json:"status"`
	// Text is of agentMessage and plan; Phase, commentary or final_answer.
	Text  rpcline.Text `json:"text"`
	Phase rpcline.Text `json:"phase"`
	// Summary and Content are of reasoning, and the latter of userMessage: lists.
	Summary jsontext.Value `json:"summary"`
	Content jsontext.Value `json:"content"`
	// Command, Cwd, Actions, Output, ExitCode are of commandExecution.
	Command  rpcline.Text   `json:"command"`
	Cwd      rpcline.Text   `json:"cwd"`
	Actions  jsontext.Value `json:"commandActions"`
	Output   rpcline.Text   `json:"aggregatedOutput"`
	ExitCode rpcline.Number `json:"exitCode"`
	// Changes are of fileChange: a list.
	Changes jsontext.Value `json:"changes"`
	// Server, Namespace, Tool, Arguments, Result, Error, ContentItems and Success
	// are of tool calls.
	Server       rpcline.Text   `json:"server"`
	Namespace    rpcline.Text   `json:"namespace"`
	Tool         rpcline.Text   `json:"tool"`
	Arguments    jsontext.Value `json:"arguments"`
	Result       jsontext.Value `json:"result"`
	Error        jsontext.Value `json:"error"`
	ContentItems jsontext.Value `json:"contentItems"`
	Success      jsontext.Value `json:"success"`
	// Receivers, Prompt, Model and States are of collabAgentToolCall.
	Receivers jsontext.Value `json:"receiverThreadIds"`
	Prompt    rpcline.Text   `json:"prompt"`
	Model     rpcline.Text   `json:"model"`
	States    jsontext.Value `json:"agentsStates"`
	// Kind, AgentThread and AgentPath are of subAgentActivity.
	Kind        rpcline.Text `json:"kind"`
	AgentThread rpcline.Text `json:"agentThreadId"`
	AgentPath   rpcline.Text `json:"agentPath"`
	// Path is of imageView; SavedPath, RevisedPrompt and Failure of
	// imageGeneration; Query and Results of webSearch.
	Path          rpcline.Text   `json:"path"`
	SavedPath     rpcline.Text   `json:"savedPath"`
	RevisedPrompt rpcline.Text   `json:"revisedPrompt"`
	Failure       jsontext.Value `json:"failure"`
	Query         rpcline.Text   `json:"query"`
	Results       jsontext.Value `json:"results"`
	// raw is the item as it came.
	raw jsontext.Value
}

func readFields(raw jsontext.Value) fields {
	f := rpcline.Read[fields](raw)
	f.raw = raw
	return f
}

// itemStarted takes the beginning of an item.
func (t *translator) itemStarted(p params) {
	f := readFields(p.Item)
	if f.ID == "" {
		t.note("item without an id", rpcline.Word(string(f.Type)))
		return
	}
	if it, begun := t.take(p, f); it != nil && begun {
		t.begun(p, it, f)
	}
}

// itemCompleted takes the end of an item, which may be all that is said of it.
func (t *translator) itemCompleted(p params) {
	f := readFields(p.Item)
	if f.ID == "" {
		t.note("item without an id", rpcline.Word(string(f.Type)))
		return
	}
	key := itemKey{string(p.ThreadID), string(f.ID)}
	it, begun := t.take(p, f)
	if it == nil {
		return
	}
	if begun {
		t.begun(p, it, f)
	}
	t.ended(p, it, f)
	t.forget(key)
	if it.left {
		t.tellBackground()
	}
}

// take finds or makes the item that a message is of; nil where nothing of it is to
// be shown. begun is true at its first sight.
func (t *translator) take(p params, f fields) (it *item, begun bool) {
	key := itemKey{string(p.ThreadID), string(f.ID)}
	if it := t.items[key]; it != nil {
		if it.closed {
			t.note("item has been closed", rpcline.Word(it.kind))
			t.forget(key)
			return nil, false
		}
		return it, false
	}
	if t.stale(p) {
		t.note("item of a turn that is over", rpcline.Word(string(f.Type)))
		return nil, false
	}
	it = &item{kind: string(f.Type), turn: string(p.TurnID)}
	t.items[key] = it
	t.order = append(t.order, key)
	t.bound()
	return it, true
}

// stale says whether something new is of a turn of our thread that does not run.
func (t *translator) stale(p params) bool {
	if string(p.ThreadID) != t.thread {
		return false
	}
	return t.turn == nil || !t.turn.written || t.turn.id != "" && p.TurnID != "" && string(p.TurnID) != t.turn.id
}

// forget lets go of an item.
func (t *translator) forget(key itemKey) {
	delete(t.items, key)
	t.order = slices.DeleteFunc(t.order, func(k itemKey) bool { return k == key })
}

// bound lets go of the oldest items where there are too many.
func (t *translator) bound() {
	for len(t.order) > maxItems {
		i := max(0, slices.IndexFunc(t.order, func(k itemKey) bool { return t.items[k].closed }))
		t.forget(t.order[i])
	}
}

// begun shows an item at its first sight.
func (t *translator) begun(p params, it *item, f fields) {
	switch it.kind {
	case "userMessage", "agentMessage", "plan", "reasoning":
		// Shown once something is said, in order of that.
	case "contextCompaction":
		t.compact(p, f, "in_progress")
	default:
		t.toolBegun(p, it, f)
	}
}

// ended shows an item as it ended.
func (t *translator) ended(p params, it *item, f fields) {
	switch it.kind {
	case "userMessage":
		t.userSaid(p, f)
	case "agentMessage", "plan":
		t.spokeAll(p, it, f)
	case "reasoning":
		t.thoughtAll(p, it, f)
	case "contextCompaction":
		t.compact(p, f, "completed")
	default:
		t.toolEnded(p, it, f)
	}
}

// endItems closes what is open of a thread when its turn ends. A command of a
// completed turn may run on; of the rest nobody will say how it went.
func (t *translator) endItems(thread, status string) {
	lossy := thread == t.thread && t.turn.lossy
	for _, key := range slices.Clone(t.order) {
		it := t.items[key]
		if key.thread != thread || it.closed || it.left {
			continue
		}
		if it.kind == "commandExecution" && status == "completed" && !lossy {
			it.left = true
			continue
		}
		it.closed = true
		t.closeText(it)
		if it.call != "" {
			t.emit(harness.ToolSet{Call: it.call, State: it.closing(status)})
		}
	}
}

// closing is the state of a tool whose end was not told.
func (it *item) closing(status string) protocol.ToolState {
	if status == "interrupted" || it.refused {
		return &protocol.CancelledState{}
	}
	return &protocol.FailedState{Error: "Codex did not say how this ended"}
}

// reconcile looks after what a turn has left running. What was interrupted is
// ended, since Codex lets it run; of what Codex does not know any more nobody will
// say how it ended.
func (t *translator) reconcile(thread string, interrupted bool) {
	if t.stage != ready || t.refused != nil || !interrupted && !slices.ContainsFunc(t.order, t.leftOf(thread)) {
		return
	}
	t.call("thread/backgroundTerminals/list", threadRef{thread}, func(t *translator, m rpcline.Message) {
		if m.Error == nil {
			t.terminals(thread, m.Result, interrupted)
		}
	})
}

// leftOf says of an item whether it is a thread's and runs on behind its turn.
func (t *translator) leftOf(thread string) func(itemKey) bool {
	return func(key itemKey) bool { return key.thread == thread && t.items[key].left }
}

// terminal is a command that runs on.
type terminal struct {
	Item    rpcline.Text `json:"itemId"`
	Process rpcline.Text `json:"processId"`
}

// terminateParams are those of thread/backgroundTerminals/terminate.
type terminateParams struct {
	ThreadID  string `json:"threadId"`
	ProcessID string `json:"processId"`
}

// terminals takes the list of what runs on.
func (t *translator) terminals(thread string, result jsontext.Value, interrupted bool) {
	listed := map[string]bool{}
	for _, term := range rpcline.List[terminal](rpcline.Read[struct {
		Data jsontext.Value `json:"data"`
	}](result).Data) {
		listed[string(term.Item)] = true
		if interrupted && t.interruptedItem(itemKey{thread, string(term.Item)}) {
			t.call("thread/backgroundTerminals/terminate", terminateParams{thread, string(term.Process)}, ignoreAnswer)
		}
	}
	for _, key := range slices.DeleteFunc(slices.Clone(t.order), func(k itemKey) bool { return !t.leftOf(thread)(k) }) {
		if it := t.items[key]; !listed[key.item] {
			t.emit(harness.ToolSet{Call: it.call, State: it.closing("completed")})
			t.forget(key)
		}
	}
	t.tellBackground()
}

// interruptedItem says whether a command is the interrupted turn's: what an
// earlier turn left on purpose stays, and so does what the next has begun.
func (t *translator) interruptedItem(key itemKey) bool {
	if it := t.items[key]; it != nil {
		return it.closed
	}
	return t.turn == nil
}
