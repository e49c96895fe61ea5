package schema

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenEnvelopesAreValid holds the schema to everything that was ever recorded
// or written down by hand, in both of its dialects. Where a stream is malformed on
// purpose the decoder says so, and the schema must too.
func TestGoldenEnvelopesAreValid(t *testing.T) {
	t.Parallel()
	judges := map[string][]judge{
		"envelope": {judgeOf(t, Events(), "Envelope"), judgeOf(t, Methods(), "Envelope"), componentOf(t, "Envelope")},
		"event":    {judgeOf(t, Events(), "Event"), judgeOf(t, Methods(), "Event"), componentOf(t, "Event")},
		"answer":   {judgeOf(t, Methods(), "Message")},
	}
	good, bad := 0, 0
	for _, file := range goldenFiles(t) {
		eachMessage(t, file, func(kind string, raw []byte) {
			var want error
			if kind != "answer" {
				want = decodes(kind, raw)
			}
			for i, valid := range judges[kind] {
				if got := valid(raw); (got == nil) != (want == nil) {
					t.Errorf("%s: %s: schema %d: %v, the decoder: %v\n%s", file, kind, i, got, want, raw)
				}
			}
			if want == nil {
				good++
				return
			}
			bad++
			if !isBroken(file) {
				t.Errorf("%s: a golden stream with a malformed %s: %v", file, kind, want)
			}
		})
	}
	if good < 500 || bad < 2 {
		t.Errorf("%d messages were valid and %d were not: the test looked in the wrong place", good, bad)
	}
}

// isBroken says whether a stream may be malformed: those that break a rule.
func isBroken(file string) bool {
	return strings.Contains(filepath.ToSlash(file), "vectors/verify/") && !strings.Contains(filepath.ToSlash(file), "/clean/")
}

// TestMalformedIsRefused: bodies that the decoder's own tests refuse, one reason each.
func TestMalformedIsRefused(t *testing.T) {
	t.Parallel()
	const (
		inTurn = `"sessionId":"s","turnId":"t",`
		stamp  = `"timestamp":1`
		part   = `{"type":"message.part",` + inTurn + `"messageId":"m","outputIndex":0,"partIndex":0,` + stamp + `,"part":`
		head   = `"id":"p","sessionId":"s","messageId":"m",`
		call   = part + `{` + head + `"type":"tool","toolCallId":"c","toolName":"T","state":`
	)
	event := judgeOf(t, Events(), "Event")
	for what, body := range map[string]string{
		"no object":                         `[]`,
		"no type":                           `{}`,
		"an empty type":                     `{"type":""}`,
		"a type that is no string":          `{"type":7}`,
		"a type in upper case":              `{"TYPE":"turn.paused"}`,
		"members missing":                   `{"type":"turn.started","turnId":3}`,
		"null for an optional member":       `{"type":"turn.started",` + inTurn + stamp + `,"_meta":null}`,
		"a negative time":                   `{"type":"turn.started",` + inTurn + `"timestamp":-1}`,
		"a fractional time":                 `{"type":"turn.started",` + inTurn + `"timestamp":1.5}`,
		"a time beyond the safe integers":   `{"type":"turn.started",` + inTurn + `"timestamp":9007199254740992}`,
		"a role of its own":                 `{"type":"message.started",` + inTurn + `"messageId":"m","outputIndex":0,"role":"system",` + stamp + `}`,
		"a blank harness":                   `{"type":"session.created","sessionId":"s","nativeSessionId":"n","harness":" \t",` + stamp + `}`,
		"a harness of Unicode's blanks":     `{"type":"session.created","sessionId":"s","nativeSessionId":"n","harness":"\u0085\u3000",` + stamp + `}`,
		"a blank reason":                    `{"type":"session.ended","sessionId":"s","reason":"",` + stamp + `}`,
		"a blank category":                  `{"type":"error","category":"\n","message":"","recoverable":false,` + stamp + `}`,
		"a stack that is no string":         `{"type":"error","category":"auth","message":"","recoverable":false,"stack":[],` + stamp + `}`,
		"usage in words":                    `{"type":"session.usage",` + inTurn + `"used":"many",` + stamp + `}`,
		"no data":                           `{"type":"raw",` + inTurn + `"harness":"acp",` + stamp + `}`,
		"a delta of its own":                `{"type":"message.part.delta",` + inTurn + `"messageId":"m","outputIndex":0,"partIndex":0,"partId":"p","delta":{"type":"image"},` + stamp + `}`,
		"an outcome of its own":             `{"type":"permission.resolved",` + inTurn + `"requestId":"r","outcome":{"outcome":"allowed"},` + stamp + `}`,
		"selected without an option":        `{"type":"permission.resolved",` + inTurn + `"requestId":"r","outcome":{"outcome":"selected"},` + stamp + `}`,
		"data and url":                      part + `{` + head + `"type":"image","data":"a","url":"b","mimeType":"m"}}`,
		"neither data nor url":              part + `{` + head + `"type":"file","mimeType":"m"}}`,
		"a part's state of its own":         part + `{` + head + `"type":"text","text":"","state":"Done"}}`,
		"an unknown part without an id":     part + `{"type":"plan","sessionId":"s","messageId":"m"}}`,
		"a part without a type":             part + `{` + head + `"text":""}}`,
		"a status of its own":               call + `{"status":"paused"}}}`,
		"input that is an array":            call + `{"status":"failed","input":[],"error":"","time":{"start":1,"end":2}}}}`,
		"a time without an end":             call + `{"status":"completed","input":{},"output":"","time":{"start":1}}}}`,
		"content of its own":                call + `{"status":"completed","input":{},"output":"","time":{"start":1,"end":2},"content":[{"type":"audio"}]}}}`,
		"a status with another's body":      call + `{"status":"in_progress","partialInput":""}}}`,
		"metadata that is a string":         call + `{"status":"completed","input":{},"output":"","time":{"start":1,"end":2},"metadata":"x"}}}`,
		"a fractional start":                call + `{"status":"in_progress","input":{},"time":{"start":0.5}}}}`,
		"a subagent that is a string":       part + `{` + head + `"type":"tool","toolCallId":"c","toolName":"T","subagent":"x","state":{"status":"pending","partialInput":""}}}`,
		"a location without a path":         part + `{` + head + `"type":"tool","toolCallId":"c","toolName":"T","locations":[{}],"state":{"status":"pending","partialInput":""}}}`,
		"a number of tokens that is a text": `{"type":"turn.ended",` + inTurn + `"stopReason":"end_turn","tokens":{"input":"1"},` + stamp + `}`,
	} {
		if err := decodes("event", []byte(body)); err == nil {
			t.Errorf("%s: the decoder takes it: %s", what, body)
		}
		if err := event([]byte(body)); err == nil {
			t.Errorf("%s: the schema takes it: %s", what, body)
		}
	}
}

