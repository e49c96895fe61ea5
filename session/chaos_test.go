package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// chaosHarness makes translators that say anything, legal or not, and that check
// what they are told.
type chaosHarness struct {
	seed uint64
	// fault reports a breach of the contract with translators.
	fault func(format string, args ...any)
	made  []*chaos
	// written are the turns whose prompt was written and not lost again.
	written map[string]bool
	// own says whether the open turn is one that the harness opened.
	own bool
}

func (h *chaosHarness) Info() harness.Info {
	return harness.Info{ID: protocol.HarnessClaudeCode, Steer: h.seed%3 > 0}
}

func (h *chaosHarness) Check(cfg protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) {
	if cfg.MaxTurns != nil && *cfg.MaxTurns == 13 {
		return []protocol.Fault{{Path: "config.maxTurns", Message: "is unlucky"}}, nil
	}
	return nil, nil
}

func (h *chaosHarness) Launch(l harness.Launch) (harness.Command, error) {
	if l.Config.MaxTurns != nil && *l.Config.MaxTurns == 14 {
		return harness.Command{}, fmt.Errorf("maxTurns %d has no flag", *l.Config.MaxTurns)
	}
	return harness.Command{}, nil
}

func (h *chaosHarness) New(l harness.Launch, newID func() string) harness.Translator {
	if (l.Resume == "") == (l.NativeID == "") {
		h.fault("launched with resume %q and native id %q", l.Resume, l.NativeID)
	}
	tr := &chaos{h: h, launch: l, newID: newID, random: rand.New(rand.NewPCG(h.seed, uint64(len(h.made)))), asked: map[string]askState{}}
	h.made = append(h.made, tr)
	return tr
}

// askState is what became of a request, as its translator knows it.
type askState int

const (
	askNone askState = iota
	askOpen
	askClosed
)

// chaos is one process's translator.
type chaos struct {
	h      *chaosHarness
	launch harness.Launch
	newID  func() string
	// random is for its reactions; what a line says is drawn from the line.
	random *rand.Rand

	turn                  string
	registered, cancelled bool
	exited                bool
	asked                 map[string]askState
}

// Line says what the line's numbers draw.
func (tr *chaos) Line(line []byte) harness.Output {
	tr.alive()
	if n, calm := strings.CutPrefix(string(line), "calm "); calm {
		return tr.calm(n)
	}
	a, b, _ := strings.Cut(string(line), " ")
	x, _ := strconv.ParseUint(a, 10, 64)
	y, _ := strconv.ParseUint(b, 10, 64)
	return tr.babble(rand.New(rand.NewPCG(x, y)), 3)
}

// calm says what a harness says that does nothing wrong: without it few runs come
// far.
func (tr *chaos) calm(n string) harness.Output {
	one := func(u ...harness.Update) harness.Output { return harness.Output{Updates: u} }
	switch n {
	case "0", "1":
		if tr.turn == "" {
			return harness.Output{}
		}
		tr.registered = true
		return one(tr.write(), harness.Registered{})
	case "2":
		return one(harness.Background{Tasks: []harness.Task{{ID: "b", Call: "c1"}}})
	case "3":
		return one(harness.PartSet{Part: "p9", Owner: "c1", Value: &protocol.TextPart{Text: "x", State: protocol.StateDone}})
	case "4":
		return one(harness.Woken{})
	case "5":
		return one(harness.Finished{Reason: protocol.StopEndTurn})
	}
	return one(harness.Background{})
}

// Step checks the input against the contract, and reacts.
func (tr *chaos) Step(in harness.Input) harness.Output {
	tr.alive()
	switch in := in.(type) {
	case harness.Begin:
		return tr.begin(in)
	case harness.Configure:
		return tr.configure()
	case harness.Cancel:
		return tr.cancel()
	case harness.Steer:
		return tr.steer(in)
	case harness.Resolve:
		return tr.resolve(in)
	case harness.Exited:
		tr.exited = true
		return tr.lastWords()
	}
	return tr.babble(tr.random, 1)
}

func (tr *chaos) alive() {
	if tr.exited {
		tr.h.fault("a translator is told something after its exit")
	}
}

func (tr *chaos) begin(in harness.Begin) harness.Output {
	if tr.turn == in.Turn {
		tr.h.fault("turn %s is begun twice in one process", in.Turn)
	}
	if tr.h.written[in.Turn] {
		tr.h.fault("turn %s is begun again after its prompt was written", in.Turn)
	}
	tr.turn, tr.registered, tr.cancelled = in.Turn, false, false
	if tr.random.IntN(4) == 0 {
		return tr.babble(tr.random, 1)
	}
	first := tr.write()
	out := tr.babble(tr.random, 1)
	out.Updates = append([]harness.Update{first}, out.Updates...)
	out.Stdin = []byte("prompt\n")
	return out
}

// write says that the prompt is written.
func (tr *chaos) write() harness.Update {
	tr.h.written[tr.turn] = true
	return harness.PromptWritten{}
}

