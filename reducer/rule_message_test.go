package reducer

var messageRules = []rule{
	{"message-started-again", map[int]string{0: "message-upserted m1 t1", 1: "", 2: ""}, map[string]string{
		"timeline.0": `{"kind":"message","messageId":"m1","model":"m","outputIndex":1,"parentToolCallId":"c9","parts":[],"role":"assistant","sessionId":"s","startedAt":1700000000001,"turnId":"t1"}`,
		"timeline.1": "",
	}},
	{"message-ended-first-stays", map[int]string{0: "", 2: "message-ended m1", 3: ""}, map[string]string{
		"timeline.0.endedAt": "1700000000003", "timeline.1.endedAt": "",
	}},
	{"part-upserted-in-place", map[int]string{
		1: "part-upserted m1 p1 1/0", 2: "part-upserted m1 p2 1/1", 3: "part-upserted m1 p1 5/6", 4: "part-upserted m1 p1 1/0", 6: "part-upserted m1 p2 1/0",
	}, map[string]string{
		"timeline.0.parts.0": `{"id":"p1","messageId":"m1","sessionId":"s","state":"done","text":"c","type":"text"}`,
		"timeline.0.parts.1": `{"id":"p2","messageId":"m1","sessionId":"s","text":"after the end","type":"text"}`,
		"timeline.0.parts.2": "", "timeline.0.outputIndex": "1", "timeline.0.endedAt": "1700000000005",
	}},
	{"part-changes-type", map[int]string{
		2: "part-upserted m1 p1 1/0", 4: "", 5: "turn-updated t1, part-upserted m1 p1 1/0", 7: "turn-updated t2",
	}, map[string]string{
		"timeline.0.parts.0.type": `"image"`, "timeline.0.parts.1": "",
	}},
	{"part-id-in-two-messages", map[int]string{4: "part-upserted m1 p 1/0", 5: "part-upserted m2 p 1/0"}, map[string]string{
		"timeline.0.parts.0.text": `"a1"`, "timeline.1.parts.0.text": `"c"`,
		"timeline.1.parts.0.messageId": `"m2"`,
	}},
	{"part-opens-shell", map[int]string{0: "message-upserted m1 t1, part-upserted m1 p1 4/0", 1: ""}, map[string]string{
		"timeline.0.role": `"assistant"`, "timeline.0.outputIndex": "4", "timeline.0.startedAt": "1700000000001",
		"timeline.0.parentToolCallId": "", "timeline.0.model": "", "timeline.0.parts.0.parentToolCallId": `"c9"`,
	}},
	{"tool-snapshot-drops-input", nil, map[string]string{"toolInputJson": `{"a":"4","b":"2"}`}},
	{"delta-appends", map[int]string{
		3: "part-upserted m1 p1 8/9", 4: "part-upserted m1 p1 1/0", 5: "part-upserted m1 p2 1/0", 9: "part-upserted m1 p1 1/0",
	}, map[string]string{
		"timeline.0.parts.0": `{"id":"p1","messageId":"m1","sessionId":"s","state":"done","text":"abc!","type":"text"}`,
		"timeline.0.parts.1": `{"id":"p2","messageId":"m1","sessionId":"s","state":"streaming","text":"rst","time":{"start":1700000000001},"type":"reasoning"}`,
	}},
	{"delta-without-part", map[int]string{0: "", 2: "", 4: "", 6: "", 8: ""}, map[string]string{"toolInputJson": "{}"}},
	{"delta-empty", map[int]string{1: "part-upserted m1 p1 1/0", 2: "part-upserted m1 p1 1/0"}, map[string]string{
		"timeline.0.parts.0.text": `"a"`,
	}},
	{"delta-then-snapshot", nil, map[string]string{"timeline.0.parts.0.text": `"Bye"`}},
	{"deltas-interleaved", map[int]string{4: "delta-buffered c", 5: "part-upserted m1 a 1/0"}, map[string]string{
		"timeline.0.parts.0.text": `"12"`, "timeline.1.parts.0.text": `"12"`, "toolInputJson": `{"c":"124","d":"3"}`,
	}},
	{"tool-input-buffered", map[int]string{0: "delta-buffered p1", 4: "delta-buffered p2", 5: "delta-buffered p3"}, map[string]string{
		"toolInputJson": `{"p1":"{\"a\":1}","p2":"x","p3":""}`, "timeline": "[]",
	}},
	{"unknown-part-wrapped", map[int]string{1: "part-upserted m1 p2 1/1", 2: "part-upserted m1 p2 1/1"}, map[string]string{
		"timeline.0.parts.0": `{"_meta":{"k":1},"id":"p1","messageId":"m1","parentToolCallId":"c9",` +
			`"raw":{"_meta":{"k":1},"entries":[{"content":"a","status":"pending"}],"id":"p1","messageId":"m1","parentToolCallId":"c9","raw":"own","sessionId":"s","type":"plan"},` +
			`"sessionId":"s","type":"plan"}`,
		"timeline.0.parts.1": `{"id":"p2","messageId":"m1","raw":{"id":"p2","messageId":"m1","sessionId":"s","type":"future"},"sessionId":"s","type":"future"}`,
		"timeline.0.parts.2": "",
	}},
}
