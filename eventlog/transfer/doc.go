// Package transfer is the form in which a session leaves one log and enters another:
// a file of lines, written and read one at a time, so that no session is too long.
//
//	{"agent-server/export":{"version":1,"session":…,"harness":…,"cwd":…,"first":…,"next":…,"created":…,"updated":…},"sum":…}
//	{"agent-server/admission":{"turn":…,"hash":…},"sum":…}        each turn that was admitted
//	{"sessionId":…,"seq":…,"prevSeq":…,"event":…,"turn":…,"base":…,"sum":…}   each durable event
//	{"agent-server/end":{"admissions":…,"events":…},"sum":…}
//
// An event's line is an envelope of the protocol to whoever reads it as one: prevSeq
// names the event before it, as deltas are in no log for good. Beyond that it has the
// mark of its turn, and, where a base connection is shown the event otherwise, that.
// Each line bears a sum over itself and the sum before it: what is altered, lost,
// doubled or moved is noticed at its line. It is no signature.
//
// What is written holds what was said in the session, as the log does, and the keyed
// hashes of its turns; never the key, nor anything else of the log that it comes from.
//
// It decides what the lines are, and refuses whatever Write would not have written; it
// refuses to know what events mean. Nothing here is safe for concurrent use.
package transfer
