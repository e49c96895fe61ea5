// Package codexexec is the adapter of "codex exec --json": Codex without a dialog,
// one process a turn.
//
// It decides the arguments of that process, which line means what in our
// vocabulary, and when a turn is over. The sandbox is the gate: this way Codex asks
// for nothing, so a mode that would have it ask gives it the sandbox alone. It
// refuses to know processes, clocks, files and our ids.
//
// A Harness is immutable and safe for concurrent use. A Translator is not: the
// session machine calls it, one call at a time.
//
// # What is read
//
// thread.started, item.started, item.updated, item.completed, error,
// turn.completed, turn.failed. Text comes whole, an item at a time; it is shown as
// a part that streams once. An error line is never the end: Codex may go on.
//
// # What there is not
//
// Approvals, deltas, diffs, images, servers of a config, and steering. Tokens are
// told for the whole thread, so that a turn's own are known in a fresh one only.
// There is no interrupt: a cancel ends the process.
package codexexec
