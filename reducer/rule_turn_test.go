package reducer

var turnRules = []rule{
	{"turn-started-again", map[int]string{0: "turn-updated t1", 1: "", 3: ""}, map[string]string{
		"turns.0.status": `"ended"`, "turns.0.startedAt": "1700000000001", "turns.0.endedAt": "1700000000003", "turns.1": "",
	}},
	{"turn-ended-unknown", map[int]string{2: "turn-updated t1, part-upserted m1 p1 1/0", 3: ""}, map[string]string{
		"turns.0": `{"endedAt":1700000000003,"error":{"category":"auth","message":"no"},"errors":[],"finishReason":"raw word","startedAt":1700000000003,"status":"ended","stopReason":"error","turnId":"t1"}`,
	}},
	{"turn-ended-twice", map[int]string{1: "turn-updated t1, usage-updated", 2: ""}, map[string]string{
		"turns.0.stopReason": `"end_turn"`, "totals.input": "1", "totalCost": "1",
	}},
	{"turn-ended-order", map[int]string{
		8: "turn-updated t1, permission-updated r1, permission-updated r2, usage-updated, part-upserted m1 early 1/1, part-upserted m2 late 2/0",
	}, nil},
	{"turn-ended-any-reason", map[int]string{
		23: "turn-updated t0, part-upserted m0 a 1/0", 24: "turn-updated t1, part-upserted m1 a 1/0", 25: "turn-updated t2, part-upserted m2 a 1/0",
		26: "turn-updated t3, part-upserted m3 a 1/0", 27: "turn-updated t4, part-upserted m4 a 1/0",
		28: "turn-updated t5, part-upserted m5 a 1/0", 29: "turn-updated t6, part-upserted m6 a 1/0",
	}, map[string]string{
		"timeline.0.parts.0.state.status": `"cancelled"`, "timeline.0.parts.1.state.status": `"completed"`,
		"timeline.6.parts.0.state.status": `"cancelled"`, "timeline.7.parts.0.state.status": `"in_progress"`,
		"turns.6.stopReason": `"_odd"`,
	}},
	{"totals-summed", map[int]string{4: "turn-updated t5, usage-updated"}, map[string]string{
		// 0.1 + 0.2 as doubles add up; so does the cost.
		"totals":               `{"cache":{"read":3,"write":10,"writeEphemeral1h":1,"writeEphemeral5m":5.5},"input":0.30000000000000004,"output":3,"reasoning":1}`,
		"totalCost":            "0.6000000000000001",
		"turns.3.tokens.cache": `{"read":0,"write":1,"writeEphemeral1h":1,"writeEphemeral5m":0.5}`,
	}},
	{"tokens-defaults", nil, map[string]string{
		"turns.0.tokens": `{"input":0,"output":0}`, "turns.1.tokens": `{"input":0,"output":1}`,
		"turns.2.tokens": `{"cache":{"read":0,"write":0},"input":0,"output":0}`,
		"totals":         `{"cache":{"read":0,"write":0},"input":0,"output":1,"reasoning":0}`,
	}},
	{"usage-updated-only-with-figures", map[int]string{
		0: "turn-updated t1", 1: "turn-updated t2, usage-updated", 2: "turn-updated t3, usage-updated",
	}, map[string]string{"totalCost": "0"}},
	{"close-pending-input", nil, map[string]string{
		"timeline.0.parts.0.state": `{"_meta":{"agent-server/partialInput":"{\"snap"},"input":{},"status":"cancelled","time":{"end":1700000000011,"start":1700000000011}}`,
		"timeline.0.parts.1.state": `{"_meta":{"agent-server/partialInput":"{\"built"},"input":{},"status":"cancelled","time":{"end":1700000000011,"start":1700000000011}}`,
		"timeline.0.parts.2.state": `{"input":{},"status":"cancelled","time":{"end":1700000000011,"start":1700000000011}}`,
		"timeline.0.parts.3.state": `{"input":{},"status":"cancelled","time":{"end":1700000000011,"start":1700000000011}}`,
	}},
	{"close-in-progress", nil, map[string]string{
		"timeline.0.parts.0": `{"id":"p1","kind":"edit","locations":[{"line":2,"path":"/a"}],"messageId":"m1","sessionId":"s",` +
			`"state":{"input":{"q":1},"status":"cancelled","time":{"end":1700000000004,"start":1700000000003}},"title":"part's","toolCallId":"c1","toolName":"Bash","type":"tool"}`,
	}},
	{"close-keeps-meta", nil, map[string]string{
		"timeline.0.parts.0.state._meta": "{}", "timeline.0.parts.1.state._meta": `{"z":[1]}`,
		"timeline.0.parts.2.state._meta": `{"agent-server/partialInput":"x","z":{"y":2}}`,
		"timeline.0.parts.3.state._meta": "{}",
		"timeline.0.parts.4.state._meta": `{"agent-server/partialInput":"new","z":1}`,
	}},
	{"close-keeps-tool-input", map[int]string{4: "delta-buffered p1"}, map[string]string{
		"toolInputJson": `{"p1":"{\"after"}`, "timeline.0.parts.0.state._meta": `{"agent-server/partialInput":"{\"a"}`,
	}},
	{"late-tool-closed-again", map[int]string{4: "part-upserted m1 p1 3/4, part-upserted m1 p1 1/0"}, map[string]string{
		"timeline.0.parts.0.state": `{"_meta":{"agent-server/partialInput":"{\"late"},"input":{},"status":"cancelled","time":{"end":1700000000050,"start":1700000000050}}`,
		"toolInputJson":            "{}",
	}},
	{"late-tool-closes-all", map[int]string{6: "part-upserted m1 y 7/7, part-upserted m1 x 1/0, part-upserted m1 y 1/1"}, map[string]string{
		"timeline.0.parts.0.state.time": `{"end":1700000000050,"start":1700000000005}`,
		"timeline.0.parts.1.state.time": `{"end":1700000000050,"start":1700000000005}`,
		// The other message belongs to the turn that still runs.
		"timeline.1.parts.0.state.status": `"in_progress"`,
	}},
	{"late-tool-of-another-turn", map[int]string{4: "part-upserted m2 x 1/0", 5: "turn-updated t2, part-upserted m2 x 1/0"}, map[string]string{
		"timeline.0.parts.0.state.time.end": "1700000000006",
	}},
	{"late-terminal-tool-closes-nothing", map[int]string{5: "part-upserted m1 y 1/0"}, map[string]string{
		"timeline.0.parts.0.state.status": `"in_progress"`, "timeline.0.parts.1.state.status": `"completed"`,
	}},
	{"permission-requested-again", map[int]string{0: "permission-updated r1", 1: "", 2: "permission-updated r1", 3: ""}, map[string]string{
		"permissions.0.toolCall": `{"kind":"execute","locations":[{"path":"/a"}],"rawInput":{"command":"ls"},"title":"Run ls","toolCallId":"c1","toolName":"Bash"}`,
		"permissions.0.turnId":   `"t1"`, "permissions.0.requestedAt": "1700000000001", "permissions.0.options.1.optionId": `"n"`,
		"permissions.0.outcome": `{"optionId":"y","outcome":"selected"}`, "permissions.1": "",
	}},
	{"permission-resolved-early", map[int]string{0: "", 1: "permission-updated r1"}, map[string]string{
		"permissions.0.outcome": "", "permissions.0.resolvedAt": "",
	}},
	{"permission-resolved-again", map[int]string{1: "permission-updated r1", 2: ""}, map[string]string{
		"permissions.0.outcome":    `{"optionId":"y","outcome":"selected","updatedInput":{"a":2,"b":1}}`,
		"permissions.0.resolvedAt": "1700000000002",
	}},
	{"permission-cancelled-by-end", map[int]string{5: "turn-updated t1, permission-updated r2", 6: ""}, map[string]string{
		"permissions.0.outcome.outcome": `"selected"`, "permissions.1.outcome": `{"outcome":"cancelled"}`,
		"permissions.1.resolvedAt": "1700000000006", "permissions.2.outcome": "", "permissions.3.outcome": "",
	}},
	{"scenario-subagents", map[int]string{35: "compaction-upserted k1"}, map[string]string{
		"timeline.1.parts.0.text": `"hm ok"`, "timeline.1.parts.1.state.output": `"found"`, "timeline.2.parentToolCallId": `"c1"`,
		"timeline.3.parts.0.type": `"plan"`, "timeline.5.compactionId": `"k1"`, "timeline.6.parts.0.state.status": `"cancelled"`,
		"totals.input": "11", "toolInputJson": "{}", "resumed": "true", "turns.1.errors.0.message": `"gone"`,
	}},
}
