package broker

import (
	"bytes"
	"slices"

	"agent-server/protocol"
)

// ByUpdatedInput is what Resolution.By says where an allow with an edited input
// became a denial, because the harness has no slot for the input.
const ByUpdatedInput = "updatedInput-unsupported"

// Broker holds the open requests and the standing rules of one session. The zero
// value holds none.
type Broker struct {
	// open are in order of registration; a session has few at a time.
	open  []Request
	rules rules
}

// Resolution is what an answer came to.
type Resolution struct {
	// Request is the request that is answered now, for ever.
	Request Request
	// Shown is the outcome for the event: as it was sent, unless By says why not.
	Shown protocol.PermissionOutcome
	// By says who decided, where it was not the one who answered; else "".
	By string
	// Verdict is what the harness is told.
	Verdict Verdict
	// Kept says that a standing rule has come of it.
	Kept bool
}

// Standing is the verdict of a standing rule on r; false where none matches and
// somebody has to be asked, or is asked already.
func (b *Broker) Standing(r Request) (Verdict, bool) {
	if slices.ContainsFunc(b.open, r.taken) {
		return Verdict{}, false
	}
	switch b.rules.match(r) {
	case ruleReject:
		return Refuse(r), true
	case ruleAllow:
		return permit(r)
	}
	return Verdict{}, false
}

// Open registers a request. It is false, and nothing is registered, where one
// with that ID or that Key is open already.
func (b *Broker) Open(r Request) bool {
	if slices.ContainsFunc(b.open, r.taken) {
		return false
	}
	b.open = append(b.open, r)
	return true
}

// Resolve answers the open request of that id, which is then answered for ever;
// false, and nothing happens, where it is unknown or was answered before.
func (b *Broker) Resolve(id string, o protocol.PermissionOutcome) (Resolution, bool) {
	r, ok := b.take(func(r Request) bool { return r.ID == id })
	if !ok {
		return Resolution{}, false
	}
	res := decide(r, o)
	res.Kept = b.keep(res)
	return res, true
}

// Decide answers the open request of that id without anybody's word: it allows
// this one call, or denies it. by says who decided. No rule comes of it. It is
// false, and nothing happens, where the request is unknown or was answered before.
func (b *Broker) Decide(id string, allow bool, by string) (Resolution, bool) {
	r, ok := b.take(func(r Request) bool { return r.ID == id })
	switch {
	case !ok:
		return Resolution{}, false
	case allow && r.Permittable():
		return permitted(r, by), true
	}
	return refused(r, by), true
}

// Withdraw takes back the open request of that key, unanswered; false where none
// is open.
func (b *Broker) Withdraw(key string) (Request, bool) {
	return b.take(func(r Request) bool { return r.Key == key })
}

// Drain takes back all that is open, in order of registration.
func (b *Broker) Drain() []Request {
	drained := b.open
	b.open = nil
	return drained
}

// Pending lists what is open, in order of registration. The slice is the
// caller's.
func (b *Broker) Pending() []Request { return slices.Clone(b.open) }

// take removes the first open request that is meant.
func (b *Broker) take(meant func(Request) bool) (Request, bool) {
	i := slices.IndexFunc(b.open, meant)
	if i < 0 {
		return Request{}, false
	}
	r := b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	return r, true
}

// decide is what outcome o means for r.
func decide(r Request, o protocol.PermissionOutcome) Resolution {
	res := Resolution{Request: r, Shown: o}
	if o.Outcome != protocol.OutcomeSelected {
		res.Shown = protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}
		res.Verdict = Verdict{Decision: Cancel}
		return res
	}
	chosen, offered := r.option(o.OptionID)
	switch {
	case !offered:
		res.Verdict = Refuse(r)
	case !allows(chosen.Kind):
		res.Verdict = reject(r, chosen)
	case o.UpdatedInput == nil || same(o.UpdatedInput, r.RawInput):
		res.Verdict = allow(r, chosen)
	case !r.InputSlot:
		return unsupported(r)
	default:
		res.Verdict = edited(r, chosen, o.UpdatedInput)
	}
	return res
}

// unsupported is an allow of an input that the harness cannot be given: allowing
// the old one would be consent that nobody gave, so it is a denial that says so.
func unsupported(r Request) Resolution { return refused(r, ByUpdatedInput) }

// refused is a denial that was nobody's choice.
func refused(r Request, by string) Resolution {
	res := Resolution{Request: r, By: by, Verdict: Refuse(r)}
	res.Shown = protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}
	if o, ok := r.rejection(); ok {
		res.Shown = protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: o.OptionID}
	}
	return res
}

// permitted is an allow of this one call that was nobody's choice.
func permitted(r Request, by string) Resolution {
	res := Resolution{Request: r, By: by}
	res.Verdict, _ = permit(r)
	o, _ := r.first(protocol.AllowOnce)
	res.Shown = protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: o.OptionID}
	return res
}

// allows says whether choosing an option of this kind is consent. A kind that we
// do not know is none.
func allows(k protocol.PermissionKind) bool {
	return k == protocol.AllowOnce || k == protocol.AllowAlways
}

// allow is the verdict of a chosen allow option.
func allow(r Request, chosen protocol.PermissionOption) Verdict {
	if chosen.Kind == protocol.AllowAlways && !r.Always {
		return once(r, chosen, Allow, protocol.AllowOnce)
	}
	v := Verdict{Decision: Allow}
	if chosen.Kind == protocol.AllowAlways {
		v.Decision = AllowAlways
	}
	if r.Own {
		v.OptionID = chosen.OptionID
	}
	return v
}

// edited is the verdict of a chosen allow option with another input than the
// harness asked for. It is for this call alone, even where "always" was chosen:
// the harness would keep the input that nobody consented to.
func edited(r Request, chosen protocol.PermissionOption, input protocol.Object) Verdict {
	v := allow(r, chosen)
	if chosen.Kind == protocol.AllowAlways {
		v = once(r, chosen, Allow, protocol.AllowOnce)
	}
	v.UpdatedInput = input
	return v
}

// reject is the verdict of any other chosen option. One of a kind that we do not
// know is the harness's own affair: it is passed through, under Deny.
func reject(r Request, chosen protocol.PermissionOption) Verdict {
	if chosen.Kind == protocol.RejectAlways && !r.Always {
		return once(r, chosen, Deny, protocol.RejectOnce)
	}
	v := Verdict{Decision: Deny}
	if r.Own {
		v.OptionID = chosen.OptionID
	}
	return v
}

// once is the verdict of a chosen "always" that the harness would keep wider
// than it reads: it gets its "once" where it has one, and the broker the rule.
func once(r Request, chosen protocol.PermissionOption, d Decision, kind protocol.PermissionKind) Verdict {
	v := Verdict{Decision: d}
	if !r.Own {
		return v
	}
	v.OptionID = chosen.OptionID
	if o, ok := r.first(kind); ok {
		v.OptionID = o.OptionID
	}
	return v
}

// same says whether two inputs are one value; unknown ones are not.
func same(a, b protocol.Object) bool {
	x, y := canonical(a), canonical(b)
	return x != nil && bytes.Equal(x, y)
}

// canonical is the one spelling of a value; nil where there is none.
func canonical(o protocol.Object) []byte {
	if o == nil {
		return nil
	}
	c, err := protocol.Canonical(o)
	if err != nil {
		return nil
	}
	return c
}
