package claudecode

import (
	"slices"

	"agent-server/harness"
)

// A sub-agent or a command may run on beside the turns. The CLI then says three
// things of it: which tool call started it (task_started), what runs at all
// (background_tasks_changed, the whole set each time), and how it ended
// (task_notification), upon which the main agent starts a turn of its own, with no
// prompt of ours. What a background sub-agent says comes at any time, between the
// turns too; it needs no turn here, the machine finds it one.

// task is a piece of work that has its own life.
type task struct {
	// call is the tool call that started it.
	call string
	// about is what it does, for people.
	about string
}

// onTaskStarted learns which tool call runs a task, and the id of a sub-agent. The
// set may have come before; it is told again with what was missing.
func (t *translator) onTaskStarted(line []byte) {
	s := object[system](line)
	if s.TaskType == "local_agent" {
		t.noteAgent(string(s.Task), string(s.ToolUseID))
	}
	if s.Task == "" || len(t.tasks) >= mostTasks {
		return
	}
	t.tasks[string(s.Task)] = task{call: string(s.ToolUseID), about: string(s.Description)}
	i := slices.IndexFunc(t.background, func(b harness.Task) bool { return b.ID == string(s.Task) })
	if i >= 0 && s.ToolUseID != "" && t.background[i].Call == "" {
		t.background = slices.Clone(t.background) // what was told is never changed
		t.background[i].Call = string(s.ToolUseID)
		t.emit(harness.Background{Tasks: t.background})
	}
}

// mostTasks bounds the tasks whose end was not seen.
const mostTasks = 1024

// onBackground takes the set of tasks that run on beside the turn.
func (t *translator) onBackground(line []byte) {
	var tasks []harness.Task
	for _, listed := range objects[struct {
		ID          text `json:"task_id"`
		Description text `json:"description"`
	}](object[system](line).Tasks) {
		id := string(listed.ID)
		tasks = append(tasks, harness.Task{ID: id, Call: t.tasks[id].call, Description: string(listed.Description)})
	}
	if len(tasks) == 0 && len(t.background) == 0 {
		return
	}
	t.background = tasks
	t.emit(harness.Background{Tasks: tasks})
}

// canSay says whether what this owner says belongs anywhere: into the turn that is
// open, or, of a sub-agent, beside the turns. With nothing in the background it is
// the last word of one that was stopped.
func (t *translator) canSay(owner string) bool {
	return t.turn != nil || owner != "" && len(t.background) > 0
}

// onTaskEnded takes the end of a task: it is what the main agent will be woken by.
// What became of the work is said by the result of its tool call, or by the main
// agent in that turn.
func (t *translator) onTaskEnded(line []byte) {
	id := string(object[system](line).Task)
	if known, ok := t.tasks[id]; ok {
		t.trigger = known.about
		delete(t.tasks, id)
	}
}

// wake begins a turn that no prompt of ours began. Its result ends it.
func (t *translator) wake() {
	t.turn = &turn{woken: true, written: true, registered: true, started: true}
	t.emit(harness.Woken{Trigger: t.trigger}, harness.Registered{})
	t.trigger = ""
}

// onState takes whether the CLI is idle, running, or waits for an answer. A turn of
// its own ends with its result; should that be lost, with the CLI being idle. A
// prompt's end has other signs: this may still be the state of the turn before it.
func (t *translator) onState(line []byte) {
	if t.turn == nil || !t.turn.woken {
		return
	}
	switch object[system](line).State {
	case "idle":
		t.settleSoon("idle")
	case "running":
		t.settleNot()
	}
}

// stoppingTask ends one task.
type stoppingTask struct {
	// Subtype is stop_task.
	Subtype string `json:"subtype"`
	// Task is its id.
	Task string `json:"task_id"`
}

// stopTasks ends what runs beside the turns, where the main agent does nothing. The
// interrupt alone would leave commands running.
func (t *translator) stopTasks() {
	t.interrupt(false)
	for _, running := range t.background {
		t.aside("stop_task", stoppingTask{"stop_task", running.ID})
	}
}
