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
//     move forward), usage_update, current_mode_update, config_option_update,
//     notice, compaction_update and its summary.
//   - a plan: a part of type plan, one a turn, whole each time.
//   - session/request_permission: the agent's own options, passed through. Its
//     tool call is an upsert like any other.
//   - $/cancel_request: the agent takes a request back.
//   - the answer to session/prompt: the turn's end, and what it cost.
//
// Text deltas of the open session take a probe that avoids the decoder.
//
// # What is ignored
//
// Lines that are no JSON object, and notifications and updates that are not
// known, with a diagnostic; so are commands and titles, which have no place in the
// base protocol. Any other request of the agent is refused at once
// as unknown. What an agent replays while it opens an old session never reaches
// the updates. What it says between turns is shown, in a turn of its
// own, only where Quirks.Unasked says that it is work.
package acp
