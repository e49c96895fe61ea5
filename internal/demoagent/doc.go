// Package demoagent is the harness that is always there: a small agent that
// speaks the Agent Client Protocol, version 1, as JSON lines over a pair of
// streams, runs no model and answers by script. It lets every path of the
// gateway be walked on a machine that has Go and nothing else.
//
// The first word of a prompt chooses the script; all that is sent is the same
// in each run.
//
//	prompt            what the turn does
//	flood N [bytes]   N text deltas as fast as the reader takes them (16 bytes each)
//	deltas N [µs]     N text deltas, one each µs microseconds (1000)
//	think             thoughts, then text
//	tool              a tool that reads and needs no permission
//	ask               a tool that needs permission
//	edit              an edit shown as a diff, with permission; writes no file
//	fail              a tool that fails
//	plan              a plan whose steps get done
//	big BYTES         a tool whose output is that long
//	subagent          a tool that runs a sub-agent, with a tool and a text of its own
//	background [ms]   ends, and speaks again by itself ms milliseconds later (300)
//	compact           a compaction, if the client shows them, then text
//	hang [how]        waits until cancelled; how: text, silent, tool, hard
//	slow-cancel [ms]  waits until cancelled, and ms milliseconds more (3000)
//	crash [code]      some text, a line on stderr, then the process exits (3)
//	noise             banners, escape codes and bad UTF-8 between its lines
//	error [message]   the prompt request is answered with an error
//	sequence a; b; c  several of these prompts, one after the other
//
// Anything else is answered with this list ([Help]).
//
// flood numbers its deltas, zero-padded and ended by a space, so that a lost or
// doubled one shows. hang hard ignores cancel, the end of its input and the
// polite signals: only a kill ends it. noise has a known text, "Five clean words
// survive noise.", of which one word's line begins with an escape sequence and
// one ends in CRLF, so that a reader that drops too much shows too.
//
// Modes: default and plan ask before ask and edit; acceptEdits runs edit
// unasked; bypassPermissions runs both unasked; dontAsk refuses both unasked.
// "Always allow" holds for that tool until the session is closed.
//
// slow-cancel is an agent that takes its time to end: what a client must not take
// for a cancel that was lost. The end of the input and a withdrawn prompt end it at
// once. sequence ends with the first of its prompts that fails, and holds no other
// sequence.
//
// Cancelling: session/cancel ends the turn at its next step, fails an open tool
// with the text "cancelled" and answers with stopReason cancelled. While a
// permission is open the turn waits for the client's answer to it, which is the
// client's duty; $/cancel_request for the prompt, session/close and the end of
// the input wait for nothing and withdraw the permission.
//
// It decides what an ACP agent has to decide and nothing more. It refuses to
// know the gateway (it imports nothing of this module), the file system (cwd is
// only ever printed back) and earlier processes: a resumed session is accepted
// and remembers nothing.
//
// Concurrency: [Run] may be called any number of times, also at once; the runs
// share nothing. Within one, a goroutine reads, one dispatches and each turn has
// its own; what they share is guarded by one mutex, the output by another.
package demoagent
