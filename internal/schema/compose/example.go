package compose

import (
	"encoding/json"

	"agent-server/protocol"
)

// The examples are made for who reads them: together they show every member of the
// params and every shape of the results, with ids that can be told apart.

// example is one call of a method and its answer: values of package protocol, so that
// they cannot be of another shape, encoded as the wire has them.
type example struct {
	// name says what the call is about.
	name string
	// params and result are values of package protocol; nil is an empty object.
	params, result any
}

// encoded is a value as the wire has it.
func encoded(v any) json.RawMessage {
	if v == nil {
		v = struct{}{}
	}
	return json.RawMessage(protocol.Encode(v))
}

// Ids that a client chooses are short words here, ids that a server mints are UUIDs.
const (
	someSession  = "notes"
	someTurn     = "turn-a"
	someInstance = "01976f4e-8b5a-7c11-9f3e-0d6a5c2b4e10"
	someLog      = "01976f4e-8b5b-7d22-8a4f-1e7b6d3c5f21"
)

// initializeExamples: what a base client sends, and all that can be said.
func initializeExamples() []example {
	return []example{
		{"a client of the base", protocol.InitializeParams{ProtocolVersion: 2}, initializeResult(false)},
		{"a client that knows every harness", protocol.InitializeParams{
			ProtocolVersion: 2, Client: &protocol.ClientInfo{Name: "my-editor", Version: new("1.4.0")},
			Capabilities: &protocol.ClientCapabilities{OpenHarnesses: new(true)},
		}, initializeResult(true)},
		{"a client that keeps in step", protocol.InitializeParams{
			ProtocolVersion: 2, Client: &protocol.ClientInfo{Name: "my-web-app"},
			Capabilities: &protocol.ClientCapabilities{OpenHarnesses: new(true), ChainedSeq: new(true), Deltas: new(false), Events: protocol.EventsSubscribed},
		}, initializeResult(true)},
	}
}

// initializeResult is an answer; a server says more about itself than a base client
// needs.
func initializeResult(whole bool) protocol.InitializeResult {
	r := protocol.InitializeResult{
		ProtocolVersion: 2, InstanceID: someInstance,
		Server: protocol.ServerInfo{Name: "agent-server", Version: new("0.2.0")},
		Harnesses: map[protocol.HarnessID]protocol.AgentCapabilities{
			protocol.HarnessClaudeCode: {MultiTurn: true, SessionResume: true, ThinkingLevels: true, Images: true,
				MCPServers: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchInSession},
		},
	}
	if whole {
		r.Capabilities = &protocol.ServerCapabilities{
			Durability: "ephemeral", LogID: someLog, MaxMessageBytes: protocol.DefaultMaxMessageBytes,
			IfBusy: []string{"reject", "queue", "steer"}, Methods: methodNames(),
		}
	}
	return r
}

// methodNames lists every method; it is written out, since the table of methods holds
// the examples.
func methodNames() []string {
	return []string{protocol.MethodEventsReplay, protocol.MethodHarnessList, protocol.MethodInitialize, protocol.MethodPermissionRespond,
		protocol.MethodSessionClose, protocol.MethodSessionList, protocol.MethodSessionSnapshot, protocol.MethodSessionSubscribe,
		protocol.MethodSessionUnsubscribe, protocol.MethodShutdown, protocol.MethodTurnCancel, protocol.MethodTurnStart}
}

// turnStartExamples: with ids minted and with ids given, as a string and as items.
func turnStartExamples() []example {
	return []example{
		{"a prompt", protocol.TurnStartParams{
			Input:  protocol.TextInput("What does this repository do?"),
			Config: protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/home/me/project"},
		}, protocol.TurnStartResult{SessionID: "01976f50-1c2d-7e33-b5a6-2f8c7e4d6a32", TurnID: "01976f50-1c2e-7f44-86b7-308d8f5e7b43"}},
		{"a retry of a turn with an image and a file", protocol.TurnStartParams{
			SessionID: new(someSession), TurnID: new(someTurn),
			Input: protocol.Input{Items: []protocol.InputItem{
				{Type: protocol.InputText, Text: "Why is @chart.png empty?",
					Elements: []protocol.TextElement{{ByteRange: [2]int64{7, 17}, Placeholder: new("chart.png")}}},
				{Type: protocol.InputImage, Data: new("iVBORw0KGgo="), MimeType: "image/png"},
				{Type: protocol.InputFile, URL: new("https://example.com/data.csv"), MimeType: "text/csv", Filename: new("data.csv")},
			}},
			Config: wholeConfig(),
		}, protocol.TurnStartResult{SessionID: someSession, TurnID: someTurn, Deduplicated: true}},
		{"a turn that waits", protocol.TurnStartParams{
			SessionID: new(someSession), TurnID: new("turn-b"), Input: protocol.TextInput("Then write the tests."),
			Config: protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/home/me/project"}, IfBusy: protocol.BusyQueue,
			Meta: protocol.Object(`{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`),
		}, protocol.TurnStartResult{SessionID: someSession, TurnID: "turn-b", Disposition: protocol.Queued}},
	}
}