func (tr *chaos) configure() harness.Output {
	switch tr.random.IntN(4) {
	case 0:
		return harness.Output{Process: harness.Restart}
	case 1:
		return tr.babble(tr.random, 1)
	}
	return harness.Output{Stdin: []byte("configure\n")}
}

func (tr *chaos) cancel() harness.Output {
	if (!tr.registered || tr.cancelled) && !tr.h.own {
		tr.h.fault("cancel of a turn that is registered %v, cancelled %v", tr.registered, tr.cancelled)
	}
	tr.cancelled = true
	for key, state := range tr.asked {
		if state == askOpen {
			tr.asked[key] = askClosed
		}
	}
	out := harness.Output{Stdin: []byte("interrupt\n")}
	if tr.random.IntN(4) == 0 {
		out.Updates = []harness.Update{cancelledByHarness}
	}
	return out
}

func (tr *chaos) steer(in harness.Steer) harness.Output {
	if !tr.registered || tr.cancelled || tr.h.own || tr.h.seed%3 == 0 {
		tr.h.fault("law 145: steered by %s, registered %v, cancelled %v, a harness turn %v", in.Turn, tr.registered, tr.cancelled, tr.h.own)
	}
	if tr.h.written[in.Turn] {
		tr.h.fault("law 145: steered by %s, which was written before", in.Turn)
	}
	tr.h.written[in.Turn] = true
	out := tr.babble(tr.random, 1)
	out.Stdin = []byte("further prompt\n")
	return out
}

func (tr *chaos) resolve(in harness.Resolve) harness.Output {
	if tr.asked[in.Request] != askOpen {
		tr.h.fault("request %s is answered in state %d", in.Request, tr.asked[in.Request])
	}
	tr.asked[in.Request] = askClosed
	out := harness.Output{Stdin: []byte("answer\n")}
	if tr.random.IntN(3) == 0 {
		out = tr.babble(tr.random, 1)
	}
	return out
}

func (tr *chaos) lastWords() harness.Output {
	switch tr.random.IntN(4) {
	case 0:
		return harness.Output{Updates: []harness.Update{tr.loseResume()}}
	case 1:
		return tr.babble(tr.random, 2)
	}
	return harness.Output{}
}

// loseResume says that resuming failed; the same turn may then be begun again.
func (tr *chaos) loseResume() harness.Update {
	delete(tr.h.written, tr.turn)
	return harness.ResumeFailed{InUse: tr.random.IntN(3) == 0, Message: "gone"}
}

// babble is an output of up to n random updates, and now and then a wish.
func (tr *chaos) babble(r *rand.Rand, n int) harness.Output {
	var out harness.Output
	for range r.IntN(n + 1) {
		u := tr.update(r)
		out.Updates = append(out.Updates, u)
		if _, lost := u.(harness.ResumeFailed); lost {
			break // what it says after that is nobody's
		}
	}
	switch r.IntN(40) {
	case 0:
		out.Process = harness.Restart
	case 1:
		out.Process = harness.Stop
	case 2, 3:
		out.Timers = []harness.Timer{{Name: "t" + strconv.Itoa(r.IntN(2)), After: time.Duration(r.IntN(20)) * time.Second}}
	}
	if r.IntN(4) == 0 {
		out.Stdin = []byte("line\n")
	}
	return out
}

// update draws one update. Keys come from small pools, so that they meet.
func (tr *chaos) update(r *rand.Rand) harness.Update {
	part, call, text := "p"+strconv.Itoa(r.IntN(4)), "c"+strconv.Itoa(r.IntN(4)), strings.Repeat("x\xffé😀"[:1+r.IntN(3)], r.IntN(3))
	owner := ""
	if r.IntN(4) == 0 {
		owner = "c" + strconv.Itoa(r.IntN(4))
	}
	switch r.IntN(30) {
	case 0, 1:
		return harness.PartOpened{Part: part, Owner: owner, Kind: pick(r, protocol.PartText, protocol.PartReasoning, protocol.PartImage)}
	case 2, 3, 4, 5:
		return harness.TextAppended{Part: part, Text: text}
	case 6, 7:
		return harness.PartSet{Part: part, Owner: owner, Role: pick(r, "", "", protocol.RoleUser, "system"), Value: chaosPart(r, text)}
	case 8, 9, 10:
		return harness.ToolSet{Call: call, Owner: owner, Name: pick(r, "", "Bash"), Kind: pick(r, "", " ", protocol.KindRead), Title: pick(r, "", "t"), State: chaosState(r)}
	case 11:
		return harness.InputAppended{Call: call, Text: pick(r, `{"a"`, `:1}`, "")}
	case 12:
		return harness.MessageOpened{Message: "m", Model: pick(r, "", "model")}
	case 13:
		return harness.MessageClosed{}
	case 14:
		return harness.Abandoned{Parts: []string{part, call}}
	case 15, 16, 17:
		return tr.ask(r, call, owner)
	case 18:
		return tr.withdraw("r" + strconv.Itoa(r.IntN(6)))
	}
	return tr.lifeUpdate(r)
}

