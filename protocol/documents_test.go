package protocol

import (
	"errors"
	"fmt"
)

// A strict decoder is tested by spoiling whole bodies: each document below holds
// every member of its type, and every member is taken away, made null and made
// another kind, wherever it stands. Which ones may be missing is written here by
// hand, so that the decoder and its tests do not agree by construction.

// document is a valid body, decoded by decode.
type document struct {
	name   string
	body   string
	decode func(raw []byte) []Fault
	// optional lists the paths that may be missing.
	optional string
	// free lists the paths whose inside is nobody's business.
	free string
	// any lists the paths that may hold any value, null too.
	any string
	// moved maps a path to where its absence is reported, if elsewhere.
	moved map[string]string
}

// faultsOf takes the faults out of an error.
func faultsOf(err error) []Fault {
	var malformed *MalformedError
	var input *InputError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &malformed):
		return malformed.Faults
	case errors.As(err, &input):
		return input.Faults
	}
	panic(fmt.Sprintf("an error of another kind: %v", err))
}

func eventFaults(raw []byte) []Fault {
	_, err := DecodeEvent(raw)
	return faultsOf(err)
}

func partFaults(raw []byte) []Fault {
	_, err := DecodePart(raw)
	return faultsOf(err)
}

func envelopeFaults(raw []byte) []Fault {
	_, err := DecodeEnvelope(raw)
	return faultsOf(err)
}

const (
	stamp  = `"timestamp":1700000000000,"_meta":{"x/y":null}`
	inTurn = `"sessionId":"s","turnId":"t",`
	head   = `"id":"p","sessionId":"s","messageId":"m","parentToolCallId":"c","_meta":{"x/y":null},`
)

var eventDocuments = []document{
	{name: "session.created", optional: "model resumed _meta", free: "_meta",
		body: `{"type":"session.created","sessionId":"s","nativeSessionId":"n","harness":"acp","model":"m","resumed":true,` + stamp + `}`},
	{name: "session.ended", optional: "_meta", free: "_meta",
		body: `{"type":"session.ended","sessionId":"s","reason":"idle",` + stamp + `}`},
	{name: "session.usage", optional: "size cost _meta", free: "_meta",
		body: `{"type":"session.usage",` + inTurn + `"used":1,"size":2,"cost":0.5,` + stamp + `}`},
	{name: "session.compaction", optional: "trigger preTokens postTokens summary abstractsIds _meta", free: "_meta",
		body: `{"type":"session.compaction",` + inTurn + `"compactionId":"k","status":"completed","trigger":"auto","preTokens":2,"postTokens":1,"summary":"","abstractsIds":["a"],` + stamp + `}`},
	{name: "turn.started", optional: "_meta", free: "_meta",
		body: `{"type":"turn.started",` + inTurn + stamp + `}`},
	{name: "turn.ended", free: "_meta",
		optional: "finishReason tokens tokens.input tokens.output tokens.reasoning tokens.cache tokens.cache.read tokens.cache.write tokens.cache.writeEphemeral5m tokens.cache.writeEphemeral1h cost error _meta",
		body:     `{"type":"turn.ended",` + inTurn + `"stopReason":"error","finishReason":"x","tokens":{"input":1,"output":2,"reasoning":1,"cache":{"read":1,"write":2,"writeEphemeral5m":1,"writeEphemeral1h":1}},"cost":1,"error":{"category":"auth","message":"no"},` + stamp + `}`},
	{name: "message.started", optional: "parentToolCallId model _meta", free: "_meta",
		body: `{"type":"message.started",` + inTurn + `"messageId":"m","outputIndex":0,"role":"user","parentToolCallId":"c","model":"m",` + stamp + `}`},
	{name: "message.part", optional: "_meta part.parentToolCallId part._meta part.state", free: "_meta part._meta",
		body: `{"type":"message.part",` + inTurn + `"messageId":"m","outputIndex":0,"partIndex":0,"part":{` + head + `"type":"text","text":"","state":"done"},` + stamp + `}`},
	{name: "text delta", optional: "_meta", free: "_meta",
		body: `{"type":"message.part.delta",` + inTurn + `"messageId":"m","outputIndex":0,"partIndex":0,"partId":"p","delta":{"type":"text","text":""},` + stamp + `}`},
	{name: "reasoning delta", optional: "_meta", free: "_meta",
		body: `{"type":"message.part.delta",` + inTurn + `"messageId":"m","outputIndex":0,"partIndex":0,"partId":"p","delta":{"type":"reasoning","text":""},` + stamp + `}`},
	{name: "tool input delta", optional: "_meta", free: "_meta",
		body: `{"type":"message.part.delta",` + inTurn + `"messageId":"m","outputIndex":0,"partIndex":0,"partId":"p","delta":{"type":"tool_input","toolCallId":"c","toolName":"T","input":""},` + stamp + `}`},
	{name: "message.ended", optional: "_meta", free: "_meta",
		body: `{"type":"message.ended",` + inTurn + `"messageId":"m",` + stamp + `}`},
	{name: "permission.requested", free: "_meta toolCall.rawInput",
		optional: "toolCall toolCall.toolCallId toolCall.kind toolCall.title toolCall.locations toolCall.locations.0.line toolCall.rawInput _meta",
		body:     `{"type":"permission.requested",` + inTurn + `"requestId":"r","title":"","toolCall":{"toolCallId":"c","toolName":"T","kind":"edit","title":"","locations":[{"path":"a","line":1}],"rawInput":{"a":null}},"options":[{"optionId":"o","name":"","kind":"allow_once"}],` + stamp + `}`},
	{name: "permission selected", optional: "outcome.updatedInput _meta", free: "_meta outcome.updatedInput",
		body: `{"type":"permission.resolved",` + inTurn + `"requestId":"r","outcome":{"outcome":"selected","optionId":"o","updatedInput":{"a":null}},` + stamp + `}`},
	{name: "permission cancelled", optional: "_meta", free: "_meta",
		body: `{"type":"permission.resolved",` + inTurn + `"requestId":"r","outcome":{"outcome":"cancelled"},` + stamp + `}`},
	{name: "error", optional: "sessionId turnId stack _meta", free: "_meta",
		body: `{"type":"error",` + inTurn + `"category":"auth","message":"","recoverable":false,"stack":"at x",` + stamp + `}`},
	{name: "raw", optional: "_meta", free: "_meta data", any: "data",
		body: `{"type":"raw",` + inTurn + `"harness":"acp","data":{"a":null},` + stamp + `}`},
}

