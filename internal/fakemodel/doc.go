// Package fakemodel is a scripted model server: it answers the HTTP requests of a real
// agent CLI, so that the CLI runs offline, the same way each time.
//
// It decides what a model says: text, reasoning, tool calls, stop reasons, failures, and
// how the bytes reach the client (in pieces, held back, cut off). It refuses to know what
// a harness makes of them: it runs no tool, keeps no conversation and holds no session.
// Anthropic Messages, OpenAI Chat Completions and Gemini's generateContent are spoken; the
// scripts are of no API, and another one is added by one more implementation of the api
// interface.
//
// A Server may be used by any number of goroutines at once; the values it hands out are
// copies.
//
// # Which script a request gets
//
// The script is written into the prompt, as markers in double square brackets. The last
// text block of the newest user message decides; blocks that begin with
// "<system-reminder>" and results of tools are not looked at. The number of assistant
// messages after that prompt is the round, and the round picks the reply. No state is
// kept for this, so resume, fork and a new server in mid-conversation work. A prompt
// without a marker gets DefaultText; a round past the end of the script gets FinalText.
// Text without a marker that stands beside a tool's result leaves the script as it is.
//
// A request without tools, or with an output format, is a side call of the CLI (a title,
// a summary of a fetched page, a probe "Hi"): its text is never run as a script. It gets
// JSON made from the format's schema, or "Fake title", or DefaultText. A request that
// asks for a <summary> (compaction) gets one.
//
// # Markers
//
//	[[name key=value key=value]]
//
// A value is a JSON string, object or array, or a bare word up to the next space or "]]".
// Everything outside markers is ignored. An unknown marker or key is answered with
// HTTP 400 and a message that says what is wrong.
//
//	marker   keys (default)                       what the reply does
//	text     say (DefaultText), repeat (1),       text in pieces deltas; say is repeated first
//	         pieces (4)
//	think    say ("First I consider the           reasoning in deltas, then its signature
//	         question."), repeat (1), pieces (4)
//	tool     name (Bash), input ({}) or raw,      a tool call; its input is streamed in pieces;
//	         pieces (3)                           raw is sent as it is, broken JSON too
//	more     raw (""), pieces (1)                 more input for the open tool call
//	block    –                                    closes the open block
//	stop     reason (tool_use if a tool was       the reply's stop reason
//	         called, else end_turn)
//	usage    input (100), output (10),            the reply's token counts
//	         cache_read (0), cache_write (0)
//	stall    gate ("default")                     silence until Server.Release(gate), until the
//	                                              client hangs up, or Options.StallLimit (cut)
//	cut      times (0: always)                    closes the connection in mid-stream
//	error    status (500), type (by status),      HTTP error while nothing was sent, an error
//	         message, retry_after, times (0)      event in the stream after that
//	event    type (fake_event), data ({})         a raw stream event, data as it is plus its type
//	then     –                                    ends this reply; what follows answers the
//	                                              next request
//	repeat   –                                    the last reply answers all later requests too
//
// Adjacent text markers (and think, and tool with more) write into one block: stall, cut,
// error and event leave it open; a marker of another kind, another tool, or block closes
// it. Nothing is sent before the first content or event: a stall at the front holds back
// even the response's head. Tool markers in one reply are parallel calls; with then between
// them they follow each other.
//
// times=N lets the first N requests for this very reply fail and the later ones pass,
// which is a retry that succeeds: [[error status=529 times=1]] [[text say="Recovered."]].
// It is counted per session of the CLI, prompt, round and length of the conversation.
//
// A cut right behind a delta reaches the client together with it, and a CLI may drop the
// delta unseen. To have it seen, put a stall between them and release it once it was.
//
// A reply that is not streamed is made from the same steps: held back and cut likewise,
// errors always as HTTP errors, events left out.
//
// # What is fixed
//
// Ids are hashes of prompt, round, length of the conversation and attempt, so a dialog has
// the same ids in each run, however requests of several sessions interleave. (A prompt
// with the path of a temporary folder in it is another prompt in each run.) Token counts
// are those of the usage row; count_tokens answers 100. There is no clock in any answer.
package fakemodel
