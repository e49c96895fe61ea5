// Package codexappserver is the adapter of Codex's app-server: one native binary
// a session, JSON-RPC lines on its stdin and stdout.
//
// It decides the handshake (initialize, a thread, the policies of each turn),
// which notification means what in our vocabulary, and what goes back: prompts,
// answers to approvals, interrupts. It refuses to know processes, clocks, files
// and our ids.
//
// A Harness is immutable and safe for concurrent use. A Translator is not: the
// session machine calls it, one call at a time.
//
// # What belongs where
//
// Everything is routed by threadId, then turnId, then itemId. Our thread has one
// turn at a time; a turn ends by the turn/completed that names both. Threads that
// an item of ours has spawned are sub-agents: what they say is shown below the
// tool call that spawned them, and their turns end nothing. What comes of a
// thread nobody has announced waits, up to a bound.
//
// # What is read
//
//   - item/started, item/completed and their deltas: messages, reasoning,
//     commands, file changes, MCP and other tools, sub-agents, compactions. The
//     completed item is the truth, but never an empty one over what was streamed.
//   - turn/plan/updated: a plan part.
//   - thread/tokenUsage/updated: the gauge, and the turn's tokens as a difference
//     of totals.
//   - error, turn/completed: a notice while Codex tries again, else the turn's end.
//   - approvals of commands, files and permissions, and the elicitations of MCP
//     servers: permission requests.
//
// # What is ignored
//
// Lines that are no JSON object and notifications that are not known, with a
// diagnostic; what is known and has no place in our vocabulary, without one. Any
// other request is refused at once.
package codexappserver
