package reducer

import (
	"encoding/json"
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checkReaders wants every reader to say what the JSON says.
func checkReaders(t rapid.TB, c *Conversation) {
	t.Helper()
	timeline := c.Timeline()
	if len(timeline) != c.Len() {
		t.Fatalf("%d entries, Len says %d", len(timeline), c.Len())
	}
	for i, e := range timeline {
		if diff := cmp.Diff(e, c.EntryAt(i)); diff != "" {
			t.Fatalf("entry %d (-Timeline +EntryAt):\n%s", i, diff)
		}
		checkMessage(t, c, e)
	}
	for _, turn := range c.Turns() {
		if got, ok := c.Turn(turn.TurnID); !ok || !cmp.Equal(got, turn) {
			t.Fatalf("turn %s: %v", turn.TurnID, got)
		}
	}
	for _, p := range c.Permissions() {
		if got, ok := c.Permission(p.RequestID); !ok || !cmp.Equal(got, p) {
			t.Fatalf("request %s: %v", p.RequestID, got)
		}
	}
	checkInputs(t, c)
}

// checkMessage wants Message and Part to agree with an entry.
func checkMessage(t rapid.TB, c *Conversation, e Entry) {
	t.Helper()
	m, ok := e.(*Message)
	if !ok {
		return
	}
	if got, ok := c.Message(m.MessageID); !ok || !cmp.Equal(got, *m) {
		t.Fatalf("message %s: %s", m.MessageID, cmp.Diff(*m, got))
	}
	for _, p := range m.Parts {
		if got, ok := c.Part(m.MessageID, p.Head().ID); !ok || !cmp.Equal(got, p) {
			t.Fatalf("part %s: %s", p.Head().ID, cmp.Diff(p, got))
		}
	}
}

// checkInputs wants ToolInputJSON to agree with the JSON.
func checkInputs(t rapid.TB, c *Conversation) {
	t.Helper()
	var saved struct {
		Inputs map[string]string `json:"toolInputJson"`
	}
	if err := json.Unmarshal(c.AppendJSON(nil), &saved); err != nil {
		t.Fatal(err)
	}
	for id, want := range saved.Inputs {
		if got, ok := c.ToolInputJSON(id); !ok || got != want {
			t.Fatalf("input of %s: %q, want %q", id, got, want)
		}
	}
	if _, ok := c.ToolInputJSON("never seen"); ok {
		t.Fatal("an input nobody sent")
	}
}

// The nil conversation is the empty one to every reader.
func TestEmptyConversation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*Conversation{"nil": nil, "loaded": reloaded(t, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.SessionID() != "" || c.NativeSessionID() != "" || c.Harness() != "" || c.Len() != 0 {
				t.Error("something is known of the empty conversation")
			}
			for what, known := range map[string]bool{
				"model": second(c.Model()), "resumed": second(c.Resumed()), "usage": second(c.Usage()), "cost": second(c.TotalCost()),
				"ended": second(c.Ended()), "turn": second(c.Turn("t")), "permission": second(c.Permission("r")),
				"message": second(c.Message("m")), "part": second(c.Part("m", "p")), "input": second(c.ToolInputJSON("p")),
				"plan": second(Plan(c)),
			} {
				if known {
					t.Errorf("%s is known", what)
				}
			}
			if n := len(c.Errors()) + len(c.UnknownEvents()) + len(c.Turns()) + len(c.Permissions()) + len(c.Timeline()); n != 0 {
				t.Errorf("%d entries", n)
			}
			if diff := cmp.Diff(Totals{}, c.Totals()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(Session{}, SessionInfo(c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func second[T any](_ T, known bool) bool { return known }

// Folding what changes nothing into the empty conversation leaves it empty.
func TestNothingIntoNil(t *testing.T) {
	t.Parallel()
	for _, ev := range []protocol.Event{
		nil,
		&protocol.Raw{},
		&protocol.MessageEnded{MessageID: "m"},
		&protocol.PermissionResolved{RequestID: "r"},
		&protocol.MessagePartDelta{Delta: &protocol.TextDelta{Text: "x"}},
		&protocol.MessagePartDelta{},
	} {
		if c, changes := ReduceWithChanges(nil, ev); c != nil || changes != nil {
			t.Errorf("%T: %v, %v", ev, c, changes)
		}
	}
}

// What is known is read as it was told.
func TestReaders(t *testing.T) {
	t.Parallel()
	for _, f := range vectorFiles(t) {
		if f.name != "scenario-subagents" {
			continue
		}
		c := foldAll(nil, f.events(t))
		checkReaders(t, c)
		model, _ := c.Model()
		resumed, _ := c.Resumed()
		ended, _ := c.Ended()
		cost, _ := c.TotalCost()
		usage, _ := c.Usage()
		got := []any{c.SessionID(), c.NativeSessionID(), string(c.Harness()), model, resumed, ended.Reason, cost, usage.Used, *usage.Size, c.Totals().Input}
		want := []any{"s", "n1", "demo", "m", true, "released", 0.01, 100.0, 1000.0, 11.0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		return
	}
	t.Error("no scenario")
}

// A part that nothing has touched is the same pointer in every state and at every
// reading, so that a view can tell what it need not draw again.
func TestUntouchedPartsKeepIdentity(t *testing.T) {
	t.Parallel()
	c, delta := streaming(3, "")
	before := ConversationMessages(c)
	after := ConversationMessages(foldAll(c, []protocol.Event{delta, delta}))
	for i := range 2 {
		for j, p := range before[i].Parts {
			if p != after[i].Parts[j] {
				t.Errorf("part %d of message %d is another one", j, i)
			}
		}
	}
	if before[2].Parts[0] == after[2].Parts[0] {
		t.Error("the part that has grown is the same one")
	}
}

// What a reader gets is its own: changing it changes no conversation.
func TestReadersCopy(t *testing.T) {
	t.Parallel()
	c := foldAll(nil, history(12))
	want := bytesOf(c)
	c.Timeline()[0].(*Message).Parts[0] = nil
	m, _ := c.Message(c.EntryAt(1).(*Message).MessageID)
	m.Parts[0] = nil
	c.Turns()[0].TurnID = "other"
	if turn, _ := c.Turn("turn-0"); turn.Errors == nil {
		t.Error("errors are nil")
	}
	GroupIntoTurns(c)[0].Entries[0].(*Message).Parts[0] = nil
	if got := bytesOf(c); got != want {
		t.Error("a reader's change came through")
	}
}
