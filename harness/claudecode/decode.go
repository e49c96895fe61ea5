package claudecode

import (
	"strconv"

	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The CLI's lines are another program's: a member of an unexpected shape must
// not cost the line, least of all a result. So scalars are read by the lenient
// types below, which take their zero value instead of failing, and what is
// nested stays raw until it is looked at. Duplicate names: the last one counts.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
)

// text is a string; "" for anything else.
type text string

// UnmarshalJSONFrom never fails on a well-formed value.
func (s *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	*s = ""
	if v.Kind() == '"' {
		*s = text(protocol.Unquote(v))
	}
	return nil
}

// number is a number; 0 for anything else.
type number float64

// UnmarshalJSONFrom never fails on a well-formed value.
func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	*n = 0
	if v.Kind() == '0' {
		// Out of range gives an infinity, which no wire can hold.
		if f, err := strconv.ParseFloat(string(v), 64); err == nil {
			*n = number(f)
		}
	}
	return nil
}

// flag is a boolean; false for anything else.
type flag bool

// UnmarshalJSONFrom never fails on a well-formed value.
func (b *flag) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	*b = v.Kind() == 't'
	return nil
}

// object decodes raw into a T; the zero T where raw is no object.
func object[T any](raw jsontext.Value) T {
	var v T
	if raw.Kind() == '{' {
		// The struct's members are lenient and the bytes are known to be JSON.
		_ = json.Unmarshal(raw, &v, lenient)
	}
	return v
}

// array gives the items of raw; nil where it is no array.
func array(raw jsontext.Value) []jsontext.Value {
	var v []jsontext.Value
	if raw.Kind() == '[' {
		_ = json.Unmarshal(raw, &v, lenient)
	}
	return v
}

// objects decodes the items of raw that are objects.
func objects[T any](raw jsontext.Value) []T {
	var list []T
	for _, item := range array(raw) {
		if item.Kind() == '{' {
			list = append(list, object[T](item))
		}
	}
	return list
}

// texts gives the strings in raw.
func texts(raw jsontext.Value) []string {
	var list []string
	for _, item := range array(raw) {
		if item.Kind() == '"' {
			list = append(list, protocol.Unquote(item))
		}
	}
	return list
}

// free is raw where it is an object, for a place that must hold one; else nil.
func free(raw jsontext.Value) protocol.Object {
	if raw.Kind() != '{' {
		return nil
	}
	return protocol.Object(raw)
}

// head is what every line has.
type head struct {
	// Type is the line's discriminator, Subtype a second one of some types.
	Type    text `json:"type"`
	Subtype text `json:"subtype"`
}

// event is a stream_event line.
type event struct {
	// Parent is the tool call whose sub-agent streams; "" for the main agent.
	Parent text `json:"parent_tool_use_id"`
	// Event is the model's own event.
	Event jsontext.Value `json:"event"`
	// Abandoned is on a message_stop that takes blocks back; undocumented.
	Abandoned jsontext.Value `json:"abandoned_blocks"`
}

// apiEvent is the model's own event inside a stream_event.
type apiEvent struct {
	// Type is the event's discriminator.
	Type text `json:"type"`
	// Index counts the message's blocks from 0; of content_block events.
	Index number `json:"index"`
	// Message is a message without content; of message_start.
	Message jsontext.Value `json:"message"`
	// Block is the block as it begins; of content_block_start.
	Block jsontext.Value `json:"content_block"`
	// Delta is the block's growth; of content_block_delta.
	Delta jsontext.Value `json:"delta"`
	// Usage is what the request has used in the end; of message_delta.
	Usage jsontext.Value `json:"usage"`
}

// apiDelta is the growth of a block. The text members stay literals, since half
// a surrogate pair can only be seen there.
type apiDelta struct {
	// Type says which member the growth is in.
	Type text `json:"type"`
	// Text is of a text_delta.
	Text jsontext.Value `json:"text"`
	// Thinking is of a thinking_delta.
	Thinking jsontext.Value `json:"thinking"`
	// PartialJSON is of an input_json_delta.
	PartialJSON jsontext.Value `json:"partial_json"`
}

