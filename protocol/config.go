package protocol

// RunConfig is how a turn is to be run.
type RunConfig struct {
	// Harness is the id of the harness; required.
	Harness HarnessID `json:"harness"`
	// Cwd is an existing directory in which the harness works; required.
	Cwd string `json:"cwd"`
	// Model is the harness's own name of a model; nil: its default.
	Model *string `json:"model,omitzero"`
	// ThinkingLevel is closed; "" when absent: the harness's default.
	ThinkingLevel ThinkingLevel `json:"thinkingLevel,omitzero"`
	// AdditionalDirectories may be worked in besides Cwd; nil when absent.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero"`
	// SystemPromptAppend is added to the harness's system prompt; nil when absent.
	SystemPromptAppend *string `json:"systemPromptAppend,omitzero"`
	// MaxTurns bounds the model's rounds, above 0; nil when absent: no bound.
	MaxTurns *int64 `json:"maxTurns,omitzero"`
	// PermissionMode is closed; "" when absent: default.
	PermissionMode PermissionMode `json:"permissionMode,omitzero"`
	// ResumeSessionID is the native id of a conversation to go on with; nil when absent.
	ResumeSessionID *string `json:"resumeSessionId,omitzero"`
	// ResumeSessionAt is a place in that conversation; ignored without
	// ResumeSessionID; nil when absent.
	ResumeSessionAt *string `json:"resumeSessionAt,omitzero"`
	// MCPServers are offered to the harness, by name; nil when absent.
	MCPServers map[string]MCPServer `json:"mcpServers,omitzero"`
	// Env is added to the harness's environment; nil when absent. Secret.
	Env map[string]string `json:"env,omitzero"`
	// APIKey goes into the harness's own key variable; nil when absent. Secret.
	APIKey *string `json:"apiKey,omitzero"`
	// DisableTools forbids every tool; nil when absent: false.
	DisableTools *bool `json:"disableTools,omitzero"`
	// IncludeRaw asks for raw events; nil when absent: false.
	IncludeRaw *bool `json:"includeRaw,omitzero"`
}

// MCPServerType is closed: how an MCP server is reached.
type MCPServerType string

// The ways to reach an MCP server.
const (
	MCPStdio MCPServerType = "stdio"
	MCPHTTP  MCPServerType = "http"
	MCPSSE   MCPServerType = "sse"
)

// MCPServer is one MCP server: Command, Args and Env for stdio, URL and Headers
// for http and sse.
type MCPServer struct {
	// Type is closed: stdio, http, sse.
	Type MCPServerType `json:"type"`
	// Command is the executable; stdio only, required there.
	Command string `json:"command,omitzero"`
	// Args are its arguments; nil when absent.
	Args []string `json:"args,omitzero"`
	// Env is added to its environment; nil when absent. Secret.
	Env map[string]string `json:"env,omitzero"`
	// URL is where it listens; http and sse only, required there.
	URL string `json:"url,omitzero"`
	// Headers are sent with each request; nil when absent. Secret.
	Headers map[string]string `json:"headers,omitzero"`
}

// AgentCapabilities says what an installed harness can do. All members are
// always present on the wire.
type AgentCapabilities struct {
	// MultiTurn: a session takes more than one turn.
	MultiTurn bool `json:"multiTurn"`
	// SessionResume: a native session can be gone on with by its id.
	SessionResume bool `json:"sessionResume"`
	// ThinkingLevels: config.thinkingLevel is honoured.
	ThinkingLevels bool `json:"thinkingLevels"`
	// Images: image input is understood.
	Images bool `json:"images"`
	// MCPServers: config.mcpServers is honoured.
	MCPServers bool `json:"mcpServers"`
	// PermissionRequests: the harness asks before it acts.
	PermissionRequests bool `json:"permissionRequests"`
	// ModelSwitch is how the model changes between turns.
	ModelSwitch ModelSwitch `json:"modelSwitch"`
}

// Input is what a turn is started with: a string, or an array of items.
type Input struct {
	// Text is the input where it was a plain string; IsText then is true. ""
	// is a valid input.
	Text string
	// IsText tells a plain string from an array.
	IsText bool
	// Items is the input where it was an array; it may be empty.
	Items []InputItem
}

// TextInput is the Input of a plain string.
func TextInput(s string) Input { return Input{Text: s, IsText: true} }

// InputType is the `type` of an input item.
type InputType string

// The types of an input item.
const (
	InputText  InputType = "text"
	InputImage InputType = "image"
	InputFile  InputType = "file"
)

// InputItem is one item of an input: text, or an image or a file with exactly
// one of Data and URL.
type InputItem struct {
	// Type is text, image or file.
	Type InputType `json:"type"`
	// ID is accepted and not used; nil when absent.
	ID *string `json:"id,omitzero"`
	// Text is at least one character; text only.
	Text string `json:"text,omitzero"`
	// Elements mark stretches of Text; nil when absent; text only.
	Elements []TextElement `json:"elements,omitzero"`
	// Data is base64, not empty; nil when URL is set; image and file only.
	Data *string `json:"data,omitzero"`
	// URL is not empty; nil when Data is set; image and file only.
	URL *string `json:"url,omitzero"`
	// MimeType is the media type; image and file only.
	MimeType string `json:"mimeType,omitzero"`
	// Filename is for people; nil when absent; file only.
	Filename *string `json:"filename,omitzero"`
}

// TextElement marks a stretch of an input text, a mention for instance.
type TextElement struct {
	// ByteRange is half-open over the UTF-8 bytes of the text: [start, end),
	// start ≤ end, not checked against its length.
	ByteRange [2]int64 `json:"byteRange"`
	// Placeholder is what to show instead; nil when absent.
	Placeholder *string `json:"placeholder,omitzero"`
}
