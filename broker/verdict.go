package broker

import "agent-server/protocol"

// Decision is what is to become of the tool call.
type Decision int

// The decisions. Deny is the zero value: nothing is allowed by mistake.
const (
	// Deny refuses this one call.
	Deny Decision = iota
	// Allow allows this one call.
	Allow
	// AllowAlways allows it and its like, in the harness's own narrow form.
	AllowAlways
	// Cancel answers with the harness's own "cancelled".
	Cancel
)

// Verdict is what the harness is told.
type Verdict struct {
	// Decision is what was decided.
	Decision Decision
	// OptionID is the harness's own option that says so; "" where it brought
	// none, and with Cancel.
	OptionID string
	// UpdatedInput replaces the tool's input; nil: it stays.
	UpdatedInput protocol.Object
}

// Refuse is the verdict that denies r without anybody having been asked.
func Refuse(r Request) Verdict {
	if !r.Own {
		return Verdict{Decision: Deny}
	}
	if o, ok := r.rejection(); ok {
		return Verdict{Decision: Deny, OptionID: o.OptionID}
	}
	return Verdict{Decision: Cancel}
}

// permit is the verdict that allows r once. A harness that brought options is
// answered with its allow_once; false where it offers none, since anything wider
// would be consent that nobody gave.
func permit(r Request) (Verdict, bool) {
	if !r.Own {
		return Verdict{Decision: Allow}, true
	}
	o, ok := r.first(protocol.AllowOnce)
	return Verdict{Decision: Allow, OptionID: o.OptionID}, ok
}