// lifeUpdate draws an update of the turn's or the session's life.
func (tr *chaos) lifeUpdate(r *rand.Rand) harness.Update {
	switch r.IntN(18) {
	case 0, 1:
		tr.registered = true
		return harness.Registered{}
	case 2:
		return tr.write()
	case 3, 4:
		return harness.Created{NativeID: pick(r, "n1", "n1", "n2", ""), Resumed: r.IntN(2) == 0}
	case 5:
		return harness.Usage{Used: float64(r.IntN(9))}
	case 6:
		return harness.Compaction{Key: pick(r, "k1", "k2"), Status: pick(r, "in_progress", "completed", " ")}
	case 7:
		return harness.Notice{Category: pick(r, "", protocol.CategoryNetwork), Message: "n"}
	case 8, 13, 14:
		return harness.Background{Tasks: chaosTasks(r)}
	case 9:
		return harness.Finished{Reason: pick(r, protocol.StopEndTurn, protocol.StopCancelled, protocol.StopError, "", "_odd")}
	case 10:
		return harness.Rejected{}
	case 11, 15, 16:
		return harness.Woken{Trigger: pick(r, "", " ", "a task ended")}
	case 12:
		return harness.SessionInfo{
			Title: pick(r, nil, new("a"), new("b\xff")), Model: pick(r, nil, new("m")),
			Modes: pick(r, nil, []protocol.Object{}, []protocol.Object{protocol.Object(`{"id":1}`), protocol.Object(`[`)}),
		}
	}
	return tr.loseResume()
}

// chaosTasks are none, one or two tasks; their calls are known, or not.
func chaosTasks(r *rand.Rand) []harness.Task {
	tasks := make([]harness.Task, r.IntN(3))
	for i := range tasks {
		tasks[i] = harness.Task{ID: strconv.Itoa(i), Call: pick(r, "", "c1", "c2"), Description: pick(r, "", "look around")}
	}
	return tasks
}

// ask draws a request, and notes that it waits: unless it waits already, it must
// be answered, taken back, or outlived.
func (tr *chaos) ask(r *rand.Rand, call, owner string) harness.Update {
	a := harness.Asked{
		Request: "r" + strconv.Itoa(r.IntN(6)), Call: pick(r, "", call), Owner: owner, Name: pick(r, "", "Bash", "Edit"),
		RawInput: pick(r, nil, protocol.Object(`{"a":1}`), protocol.Object(`[`)), Always: r.IntN(2) == 0, InputSlot: r.IntN(2) == 0,
	}
	if r.IntN(3) == 0 {
		a.Options = []protocol.PermissionOption{{OptionID: "yes", Kind: protocol.AllowOnce}, {OptionID: "odd"}, {OptionID: "reject", Kind: protocol.RejectAlways}}[:r.IntN(4)]
	}
	tr.asked[a.Request] = askOpen
	return a
}

func (tr *chaos) withdraw(key string) harness.Update {
	tr.asked[key] = askClosed
	return harness.Withdrawn{Request: key}
}

// waits are the requests that the translator has open.
func (tr *chaos) waits() int {
	n := 0
	for _, state := range tr.asked {
		if state == askOpen {
			n++
		}
	}
	return n
}

func chaosPart(r *rand.Rand, text string) protocol.Part {
	meta := pick(r, nil, protocol.Object(`{"k":1}`), protocol.Object(`7`))
	switch r.IntN(6) {
	case 0:
		return &protocol.ImagePart{Data: pick(r, nil, new("QQ==")), URL: pick(r, nil, new("u")), MimeType: "m"}
	case 1:
		return &protocol.UnknownPart{Kind: pick[protocol.PartType](r, "plan", "text", ""), Raw: pick(r, nil, protocol.Object(`{"entries":[]}`), protocol.Object(`[]`))}
	case 2:
		return &protocol.ToolPart{}
	case 3:
		return &protocol.ReasoningPart{PartHead: protocol.PartHead{Meta: meta}, Text: text, State: pick(r, "", protocol.StateStreaming, protocol.StateDone)}
	}
	return &protocol.TextPart{PartHead: protocol.PartHead{Meta: meta}, Text: text, State: pick(r, "", protocol.StateStreaming, protocol.StateDone)}
}

func chaosState(r *rand.Rand) protocol.ToolState {
	input := pick(r, nil, protocol.Object(`{"a":1}`), protocol.Object(`{"a"`))
	switch r.IntN(8) {
	case 0:
		return &protocol.PendingState{PartialInput: pick(r, "", `{"a"`)}
	case 1, 2:
		return &protocol.InProgressState{Input: input}
	case 3:
		return &protocol.CompletedState{Input: input, Output: "o", Metadata: input}
	case 4:
		return &protocol.FailedState{Error: "e"}
	case 5:
		return &protocol.CancelledState{Time: protocol.Span{Start: 9, End: 3}}
	}
	return nil
}

// pick draws one of some.
func pick[T any](r *rand.Rand, some ...T) T { return some[r.IntN(len(some))] }

// keysOf sorts a map's keys: what is drawn from a map must be the same each run.
func keysOf[K interface{ ~int | ~string }, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
