package verify

import (
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// fact is one sentence about a rule, with the stream that tests it. An echoed
// turn takes the indices 0, 1 and 2.
type fact struct {
	says   string
	events []protocol.Event
	want   []Violation
}

// hold judges each fact under the options.
func hold(t *testing.T, opts Options, facts []fact) {
	t.Helper()
	for _, f := range facts {
		t.Run(f.says, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(f.want, verdict(f.events, opts), anyOrder); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	ok        = protocol.StopEndTurn
	cancelled = protocol.StopCancelled
	failed    = protocol.StopError
	done      = protocol.StateDone
	streaming = protocol.StateStreaming
)

func TestTurns(t *testing.T) {
	t.Parallel()
	hold(t, Options{Base: true}, []fact{
		{"a turn.started of whatever turn allows a session.created",
			then(created(), echoed("a"), created(), start("a"), created(), end("a", ok)),
			[]Violation{broke(TurnStartedOnce, 5)}},
		{"before any turn only one session.created stands",
			then(created(), created()), []Violation{broke(SessionCreatedOnce, 1)}},
		{"an end of an unknown turn makes no turn",
			then(end("a", failed), end("a", ok), echoed("a"), end("a", ok)),
			[]Violation{broke(TurnEndedPairs, 0), broke(TurnEndedPairs, 1)}},
		{"a turn started twice and never ended is blamed at its first start",
			then(echoed("a"), start("a")), []Violation{broke(TurnStartedOnce, 3), broke(TurnEndedPairs, 0)}},
		{"open messages are one breach, at the first end alone",
			then(echoed("a"), assistant("a", "m", 1), assistant("a", "n", 2), end("a", ok), end("a", ok)),
			[]Violation{broke(MessagesClosedByTurnEnd, 5), broke(TurnEndedOnce, 6)}},
		{"only the first end must say its error",
			then(echoed("a"), end("a", ok), end("a", failed)), []Violation{broke(TurnEndedOnce, 4)}},
		{"a word that nobody knows need not say its error",
			then(echoed("a"), end("a", "_odd")), nil},
		{"two turns at once are no breach of the base",
			then(echoed("a"), echoed("b"), end("b", ok), end("a", ok)), nil},
	})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	hold(t, Options{Base: true}, []fact{
		{"a message of an unknown turn opens nothing, is no first message and has no role",
			then(user("a", "m"), start("a"), show("a", text("m", "p", "x", streaming)), assistant("a", "n", 1), closed("a", "n"), end("a", ok)),
			[]Violation{broke(MessageInTurn, 0), broke(EchoFirst, 3)}},
		{"its end in the turn, started meanwhile, is a stray one",
			then(user("a", "m"), start("a"), closed("a", "m"), end("a", ok)),
			[]Violation{broke(MessageInTurn, 0), broke(BracketPairing, 2)}},
		{"a message.ended of an unknown turn is nothing",
			then(closed("a", "m")), nil},
		{"a stray end counts as ended from then on",
			then(echoed("a"), closed("a", "m"), closed("a", "m"), end("a", ok)), []Violation{broke(BracketPairing, 3)}},
		{"a message ended in another turn is stray here",
			then(echoed("a"), echoed("b"), closed("b", "echo-a"), end("a", ok), end("b", ok)), []Violation{broke(BracketPairing, 6)}},
		{"a second message.started opens it again",
			then(start("a"), user("a", "m"), closed("a", "m"), user("a", "m"), end("a", ok)),
			[]Violation{broke(OutputIndexIncreases, 3), broke(MessagesClosedByTurnEnd, 4)}},
		{"an echo at another place than 0 is none",
			then(start("a"), &protocol.MessageStarted{SessionID: "s", TurnID: "a", MessageID: "m", OutputIndex: 1, Role: protocol.RoleUser}, closed("a", "m"), end("a", ok)),
			[]Violation{broke(EchoFirst, 1)}},
		{"places may be left out",
			then(echoed("a"), assistant("a", "m", 7), closed("a", "m"), end("a", ok)), nil},
		{"each outputIndex is above the one before it, not above all",
			then(echoed("a"), assistant("a", "m", 2), assistant("a", "n", 1), assistant("a", "o", 2), closed("a", "m"), closed("a", "n"), closed("a", "o"), end("a", ok)),
			[]Violation{broke(OutputIndexIncreases, 4)}},
		{"each turn counts for itself",
			then(echoed("a"), end("a", ok), echoed("b"), end("b", ok)), nil},
		{"a message that ends after its turn is only late",
			then(echoed("a"), assistant("a", "m", 1), end("a", ok), closed("a", "m")), []Violation{broke(MessagesClosedByTurnEnd, 4)}},
	})
}

func TestParts(t *testing.T) {
	t.Parallel()
	hold(t, Options{Base: true}, []fact{
		{"the first address of a part counts",
			then(echoed("a"), show("a", text("m", "p", "x", done)), at(1, show("a", text("m", "p", "x", done))), show("a", text("m", "p", "x", done)), end("a", ok)),
			[]Violation{broke(PartAddressStable, 4)}},
		{"a part shown in two messages keeps no address, and the fold keeps both",
			then(echoed("a"), show("a", text("m", "p", "x", done)), show("a", text("n", "p", "y", done)), end("a", ok)),
			[]Violation{broke(PartAddressStable, 4), broke(ProjectionAgrees, -1)}},
		{"a part of an unknown type has an address too",
			then(echoed("a"), show("a", hologram("m", "p")), at(1, show("a", hologram("m", "p"))), end("a", ok)),
			[]Violation{broke(PartAddressStable, 4)}},
		{"late parts: each final state of a tool passes, an unknown type passes",
			then(echoed("a"), end("a", ok), show("a", tool("m", "p", completed())),
				at(1, show("a", tool("m", "q", &protocol.FailedState{Input: protocol.Object(`{}`)}))),
				at(2, show("a", tool("m", "r", &protocol.CancelledState{Input: protocol.Object(`{}`)}))),
				at(3, show("a", hologram("m", "u")))), nil},
		{"late parts: anything else does not",
			then(echoed("a"), end("a", ok), show("a", tool("m", "p", waiting(""))), at(1, show("a", tool("m", "q", running()))),
				at(2, show("a", thought("m", "r", "x", done))),
				at(3, show("a", &protocol.ImagePart{PartHead: head("m", "i"), URL: new("https://h/i"), MimeType: "image/png"}))),
			[]Violation{broke(LatePartsAreTerminalTools, 4), broke(LatePartsAreTerminalTools, 5), broke(LatePartsAreTerminalTools, 6), broke(LatePartsAreTerminalTools, 7)}},
		{"a part of an unknown turn is not late",
			then(show("a", text("m", "p", "x", done))), nil},
		{"the user's text and reasoning must say that they are done; an image has nothing to say",
			then(start("a"), user("a", "m"), show("a", text("m", "p", "x", "")), at(1, show("a", thought("m", "q", "x", streaming))),
				at(2, show("a", &protocol.ImagePart{PartHead: head("m", "i"), URL: new("https://h/i"), MimeType: "image/png"})), closed("a", "m"), end("a", ok)),
			[]Violation{broke(EchoPartsDone, 2), broke(EchoPartsDone, 3)}},
		{"a delta may name another message than the snapshot before it, and may be of a tool's input",
			then(echoed("a"), show("a", text("m", "p", "x", done)), grow("a", "n", "p", words("y")),
				grow("a", "n", "q", input("{")), end("a", ok)),
			[]Violation{broke(DeltaFollowsSnapshot, 5)}},
		{"text may be longer than its snapshot where a delta came after, whichever it was",
			then(echoed("a"), show("a", text("m", "p", "x", streaming)), grow("a", "m", "p", &protocol.ReasoningDelta{Text: "y"}), end("a", ok)), nil},
		{"a tool left open is cancelled by the end of its turn",
			then(echoed("a"), show("a", tool("m", "p", running())), end("a", ok)), nil},
		{"a part that changes its type is what it last was",
			then(echoed("a"), show("a", text("m", "p", "x", done)), show("a", hologram("m", "p")), show("a", thought("m", "p", "y", done)), end("a", ok)), nil},
	})
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	hold(t, Options{Base: true}, []fact{
		{"a request delivered again after its answer is open again",
			then(echoed("a"), ask("a", "r"), choose("a", "r"), ask("a", "r"), end("a", ok)), []Violation{broke(PermissionResolvesOnce, 5)}},
		{"a request delivered twice before its answer is answered once",
			then(echoed("a"), ask("a", "r"), ask("a", "r"), choose("a", "r"), end("a", ok)), nil},
		{"an answer before the request is none to it, and a second one is blamed all the same",
			then(echoed("a"), choose("a", "r"), ask("a", "r"), choose("a", "r"), end("a", ok)), []Violation{broke(PermissionResolvesOnce, 5)}},
		{"the fold's own cancelling is no answer",
			then(echoed("a"), ask("a", "r"), end("a", cancelled)), []Violation{broke(PermissionResolvesOnce, 3)}},
		{"the last asking is blamed",
			then(echoed("a"), ask("a", "r"), ask("a", "r"), end("a", ok)), []Violation{broke(PermissionResolvesOnce, 4)}},
	})
}

func TestWithoutEcho(t *testing.T) {
	t.Parallel()
	hold(t, Options{NoEcho: true}, []fact{
		{"no turn need begin with the user",
			then(start("a"), assistant("a", "m", 4), closed("a", "m"), end("a", ok)), nil},
		{"a user's text may stream",
			then(start("a"), user("a", "m"), show("a", text("m", "p", "x", streaming)), show("a", text("m", "p", "x", done)), closed("a", "m"), end("a", ok)), nil},
		{"everything else holds",
			then(start("a")), []Violation{broke(TurnEndedPairs, 0)}},
	})
}

func TestBeyondTheBase(t *testing.T) {
	t.Parallel()
	hold(t, Options{}, []fact{
		{"a message opened again may end again",
			then(start("a"), user("a", "m"), closed("a", "m"), user("a", "m"), closed("a", "m"), end("a", ok)),
			[]Violation{broke(OutputIndexIncreases, 3)}},
		{"a stray end is no second one, the next is",
			then(echoed("a"), closed("a", "m"), closed("a", "m"), end("a", ok)),
			[]Violation{broke(BracketPairing, 3), broke(MessageEndedOnce, 4)}},
		{"a request of another turn may stay open",
			then(echoed("a"), echoed("b"), ask("a", "r"), end("b", ok), choose("a", "r"), end("a", ok)), nil},
		{"requests left open are blamed at the first end alone",
			then(echoed("a"), ask("a", "r"), end("a", ok), end("a", ok), choose("a", "r")),
			[]Violation{broke(PermissionBeforeTurnEnd, 4), broke(TurnEndedOnce, 5)}},
		{"a second end of a turn is judged once",
			then(echoed("a"), end("a", ok), fail("a", "auth")), []Violation{broke(TurnEndedOnce, 4)}},
		{"what was once announced as fatal may be repeated as recoverable",
			then(echoed("a"), fault1("a", "network", false), fault1("a", "network", true), fail("a", "network")), nil},
		{"an error of no turn announces nothing",
			then(echoed("a"), fault1("", "network", false), fail("a", "network")), []Violation{broke(RecoverableMeansContinues, 4)}},
		{"a recoverable error of a turn that goes well is what the word means",
			then(echoed("a"), fault1("a", "network", true), end("a", ok)), nil},
		{"a turn that goes well need not announce what it says of an error",
			then(echoed("a"), &protocol.TurnEnded{SessionID: "s", TurnID: "a", StopReason: ok, Error: &protocol.TurnError{Category: "auth", Message: "why"}}), nil},
		{"an error of an unknown turn is noted nowhere",
			then(fault1("z", "network", false)), nil},
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	filler := &protocol.Raw{SessionID: "s", TurnID: "a", Harness: protocol.HarnessACP, Data: protocol.Object(`null`), Meta: protocol.Object(`{"agent-server/elided":true}`)}
	line := &protocol.Raw{SessionID: "s", TurnID: "a", Harness: protocol.HarnessACP, Data: protocol.Object(`{}`)}
	marked := func(key string) *protocol.TextPart {
		p := text("m", "p", "other", done)
		p.Meta = protocol.Object(`{"` + key + `":true}`)
		return p
	}
	opened := func(rest ...any) []protocol.Event {
		return then(echoed("a"), show("a", text("m", "p", "", streaming)), then(rest...), end("a", ok))
	}
	hold(t, Options{}, []fact{
		{"text takes deltas of reasoning too, as the fold does",
			opened(grow("a", "m", "p", words("x")), grow("a", "m", "p", &protocol.ReasoningDelta{Text: "y"}), show("a", text("m", "p", "xy", done))), nil},
		{"input is none of a text",
			opened(grow("a", "m", "p", input("x")), show("a", text("m", "p", "", done))), nil},
		{"a delta that names another message builds nothing",
			opened(grow("a", "n", "p", words("x")), show("a", text("m", "p", "", done))), nil},
		{"what the opening snapshot holds counts",
			then(echoed("a"), show("a", text("m", "p", "x", streaming)), grow("a", "m", "p", words("y")), show("a", text("m", "p", "xy", done)), end("a", ok)), nil},
		{"after a wrong snapshot the deltas build on it",
			opened(grow("a", "m", "p", words("x")), show("a", text("m", "p", "z", streaming)), grow("a", "m", "p", words("y")), show("a", text("m", "p", "zy", done))),
			[]Violation{broke(DeltaConcatEqualsFinal, 5)}},
		{"a part that is done is held to nothing more",
			opened(show("a", text("m", "p", "", done)), show("a", text("m", "p", "corrected", done))), nil},
		{"a state left out is final",
			opened(show("a", text("m", "p", "x", ""))), []Violation{broke(DeltaConcatEqualsFinal, 4)}},
		{"where a filler stands the part is not held to its deltas, for good",
			opened(filler, show("a", text("m", "p", "x", streaming)), grow("a", "m", "p", words("y")), show("a", text("m", "p", "z", done))), nil},
		{"a native line is no filler",
			opened(line, show("a", text("m", "p", "x", done))), []Violation{broke(DeltaConcatEqualsFinal, 5)}},
		{"a filler before the part was shown does not excuse it",
			then(echoed("a"), filler, show("a", text("m", "p", "", streaming)), show("a", text("m", "p", "x", done)), end("a", ok)),
			[]Violation{broke(DeltaConcatEqualsFinal, 5)}},
		{"a part that is marked is no copy",
			opened(show("a", marked(protocol.MetaAbandoned))), nil},
		{"nor is one that was cut",
			opened(show("a", marked(protocol.MetaTruncated))), nil},
		{"nor one that was closed for a dead host",
			opened(show("a", marked(protocol.MetaHostDeath))), nil},
		{"another mark excuses nothing",
			opened(show("a", marked(protocol.MetaOrigin))), []Violation{broke(DeltaConcatEqualsFinal, 4)}},
		{"a part that becomes another type is not compared with what it was",
			opened(show("a", thought("m", "p", "x", done))), nil},
		{"but with what it has become",
			opened(show("a", thought("m", "p", "", streaming)), show("a", thought("m", "p", "x", done))), []Violation{broke(DeltaConcatEqualsFinal, 5)}},
		{"a tool's input is the harness's own once it runs",
			then(echoed("a"), show("a", tool("m", "p", waiting(""))), grow("a", "m", "p", input("{\"a\":1}")), show("a", tool("m", "p", running())), end("a", ok)), nil},
		{"while it waits it restates what was streamed",
			then(echoed("a"), show("a", tool("m", "p", waiting(""))), grow("a", "m", "p", words("not input")), grow("a", "m", "p", input("{")), show("a", tool("m", "p", waiting(""))), end("a", ok)),
			[]Violation{broke(DeltaConcatEqualsFinal, 6)}},
	})
}

func TestWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	compaction := func(status string) *protocol.SessionCompaction {
		return &protocol.SessionCompaction{SessionID: "s", TurnID: "a", CompactionID: "k", Status: status}
	}
	unqueued := unknown(protocol.TypeTurnUnqueued, `{"type":"turn.unqueued","sessionId":"s","turnId":"b","reason":"cancelled"}`)
	queued := unknown(protocol.TypeTurnQueued, `{"type":"turn.queued","sessionId":"s","turnId":"b","position":1}`)
	hold(t, Options{}, []fact{
		{"in a turn that does not end the turn alone is blamed",
			then(echoed("a"), show("a", text("m", "p", "", streaming))), []Violation{broke(TurnEndedPairs, 0)}},
		{"a part is blamed where it was first shown",
			then(echoed("a"), show("a", thought("m", "p", "", streaming)), show("a", thought("m", "p", "", streaming)), end("a", ok)),
			[]Violation{broke(EverythingStartedEnds, 3)}},
		{"a part that becomes something else has ended",
			then(echoed("a"), show("a", text("m", "p", "", streaming)), show("a", hologram("m", "p")), end("a", ok)), nil},
		{"a tool is ended by the fold",
			then(echoed("a"), show("a", tool("m", "p", waiting(""))), end("a", ok)), nil},
		{"a compaction is blamed where it first began",
			then(compaction("in_progress"), compaction("in_progress")), []Violation{broke(EverythingStartedEnds, 0)}},
		{"a compaction may begin again after its end",
			then(compaction("in_progress"), compaction("failed"), compaction("in_progress")), []Violation{broke(EverythingStartedEnds, 2)}},
		{"a turn is unqueued once",
			then(queued, unqueued, unqueued), []Violation{broke(EverythingStartedEnds, 2)}},
		{"what was unqueued neither starts nor waits again",
			then(queued, unqueued, echoed("b"), end("b", ok), queued), []Violation{broke(EverythingStartedEnds, 2), broke(EverythingStartedEnds, 6), broke(EverythingStartedEnds, 6)}},
		{"a turn is queued once, and before it starts",
			then(queued, queued, echoed("b"), end("b", ok), unqueued), []Violation{broke(EverythingStartedEnds, 1), broke(EverythingStartedEnds, 6)}},
		{"what left the queue before the stream begins is not blamed",
			then(unqueued), nil},
		{"an event of another type is none of the queue, whatever turn it names",
			then(queued, unqueued, unknown("turn.thought", `{"type":"turn.thought","turnId":"b"}`)), nil},
		{"a queued turn that starts has left the queue",
			then(queued, echoed("b"), end("b", ok)), nil},
		{"one that neither starts nor is taken out is blamed",
			then(queued, unknown(protocol.TypeTurnUnqueued, `{"type":"turn.unqueued","turnId":7}`)), []Violation{broke(EverythingStartedEnds, 0)}},
	})
}

func TestAsksAfterCancel(t *testing.T) {
	t.Parallel()
	hold(t, Options{}, []fact{
		{"an ask after a withdrawn one is lawful where the turn goes well",
			then(echoed("a"), ask("a", "r"), drain("a", "r"), ask("a", "q"), drain("a", "q"), end("a", ok)), nil},
		{"a choice after it proves that there was no cancel yet",
			then(echoed("a"), ask("a", "r"), drain("a", "r"), ask("a", "q"), choose("a", "q"), end("a", cancelled)), nil},
		{"requests that were open at the cancel are drained one by one",
			then(echoed("a"), ask("a", "r"), ask("a", "q"), drain("a", "r"), drain("a", "q"), end("a", cancelled)), nil},
		{"an answer by a clock or a policy is no cancel",
			then(echoed("a"), ask("a", "r"), by("timeout", drain("a", "r")), ask("a", "q"), drain("a", "q"), end("a", cancelled)), nil},
		{"nor is its choice a proof that there was none",
			then(echoed("a"), ask("a", "r"), drain("a", "r"), ask("a", "q"), by("policy", choose("a", "q")), end("a", cancelled)),
			[]Violation{broke(NoAskAfterCancel, 5)}},
		{"a request delivered again does not open",
			then(echoed("a"), ask("a", "r"), ask("a", "q"), drain("a", "r"), ask("a", "q"), drain("a", "q"), end("a", cancelled)), nil},
	})
}