var partDocuments = []document{
	{name: "text", optional: "parentToolCallId _meta state", free: "_meta",
		body: `{` + head + `"type":"text","text":"","state":"streaming"}`},
	{name: "reasoning", optional: "parentToolCallId _meta state time time.end providerMetadata", free: "_meta providerMetadata",
		body: `{` + head + `"type":"reasoning","text":"","state":"done","time":{"start":1,"end":2},"providerMetadata":{"a":null}}`},
	{name: "pending", optional: toolOptional + "state._meta", free: "_meta state._meta",
		body: `{` + head + tool + `{"status":"pending","partialInput":"","_meta":{"a":null}}}`},
	{name: "in_progress", optional: toolOptional + "state.title state._meta", free: "_meta state.input state._meta",
		body: `{` + head + tool + `{"status":"in_progress","input":{"a":null},"title":"","time":{"start":1},"_meta":{"a":null}}}`},
	{name: "completed", free: "_meta state.input state.metadata state._meta state.content.0._meta state.content.1._meta state.content.2._meta state.content.3._meta",
		optional: toolOptional + "state.content state.content.0._meta state.content.1._meta state.content.2._meta state.content.2.oldText state.content.3._meta state.metadata state.title state._meta",
		body:     `{` + head + tool + `{"status":"completed","input":{"a":null},"output":"","content":[{"type":"text","text":"","_meta":{"a":null}},{"type":"image","data":"","mimeType":"","_meta":{"a":null}},{"type":"diff","path":"","oldText":"","newText":"","_meta":{"a":null}},{"type":"terminal","terminalId":"","_meta":{"a":null}}],"metadata":{"a":null},"title":"","time":{"start":1,"end":2},"_meta":{"a":null}}}`},
	{name: "failed", optional: toolOptional + "state._meta", free: "_meta state.input state._meta",
		body: `{` + head + tool + `{"status":"failed","input":{"a":null},"error":"","time":{"start":1,"end":2},"_meta":{"a":null}}}`},
	{name: "cancelled", optional: toolOptional + "state._meta", free: "_meta state.input state._meta",
		body: `{` + head + tool + `{"status":"cancelled","input":{"a":null},"time":{"start":1,"end":2},"_meta":{"a":null}}}`},
	{name: "image", optional: "parentToolCallId _meta", free: "_meta", moved: map[string]string{"data": ""},
		body: `{` + head + `"type":"image","data":"","mimeType":""}`},
	{name: "file", optional: "parentToolCallId _meta filename", free: "_meta", moved: map[string]string{"url": ""},
		body: `{` + head + `"type":"file","url":"","mimeType":"","filename":""}`},
}

const (
	toolOptional = "parentToolCallId _meta kind title locations locations.0.line subagent subagent.type subagent.description subagent.model subagent.agentId "
	tool         = `"type":"tool","toolCallId":"c","toolName":"T","kind":"task","title":"","locations":[{"path":"a","line":1.5}],"subagent":{"type":"","description":"","model":"","agentId":""},"state":`
)

var envelopeDocuments = []document{
	{name: "envelope", optional: "prevSeq event._meta", free: "event._meta",
		body: `{"sessionId":"s","seq":2,"prevSeq":1,"event":{"type":"turn.started",` + inTurn + stamp + `}}`},
}

func allDocuments() []document {
	var all []document
	for decode, list := range map[*func([]byte) []Fault][]document{
		new(eventFaults): eventDocuments, new(partFaults): partDocuments, new(envelopeFaults): envelopeDocuments,
	} {
		for _, d := range list {
			d.decode = *decode
			all = append(all, d)
		}
	}
	return append(all, paramDocuments...)
}