// wholeConfig has every member of a config.
func wholeConfig() protocol.RunConfig {
	return protocol.RunConfig{
		Harness: protocol.HarnessClaudeCode, Cwd: "/home/me/project", Model: new("small"), ThinkingLevel: protocol.ThinkingLow,
		AdditionalDirectories: []string{"/home/me/data"}, SystemPromptAppend: new("Be brief."), MaxTurns: new(int64(20)),
		PermissionMode: protocol.ModeAcceptEdits, ResumeSessionID: new("n-77"), ResumeSessionAt: new("m-12"),
		MCPServers: map[string]protocol.MCPServer{
			"files": {Type: protocol.MCPStdio, Command: "mcp-files", Args: []string{"--read-only"}, Env: map[string]string{"ROOT": "/srv"}},
			"web":   {Type: protocol.MCPHTTP, URL: "http://localhost:9000/mcp", Headers: map[string]string{"X-Team": "docs"}},
			"old":   {Type: protocol.MCPSSE, URL: "http://localhost:9001/sse"},
		},
		Env: map[string]string{"CI": "1"}, APIKey: new("the-key"), DisableTools: new(false), IncludeRaw: new(false),
	}
}

// turnCancelExamples: one for each outcome, and one where nothing at all runs.
func turnCancelExamples() []example {
	unstamped, stamped := protocol.TurnCancelParams{SessionID: someSession}, protocol.TurnCancelParams{SessionID: someSession, TurnID: new(someTurn)}
	return []example{
		{"whatever runs", unstamped, protocol.TurnCancelResult{Outcome: protocol.CancelCancelled, TurnID: new(someTurn)}},
		{"a harness that does not say so", stamped, protocol.TurnCancelResult{Outcome: protocol.CancelUnconfirmed, TurnID: new(someTurn)}},
		{"another turn runs", stamped, protocol.TurnCancelResult{Outcome: protocol.CancelNoActiveTurn, ActiveTurnID: new("turn-b")}},
		{"nothing runs", unstamped, protocol.TurnCancelResult{Outcome: protocol.CancelNoActiveTurn}},
	}
}

// permissionRespondExamples: the input may be changed by whoever allows.
func permissionRespondExamples() []example {
	selected := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: "allow_once"}
	edited := selected
	edited.UpdatedInput = protocol.Object(`{"path":"b.csv"}`)
	return []example{
		{"allowed", protocol.PermissionRespondParams{SessionID: someSession, RequestID: "ask-1", Outcome: selected},
			protocol.PermissionRespondResult{Accepted: true}},
		{"allowed with another input", protocol.PermissionRespondParams{SessionID: someSession, RequestID: "ask-2", Outcome: edited},
			protocol.PermissionRespondResult{Accepted: true}},
		{"too late", protocol.PermissionRespondParams{SessionID: someSession, RequestID: "ask-1",
			Outcome: protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}}, protocol.PermissionRespondResult{}},
	}
}

// eventsReplayExamples: the two kinds of nothing differ in their numbers.
func eventsReplayExamples() []example {
	envelope := protocol.Envelope{SessionID: someSession, Seq: 12, Event: &protocol.TurnEnded{
		SessionID: someSession, TurnID: someTurn, StopReason: protocol.StopEndTurn, Timestamp: 1800000000012}}
	first, head := new(int64(1)), new(int64(12))
	return []example{
		{"the last one", protocol.EventsReplayParams{SessionID: someSession, FromSeq: 12}, protocol.EventsReplayResult{
			Events: []protocol.Object{protocol.AppendEnvelope(nil, envelope)}, FirstAvailableSeq: first, LatestSeq: head}},
		{"beyond the head", protocol.EventsReplayParams{SessionID: someSession, FromSeq: 13},
			protocol.EventsReplayResult{Events: []protocol.Object{}, FirstAvailableSeq: first, LatestSeq: head}},
		{"nothing logged yet", protocol.EventsReplayParams{SessionID: someSession, FromSeq: 1},
			protocol.EventsReplayResult{Events: []protocol.Object{}}},
		{"a page", protocol.EventsReplayParams{SessionID: someSession, FromSeq: 12, Limit: new(int64(1))}, protocol.EventsReplayResult{
			Events: []protocol.Object{protocol.AppendEnvelope(nil, envelope)}, FirstAvailableSeq: first, LatestSeq: new(int64(40)), NextSeq: new(int64(13))}},
	}
}

