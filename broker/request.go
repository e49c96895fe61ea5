package broker

import "agent-server/protocol"

// Request is a harness's wish for consent.
type Request struct {
	// ID names it in permission/respond; minted by the caller, not empty.
	ID string
	// Key is the harness's own name of it.
	Key string
	// Tool is the harness's own name of the tool; "": no standing rule can
	// match it or come of it.
	Tool string
	// RawInput is the tool's input; nil where it is unknown.
	RawInput protocol.Object
	// Call is the same for a policy.
	Call Call
	// Options are the harness's own, when Own; else they are DefaultOptions.
	Options []protocol.PermissionOption
	// Own is true where the harness brought Options and is answered with one.
	Own bool
	// Always is true where the harness has a narrow "allow always" of its own.
	Always bool
	// InputSlot is true where an allow can carry an updated input.
	InputSlot bool
}

// DefaultOptions are the options offered where a harness brings none, in the order to
// show them. The slice is the caller's.
func DefaultOptions() []protocol.PermissionOption {
	return []protocol.PermissionOption{
		{OptionID: "allow", Name: "Allow", Kind: protocol.AllowOnce},
		{OptionID: "allow_always", Name: "Always allow", Kind: protocol.AllowAlways},
		{OptionID: "reject", Name: "Reject", Kind: protocol.RejectOnce},
		{OptionID: "reject_always", Name: "Always reject", Kind: protocol.RejectAlways},
	}
}

// Permittable says whether r can be allowed for this one call: a harness that
// brought options may have none that says so.
func (r Request) Permittable() bool {
	_, ok := r.first(protocol.AllowOnce)
	return ok
}

// taken says whether another request has r's id or key.
func (r Request) taken(o Request) bool { return o.ID == r.ID || o.Key == r.Key }

// option is the offered option of that id; false where it was not offered.
func (r Request) option(id string) (protocol.PermissionOption, bool) {
	for _, o := range r.Options {
		if o.OptionID == id {
			return o, true
		}
	}
	return protocol.PermissionOption{}, false
}

// first is the first offered option of one of the kinds, the kinds in order of
// preference; false where none is offered.
func (r Request) first(kinds ...protocol.PermissionKind) (protocol.PermissionOption, bool) {
	for _, kind := range kinds {
		for _, o := range r.Options {
			if o.Kind == kind {
				return o, true
			}
		}
	}
	return protocol.PermissionOption{}, false
}

// rejection is the option that stands for a refusal of this one call.
func (r Request) rejection() (protocol.PermissionOption, bool) {
	return r.first(protocol.RejectOnce, protocol.RejectAlways)
}