// message is what the model said, or what it was told.
type message struct {
	// ID is the API's; all lines of one message share it.
	ID text `json:"id"`
	// Model is the one that answered, or synthetic.
	Model text `json:"model"`
	// StopReason is set only where the message came whole, not streamed.
	StopReason text `json:"stop_reason"`
	// Content is a string or a list of blocks; one block of a streamed message.
	Content jsontext.Value `json:"content"`
	// Usage is the request's, final only where StopReason is set.
	Usage jsontext.Value `json:"usage"`
}

// content is one block of a message, or of a tool's result.
type content struct {
	// Type is the block's discriminator.
	Type text `json:"type"`
	// Text is of a text block.
	Text text `json:"text"`
	// Thinking is of a thinking block; "" where the provider keeps it back.
	Thinking text `json:"thinking"`
	// ID names a tool call.
	ID text `json:"id"`
	// Name is the tool's.
	Name text `json:"name"`
	// Input is the tool's; empty as a streamed block begins.
	Input jsontext.Value `json:"input"`
	// ToolUseID is the call that a tool_result answers.
	ToolUseID text `json:"tool_use_id"`
	// IsError is true of a tool_result that failed, was refused or stopped.
	IsError flag `json:"is_error"`
	// Content is what a tool_result says: a string or a list of blocks.
	Content jsontext.Value `json:"content"`
	// Source holds an image's bytes.
	Source jsontext.Value `json:"source"`
}

// contents gives a message's blocks; a plain string is one text block.
func contents(raw jsontext.Value) []content {
	if raw.Kind() == '"' {
		return []content{{Type: "text", Text: text(protocol.Unquote(raw))}}
	}
	return objects[content](raw)
}

// spoken is an assistant or a user line.
type spoken struct {
	// UUID names the line.
	UUID text `json:"uuid"`
	// Parent is the tool call whose sub-agent the line is of; "" for the main
	// agent.
	Parent text `json:"parent_tool_use_id"`
	// Agent is the id of that sub-agent.
	Agent text `json:"agent_id"`
	// Message is what was said.
	Message jsontext.Value `json:"message"`
	// Timestamp is when the line was written, RFC 3339.
	Timestamp text `json:"timestamp"`
	// ThinkingMS is how long the thinking block took, in milliseconds.
	ThinkingMS number `json:"thinking_duration_ms"`

	// IsAPIError is true of a synthetic line that stands for a failed request;
	// the next four say how it failed.
	IsAPIError flag `json:"is_api_error_message"`
	// Error is the CLI's word for the fault.
	Error text `json:"error"`
	// Status is the HTTP status; null where no answer came.
	Status number `json:"api_error_status"`
	// ErrorType is the API's word for the fault.
	ErrorType text `json:"api_error_type"`
	// APIError is the CLI's word where no answer came.
	APIError text `json:"api_error"`

	// IsReplay is true of what was said before: a prompt's echo, the output of a
	// local command.
	IsReplay flag `json:"isReplay"`
	// IsSynthetic is true of what the CLI tells the model in the user's name.
	IsSynthetic flag `json:"isSynthetic"`
	// Structured is the tool's own form of its result; a string where it failed.
	Structured jsontext.Value `json:"tool_use_result"`
	// ResultMeta is a list of resultMeta; undocumented.
	ResultMeta jsontext.Value `json:"tool_result_meta"`
}

// system is a system line of whatever subtype.
type system struct {
	// Session is the native session id.
	Session text `json:"session_id"`
	// Mode is the permission mode; of init and status.
	Mode text `json:"permissionMode"`
	// Model is what the CLI runs on; of init.
	Model text `json:"model"`
	// Title is what it calls the session; of session_title_changed.
	Title text `json:"title"`
	// Prompts are the uuids of the prompts that the turn answers; of init.
	Prompts jsontext.Value `json:"user_message_uuids"`
	// Status is requesting, compacting or null; of status.
	Status text `json:"status"`
	// Result is success or failed once a compaction has ended; of status.
	Result text `json:"compact_result"`
	// Compact is what a compaction saved; of compact_boundary.
	Compact jsontext.Value `json:"compact_metadata"`
	// Attempt counts retries from 1, up to Max; of api_retry.
	Attempt number `json:"attempt"`
	Max     number `json:"max_retries"`
	// Code is the HTTP status; null where no answer came; of api_retry.
	Code number `json:"error_status"`
	// Error is the CLI's word for the fault; of api_retry.
	Error text `json:"error"`
	// Task names a task, which is a sub-agent's id too; of task_started.
	Task text `json:"task_id"`
	// TaskType is local_agent or local_bash; of task_started.
	TaskType text `json:"task_type"`
	// ToolUseID is the tool call that runs the task; of task_started.
	ToolUseID text `json:"tool_use_id"`
	// Description is what the task does; of task_started.
	Description text `json:"description"`
	// Tasks is the whole set; of background_tasks_changed.
	Tasks jsontext.Value `json:"tasks"`
	// State is idle, running or requires_action; of session_state_changed.
	State text `json:"state"`
}

