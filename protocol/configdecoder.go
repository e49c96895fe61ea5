package protocol

// The closed words of a config, and its containers. Neither paths nor commands are
// looked at here: this package touches no machine.
var (
	aThinkingLevel  = oneOf(ThinkingOff, ThinkingLow, ThinkingMedium, ThinkingHigh, ThinkingXHigh)
	aPermissionMode = oneOf(ModeDefault, ModePlan, ModeAcceptEdits, ModeDontAsk, ModeBypassPermissions)
	aServerType     = oneOf(MCPStdio, MCPHTTP, MCPSSE)
	someServers     = mapOf(aServer)
	aStringMap      = mapOf(aString)
)

// aRunConfig reads how a turn is to be run. Whether cwd exists and what the
// harness can honour is judged later, by those who can know.
func aRunConfig(r *reading, raw []byte) RunConfig {
	o, ok := r.open(raw)
	if !ok {
		return RunConfig{}
	}
	return RunConfig{
		Harness:               need(&o, "harness", aHarness),
		Cwd:                   need(&o, "cwd", aString),
		Model:                 maybe(&o, "model", aString),
		ThinkingLevel:         orZero(&o, "thinkingLevel", aThinkingLevel),
		AdditionalDirectories: orZero(&o, "additionalDirectories", someStrings),
		SystemPromptAppend:    maybe(&o, "systemPromptAppend", aString),
		MaxTurns:              maybe(&o, "maxTurns", aPositive),
		PermissionMode:        orZero(&o, "permissionMode", aPermissionMode),
		ResumeSessionID:       maybe(&o, "resumeSessionId", aString),
		ResumeSessionAt:       maybe(&o, "resumeSessionAt", aString),
		MCPServers:            orZero(&o, "mcpServers", someServers),
		Env:                   orZero(&o, "env", aStringMap),
		APIKey:                maybe(&o, "apiKey", aString),
		DisableTools:          maybe(&o, "disableTools", aBool),
		IncludeRaw:            maybe(&o, "includeRaw", aBool),
	}
}

// aServer reads one MCP server; the members of the other types are unknown to
// each, and ignored.
func aServer(r *reading, raw []byte) MCPServer {
	o, ok := r.open(raw)
	if !ok {
		return MCPServer{}
	}
	s := MCPServer{Type: need(&o, "type", aServerType)}
	switch s.Type {
	case MCPStdio:
		s.Command = need(&o, "command", aString)
		s.Args = orZero(&o, "args", someStrings)
		s.Env = orZero(&o, "env", aStringMap)
	case MCPHTTP, MCPSSE:
		s.URL = need(&o, "url", aString)
		s.Headers = orZero(&o, "headers", aStringMap)
	}
	return s
}
