package verify

import "agent-server/protocol"

// blame is what a rule found: at which event, and why. Index -1 is the stream.
type blame struct {
	index int
	why   string
}

// check judges one event, at its index, by the story before it.
type check func(s *story, ev protocol.Event, at int) []blame

// entry is one rule as it is kept in the book.
type entry struct {
	rule Rule
	// ours: the rule goes beyond the base.
	ours bool
	// echo: the rule supposes that every turn begins with the user echo.
	echo bool
	// checks judge each event.
	checks []check
	// final judges the story once the stream is over; nil: nothing is left.
	final func(s *story) []blame
}

// book is every rule. Those without checks are judged where their evidence is:
// the wire form in wire.go, the numbers in order.go, the fold in folds.go.
var book = []entry{
	{rule: SchemaValid},
	{rule: TimestampValid},
	{rule: SeqMonotonic},
	{rule: SessionCreatedOnce, checks: []check{on(sessionCreatedOnce)}},
	{rule: TurnStartedOnce, checks: []check{on(turnStartedOnce)}},
	{rule: MessageInTurn, checks: []check{on(messageInTurn)}},
	{rule: NoMessagesAfterTurnEnd, checks: []check{on(noMessagesAfterTurnEnd)}},
	{rule: EchoFirst, echo: true, checks: []check{on(echoFirst)}},
	{rule: OutputIndexIncreases, checks: []check{on(outputIndexIncreases)}},
	{rule: PartAddressStable, checks: []check{on(partAddressStable)}},
	{rule: PartSelfDescribing, checks: []check{on(partSelfDescribing)}},
	{rule: LatePartsAreTerminalTools, checks: []check{on(latePartsAreTerminalTools)}},
	{rule: EchoPartsDone, echo: true, checks: []check{on(echoPartsDone)}},
	{rule: DeltaFollowsSnapshot, checks: []check{on(deltaFollowsSnapshot)}},
	{rule: BracketPairing, checks: []check{on(bracketPairing)}},
	{rule: TurnEndedPairs, checks: []check{on(turnEndKnown)}, final: turnsEnd},
	{rule: TurnEndedOnce, checks: []check{on(turnEndedOnce)}},
	{rule: MessagesClosedByTurnEnd, checks: []check{on(messagesClosedByTurnEnd)}},
	{rule: ErrorCarriesInfo, checks: []check{on(errorCarriesInfo)}},
	{rule: PermissionResolvesOnce, checks: []check{on(resolvedOnce)}, final: requestsResolve},
	{rule: ReducerTotal},
	{rule: ProjectionAgrees},
	{rule: ReducerIdempotent},

	{rule: SeqContiguous, ours: true},
	{rule: PermissionBeforeTurnEnd, ours: true, checks: []check{on(askedBeforeEnd), on(resolvedBeforeEnd)}},
	{rule: MessageEndedOnce, ours: true, checks: []check{on(messageEndedOnce)}},
	{rule: DeltaConcatEqualsFinal, ours: true, checks: []check{on(deltaConcatEqualsFinal)}},
	{rule: RecoverableMeansContinues, ours: true, checks: []check{onAny(recoverableMeansContinues)}},
	{rule: EverythingStartedEnds, ours: true, checks: []check{on(queuedOnce), on(unqueuedStays)}, final: everythingStartedEnds},
	{rule: NoAskAfterCancel, ours: true, checks: []check{on(askedAfterCancel), onAny(askedAfterDrain)}},
}

// on makes a check of a function that judges one type of event and blames that
// event; "" is no blame.
func on[E protocol.Event](judge func(s *story, ev E) string) check {
	return onAny(func(s *story, ev E, at int) []blame {
		if why := judge(s, ev); why != "" {
			return []blame{{at, why}}
		}
		return nil
	})
}

// onAny makes a check of a function that judges one type of event and may blame
// any event.
func onAny[E protocol.Event](judge func(s *story, ev E, at int) []blame) check {
	return func(s *story, ev protocol.Event, at int) []blame {
		if e, ok := ev.(E); ok {
			return judge(s, e, at)
		}
		return nil
	}
}

// inForce lists the rules of the book that the options ask for.
func inForce(opts Options) []entry {
	var rules []entry
	for _, e := range book {
		if e.ours && opts.Base || e.echo && opts.NoEcho {
			continue
		}
		rules = append(rules, e)
	}
	return rules
}