// lifecycle is a command_lifecycle line; undocumented.
type lifecycle struct {
	// Command is the prompt's uuid.
	Command text `json:"command_uuid"`
	// State is queued, started, completed or cancelled.
	State text `json:"state"`
}

// control is a control_request or control_cancel_request line.
type control struct {
	// ID is the request's.
	ID text `json:"request_id"`
	// Request is what is asked; absent in a cancel.
	Request jsontext.Value `json:"request"`
}

// answered is a control_response line.
type answered struct {
	// Response is a reply.
	Response jsontext.Value `json:"response"`
}

// reply is the inside of a control_response.
type reply struct {
	// Subtype is success or error.
	Subtype text `json:"subtype"`
	// ID is the request's.
	ID text `json:"request_id"`
	// Error says why not.
	Error text `json:"error"`
	// Response is the answer's body; some have none.
	Response jsontext.Value `json:"response"`
}

// question is a can_use_tool request.
type question struct {
	// Tool is the tool's name.
	Tool text `json:"tool_name"`
	// Input is the tool's, as the CLI has made it fit for the tool.
	Input jsontext.Value `json:"input"`
	// ToolUseID is the tool call.
	ToolUseID text `json:"tool_use_id"`
	// Agent is the sub-agent that asks; "" for the main agent.
	Agent text `json:"agent_id"`
	// Suggestions are the permissions that would spare the next question.
	Suggestions jsontext.Value `json:"permission_suggestions"`
	// NoAlways forbids to offer them.
	NoAlways flag `json:"suppress_always_allow_rule"`
}

// outcome is a result line. Its text, which repeats the answer, is read only
// where it is an error's.
type outcome struct {
	// Subtype says little: an API failure is a success.
	Subtype text `json:"subtype"`
	// IsError is true where the turn failed, or was interrupted.
	IsError flag `json:"is_error"`
	// Reason is why the turn ended; "" for local commands and older CLIs.
	Reason text `json:"terminal_reason"`
	// StopReason is the model's last one.
	StopReason text `json:"stop_reason"`
	// Session is the native session id.
	Session text `json:"session_id"`
	// Cost is the session's in US dollars, its history included.
	Cost *number `json:"total_cost_usd"`
	// Usage is the main loop's in this turn; 0 where it was interrupted.
	Usage jsontext.Value `json:"usage"`
	// Models is a modelUsage for each model, for the whole session.
	Models jsontext.Value `json:"modelUsage"`
	// Since is the same since the last result of the process; undocumented.
	Since jsontext.Value `json:"model_usage_since_last_result"`
	// Prompts and Prompt are the uuids of the prompts answered.
	Prompts jsontext.Value `json:"user_message_uuids"`
	Prompt  text           `json:"user_message_uuid"`
	// Origin is what began a turn that no prompt began.
	Origin jsontext.Value `json:"origin"`
	// Errors are texts; only of error subtypes.
	Errors jsontext.Value `json:"errors"`
	// Result is the final text; absent of error subtypes.
	Result jsontext.Value `json:"result"`
	// Status, ErrorType and APIError are as in spoken.
	Status    number `json:"api_error_status"`
	ErrorType text   `json:"api_error_type"`
	APIError  text   `json:"api_error"`
}

// limit is the inside of a rate_limit_event.
type limit struct {
	// Status is allowed, allowed_warning or rejected.
	Status text `json:"status"`
	// Type is which of the account's limits it is.
	Type text `json:"rateLimitType"`
	// Resets is when it ends, in epoch seconds.
	Resets number `json:"resetsAt"`
}
