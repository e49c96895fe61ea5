// Package claudecode is the adapter of the Claude Code CLI, driven over its
// stream-json protocol on stdin and stdout (tried with 2.1.332).
//
// It decides how the CLI is launched, which of its lines mean what in our
// vocabulary, and which lines go back: the handshake, one prompt a turn, answers
// to permission requests, interrupts. It refuses to know processes, clocks,
// files and our ids: a prompt carries a native UUID of its own, and every key in
// an Update is the CLI's.
//
// A Harness is immutable and safe for concurrent use. A Translator is not: the
// session machine calls it, one call at a time.
//
// # What is read
//
//   - stream_event of the main agent: message_start, content_block_start and
//     _delta (text, thinking, tool input), message_delta (usage), message_stop
//     with abandoned_blocks. Text deltas take a probe that avoids the decoder.
//   - assistant, one line a finished block: the authoritative text, thinking or
//     tool call, of the main agent and of sub-agents. A synthetic one is an API
//     error (it becomes the turn's error) or a local command's answer.
//   - user: tool results with their structured form, a sub-agent's prompt, a
//     compaction's summary. Never shown as the user: replays, synthetic lines,
//     the note of an interrupt.
//   - system: init (the native id; a turn that no prompt of ours began), status
//     (permission mode, compaction), compact_boundary, api_retry, task_started,
//     task_notification, background_tasks_changed, session_title_changed, and
//     session_state_changed where a turn of the CLI's own has lost its result.
//   - command_lifecycle of our prompt: started is the harness having taken it.
//     Its end comes before the result only where there is none to come.
//   - control_request: can_use_tool becomes a permission request, hook_callback
//     gets an empty answer, elicitation a decline, request_user_dialog none (none
//     was declared), anything else an error. control_cancel_request withdraws.
//   - rate_limit_event where it is a refusal; conversation_reset; result.
//
// # What is ignored
//
// Lines that are no JSON object with a type, and types that are not known, with
// a diagnostic; hints without a use (thinking_tokens, task_progress,
// tool_progress, hook events, keep_alive and their like), without one. The parent
// that tool_progress names is the tool itself, no sub-agent. What the main agent
// says while no native turn runs is late, and dropped.
//
// docs/harnesses/claude-code.md has a row for each, with what shows it.
//
// # What goes on beside the prompts
//
// Sub-agents and commands may run on behind the turn that started them. What they
// say and ask is told with its owner, whether a turn is open or not; their end has
// the main agent begin a native turn of its own, told as Woken, which its result
// ends. Where that falls into a prompt's turn, the prompt waiting behind it, it is
// that turn's, but for its end. A further prompt (Steer) is folded into the running
// native turn or answered in another: the turn ends with the last of them.
//
// # What an answer depends on
//
// A turn's end is decided by is_error and terminal_reason, never by subtype: an
// API failure says "success". Tokens and cost of a turn are
// model_usage_since_last_result, which holds sub-agents, retries and compactions
// and starts afresh in a resumed process; where it is missing, usage and the
// growth of total_cost_usd stand in.
package claudecode