// sessionCloseExamples: the same call twice.
func sessionCloseExamples() []example {
	params := protocol.SessionCloseParams{SessionID: someSession}
	return []example{
		{"a known session", params, protocol.SessionCloseResult{Closed: true}},
		{"an unknown one", params, protocol.SessionCloseResult{}},
		{"whatever runs", protocol.SessionCloseParams{SessionID: someSession, Force: new(true)}, protocol.SessionCloseResult{Closed: true}},
	}
}

// anEnvelope is one event as it is sent.
func anEnvelope() protocol.Envelope {
	return protocol.Envelope{SessionID: someSession, Seq: 8, Event: &protocol.MessagePartDelta{
		SessionID: someSession, TurnID: someTurn, MessageID: "m-1", OutputIndex: 1, PartID: "p-1",
		Delta: &protocol.TextDelta{Text: "It is "}, Timestamp: 1800000000008}}
}

// sessionListExamples: a page with every member, and the last one.
func sessionListExamples() []example {
	entry := protocol.SessionEntry{SessionID: someSession, Harness: protocol.HarnessClaudeCode, Cwd: "/home/me/project",
		Status: protocol.SessionIdle, LatestSeq: 12, CreatedAt: 1800000000000, UpdatedAt: 1800000000012}
	busy := entry
	busy.Status, busy.Title, busy.ActiveTurnID = protocol.SessionActive, new("Empty chart"), new(someTurn)
	busy.QueuedTurns, busy.PendingPermissions = 1, 1
	return []example{
		{"a page", protocol.SessionListParams{Limit: new(int64(1))},
			protocol.SessionListResult{Sessions: []protocol.SessionEntry{busy}, NextCursor: new("notes")}},
		{"the last page", protocol.SessionListParams{Cursor: new("notes")}, protocol.SessionListResult{Sessions: []protocol.SessionEntry{entry}}},
	}
}

// emptyState is the fold of nothing.
const emptyState = `{"timeline":[],"turns":[],"permissions":[],"totals":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"errors":[],"unknownEvents":[],"toolInputJson":{}}`

// sessionSnapshotExamples: what a state looks like is the fold's affair.
func sessionSnapshotExamples() []example {
	return []example{{"a state", protocol.SessionSnapshotParams{SessionID: someSession},
		protocol.SessionSnapshotResult{SessionID: someSession, Seq: 12, State: protocol.Object(emptyState)}}}
}

// sessionSubscribeExamples: one for each mode.
func sessionSubscribeExamples() []example {
	return []example{
		{"going on", protocol.SessionSubscribeParams{SessionID: someSession, AfterSeq: new(int64(12))},
			protocol.SessionSubscribeResult{Mode: protocol.SubscribedSuffix, Seq: 12}},
		{"joining", protocol.SessionSubscribeParams{SessionID: someSession, Snapshot: protocol.SnapshotAlways, Deltas: new(false)},
			protocol.SessionSubscribeResult{Mode: protocol.SubscribedSnapshot, Seq: 12, State: protocol.Object(emptyState)}},
	}
}

// harnessListExamples: one that is there and one that is not.
func harnessListExamples() []example {
	able := protocol.AgentCapabilities{MultiTurn: true, SessionResume: true, ThinkingLevels: true, Images: true,
		MCPServers: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchInSession}
	return []example{{"two", nil, protocol.HarnessListResult{Harnesses: []protocol.HarnessEntry{
		{ID: protocol.HarnessClaudeCode, Available: true, Version: new("2.1.332"), Path: new("/usr/local/bin/claude"), Login: new(protocol.LoginFound),
			TestedVersion: new("2.1.332"), LoginSource: new("ANTHROPIC_API_KEY"), Capabilities: able, Models: []string{"small", "large"}},
		{ID: protocol.HarnessACP, Reason: new("no default ACP agent is configured"), Capabilities: able},
	}}}}
}
