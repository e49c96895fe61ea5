package seqcursor

// Verdict is what to do with an envelope.
type Verdict int

// The verdicts. Only Deliver and Reset move the cursor.
const (
	// Deliver: the envelope is the next one.
	Deliver Verdict = iota + 1
	// Duplicate: the envelope was delivered before; drop it.
	Duplicate
	// Gap: something before the envelope is missing. The cursor stays, so that
	// the same envelope can be offered again once the gap is healed.
	Gap
	// Reset: the session began again at 1; what was held of it is void, and the
	// envelope is the first of the new life.
	Reset
)

// String is the verdict's name in lower case; "invalid" for any other value.
func (v Verdict) String() string {
	switch v {
	case Deliver:
		return "deliver"
	case Duplicate:
		return "duplicate"
	case Gap:
		return "gap"
	case Reset:
		return "reset"
	}
	return "invalid"
}