// TestTolerance: what a reader must take, so that both sides can grow.
func TestTolerance(t *testing.T) {
	t.Parallel()
	event := judgeOf(t, Events(), "Event")
	for what, body := range map[string]string{
		"an unknown type":                   `{"type":"turn.paused","timestamp":"never"}`,
		"an added type":                     `{"type":"turn.queued","position":"first"}`,
		"an unknown member":                 `{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":1,"mood":null}`,
		"a word of one's own":               `{"type":"session.ended","sessionId":"s","reason":"_mine","timestamp":1}`,
		"a word that only looks blank":      `{"type":"session.ended","sessionId":"s","reason":"\ufeff","timestamp":1}`,
		"empty ids":                         `{"type":"turn.started","sessionId":"","turnId":"","timestamp":0}`,
		"integers in other spellings":       `{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":1e3}`,
		"counts that are left out":          `{"type":"turn.ended","sessionId":"s","turnId":"t","stopReason":"tired","tokens":{"cache":{}},"timestamp":2.0}`,
		"members of another outcome":        `{"type":"permission.resolved","sessionId":"s","turnId":"t","requestId":"r","outcome":{"outcome":"cancelled","optionId":7},"timestamp":1}`,
		"an index that is no index":         `{"type":"message.started","sessionId":"s","turnId":"t","messageId":"m","outputIndex":-0.5,"role":"user","timestamp":1}`,
		"a type spelled with an escape":     `{"type":"turn\u002estarted","sessionId":"s","turnId":"t","timestamp":1}`,
		"data that is null":                 `{"type":"raw","sessionId":"s","turnId":"","harness":"new-one","data":null,"timestamp":1}`,
		"an error of no session, of a kind": `{"type":"error","category":"weather","message":"","recoverable":true,"timestamp":1}`,
	} {
		if err := decodes("event", []byte(body)); err != nil {
			t.Errorf("%s: the decoder refuses it: %v", what, err)
		}
		if err := event([]byte(body)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", what, err)
		}
	}
}
