package acp

import "testing"

// TestPlans: the whole plan each time, under one key, in the words of the wire.
func TestPlans(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, entries, want string }{
		{"none", `[]`, `{"type":"plan","entries":[]}`},
		{"three", `[{"content":"a","priority":"high","status":"completed"},{"content":"b","priority":"low","status":"in_progress"},{"content":"c","status":"pending"}]`,
			`{"type":"plan","entries":[{"content":"a","status":"completed","priority":"high"},{"content":"b","status":"in_progress","priority":"low"},{"content":"c","status":"pending"}]}`},
		{"a status of the future", `[{"content":"a","status":"postponed"}]`, `{"type":"plan","entries":[{"content":"a","status":"pending"}]}`},
		{"members of a wrong type", `[{"content":7,"status":{}},"x"]`, `{"type":"plan","entries":[{"content":"","status":"pending"}]}`},
		{"no list", `"x"`, `{"type":"plan","entries":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.update(`{"sessionUpdate":"plan","entries":` + tt.entries + `}`)
			expect(t, "told", story(f.updates), "plan = plan "+tt.want)
		})
	}
}

// TestPlanBetweenTurns has no turn to stand in.
func TestPlanBetweenTurns(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	f.update(`{"sessionUpdate":"plan","entries":[]}`)
	expect(t, "told", story(f.updates))
}
