package codexappserver

import (
	"slices"

	"agent-server/harness"
	"agent-server/harness/rpcline"

	"github.com/go-json-experiment/json/jsontext"
)

// One connection carries every thread of a process: ours, those of its sub-agents, and
// whatever else Codex does beside them. A child's turn ends like ours does, in the
// same words; many a client has taken it for its own. Nothing is looked at before it
// is known whose it is.

// params are what the notifications have in common, and the small members of each;
// which are there, the method says.
type params struct {
	ThreadID rpcline.Text `json:"threadId"`
	TurnID   rpcline.Text `json:"turnId"`
	ItemID   rpcline.Text `json:"itemId"`
	// Turn, Item and Error are objects.
	Turn  jsontext.Value `json:"turn"`
	Item  jsontext.Value `json:"item"`
	Error jsontext.Value `json:"error"`
	// WillRetry tells a fault that Codex goes on from.
	WillRetry rpcline.Flag `json:"willRetry"`
	// Delta is what an item has grown by; Summary and Content count its pieces.
	Delta   rpcline.Text   `json:"delta"`
	Summary rpcline.Number `json:"summaryIndex"`
	Content rpcline.Number `json:"contentIndex"`
	// Message is for people.
	Message rpcline.Text `json:"message"`
	// Plan is a list of steps; Usage, an object; Changes, a list; Status, an object.
	Plan    jsontext.Value `json:"plan"`
	Usage   jsontext.Value `json:"tokenUsage"`
	Changes jsontext.Value `json:"changes"`
	Status  jsontext.Value `json:"status"`
	// RequestID is that of a request that was settled.
	RequestID jsontext.Value `json:"requestId"`
}

// handlers are the notifications that are read.
var handlers = map[string]func(*translator, params){
	"turn/started":                              (*translator).turnStarted,
	"turn/completed":                            (*translator).turnCompleted,
	"turn/plan/updated":                         (*translator).planned,
	"error":                                     (*translator).erred,
	"item/started":                              (*translator).itemStarted,
	"item/completed":                            (*translator).itemCompleted,
	"item/agentMessage/delta":                   (*translator).spoke,
	"item/plan/delta":                           (*translator).spoke,
	"item/reasoning/summaryTextDelta":           (*translator).summarised,
	"item/reasoning/textDelta":                  (*translator).thought,
	"item/commandExecution/outputDelta":         (*translator).outputGrew,
	"item/fileChange/patchUpdated":              (*translator).patchUpdated,
	"item/mcpToolCall/progress":                 (*translator).progressed,
	"thread/tokenUsage/updated":                 (*translator).usage,
	"thread/status/changed":                     (*translator).statusChanged,
	"serverRequest/resolved":                    (*translator).settled,
	"warning":                                   (*translator).warned,
	"guardianWarning":                           (*translator).warned,
	"item/reasoning/summaryPartAdded":           ignored,
	"item/commandExecution/terminalInteraction": ignored,
}

// ignored is what is known and has no place in our vocabulary.
func ignored(*translator, params) {}

// silent are further notifications that are known and not read: what they tell
// belongs to the person's own client, or is told in another way too.
var silent = []string{
	"thread/started", "thread/name/updated", "thread/archived", "thread/unarchived", "thread/deleted", "thread/closed",
	"thread/settings/updated", "thread/readState/changed", "thread/goal/cleared", "thread/goal/updated", "thread/compacted",
	"turn/diff/updated", "account/rateLimits/updated", "account/updated", "account/login/completed", "remoteControl/status/changed",
	"mcpServer/startupStatus/updated", "item/fileChange/outputDelta", "configWarning", "deprecationNotice",
	"skills/changed", "hook/started", "hook/completed", "rawResponseItem/completed",
}

// early is a line of a thread that nobody has announced yet.
type early struct {
	handle func(*translator, params)
	params params
}

// maxEarly bounds the lines that wait for their thread to be announced.
const maxEarly = 200

// notified takes a notification.
func (t *translator) notified(m rpcline.Message) {
	handle := handlers[m.Method]
	if handle == nil {
		if !slices.Contains(silent, m.Method) {
			t.note("unknown notification", rpcline.Word(m.Method))
		}
		return
	}
	p := rpcline.Read[params](m.Params)
	switch thread := string(p.ThreadID); {
	case thread == "":
		t.note("notification of no thread", rpcline.Word(m.Method))
	case t.ours(thread):
		t.reached(m.Method, p)
		handle(t, p)
	case len(t.early) < maxEarly && t.stage == ready:
		t.early = append(t.early, early{handle, p})
	default:
		t.note("notification of an unknown thread", rpcline.Word(m.Method))
	}
}

// ours says whether a thread is ours or one of our sub-agents'.
func (t *translator) ours(thread string) bool {
	return thread == t.thread && thread != "" || t.agents[thread] != nil
}

// agent is the thread of a sub-agent.
type agent struct {
	// call is the tool call that spawned it.
	call string
	// turn is its running turn; "" while it is idle.
	turn string
	// prompt is what it was asked, for people.
	prompt string
}

// announce makes a thread a sub-agent's, and takes what it said before.
func (t *translator) announce(thread, call, prompt string) {
	if thread == "" || t.ours(thread) {
		return
	}
	t.agents[thread] = &agent{call: call, prompt: prompt}
	t.spent[thread] = &totals{known: true}
	waiting := t.early
	t.early = nil
	for _, e := range waiting {
		if string(e.params.ThreadID) != thread {
			t.early = append(t.early, e)
			continue
		}
		e.handle(t, e.params)
	}
}

// owner is the tool call below which a thread is shown; "" at top level.
func (t *translator) owner(thread string) string {
	if a := t.agents[thread]; a != nil {
		return a.call
	}
	return ""
}

// agentEnded takes the end of a sub-agent's turn, which ends nothing of ours.
func (t *translator) agentEnded(thread string, a *agent, r turnRef) {
	if a.turn != "" && string(r.ID) != a.turn {
		return
	}
	a.turn = ""
	t.endItems(thread, string(r.Status))
	t.tellBackground()
	t.reconcile(thread, r.Status == "interrupted")
}

// runningAgents are the threads of sub-agents with a turn, in order.
func (t *translator) runningAgents() []string {
	var ids []string
	for id, a := range t.agents {
		if a.turn != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// tellBackground tells what runs on beside the turns, where it changed: commands
// whose turn is over, and sub-agents while no turn is open.
func (t *translator) tellBackground() {
	var tasks []harness.Task
	for _, key := range t.order {
		if it := t.items[key]; it.left {
			tasks = append(tasks, harness.Task{ID: key.thread + "/" + key.item, Call: it.call, Description: it.title})
		}
	}
	if t.turn == nil {
		for _, id := range t.runningAgents() {
			tasks = append(tasks, harness.Task{ID: id, Call: t.agents[id].call, Description: t.agents[id].prompt})
		}
	}
	if len(tasks) > 0 || t.shown > 0 {
		t.emit(harness.Background{Tasks: tasks})
	}
	t.shown = len(tasks)
}
