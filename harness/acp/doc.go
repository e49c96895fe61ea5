// Package acp is the adapter of every agent that speaks the Agent Client
// Protocol, version 1, on stdin and stdout.
//
// It decides the handshake (initialize, a session, its mode and model), which
// update of the agent means what in our vocabulary, and what goes back: one
// prompt a turn, answers to permission requests, cancels. What differs from
// agent to agent is data in an Agent, never code. It refuses to know processes,
// clocks, files and our ids, and offers an agent neither a file system nor a
// terminal.
//
// A Harness is immutable and safe for concurrent use. A Translator is not: the
// session machine calls it, one call at a time.
//
// # What is read
//
//   - session/update: agent_message_chunk and agent_thought_chunk (text, images,
//     resources), tool_call and tool_call_update (upserts by toolCallId that only
//     move forward), usage_update, notice, compaction_update and its summary; title,
//     commands, modes and model as they change.
//   - a plan: a part of type plan, one a turn, whole each time.
//   - session/request_permission: the agent's own options, passed through. Its
//     tool call is an upsert like any other.
//   - $/cancel_request: the agent takes a request back.
//   - the answer to session/prompt: the turn's end, and what it cost.
//
// Text deltas of the open session take a probe that avoids the decoder.
//
// # What comes at the wrong time
//
// What an agent replays while it opens an old session is collected and never shown,
// but for how the session stands. The end of a tool whose turn is over is shown in its
// place. Other work between turns has a turn of its own; gauges and notices wait for
// the next one. A permission that no running turn can answer for is cancelled at once.
//
// # What is ignored
//
// Lines that are no JSON object, and notifications and updates that are not known,
// with a diagnostic. Any other request of the agent is refused at once as unknown.
package acp
