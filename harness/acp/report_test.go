package acp

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// infos are what was told of the session itself.
func infos(updates []harness.Update) []harness.SessionInfo {
	var list []harness.SessionInfo
	for _, u := range updates {
		if u, is := u.(harness.SessionInfo); is {
			list = append(list, u)
		}
	}
	return list
}

func wantInfos(t *testing.T, f *fake, want ...harness.SessionInfo) {
	t.Helper()
	if diff := cmp.Diff(want, infos(f.updates)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.forget()
}

func objects(list ...string) []protocol.Object {
	var out []protocol.Object
	for _, o := range list {
		out = append(out, protocol.Object(o))
	}
	return out
}

// TestSessionInfo: what an agent tells of the session is told on, in a turn and
// between turns.
func TestSessionInfo(t *testing.T) {
	t.Parallel()
	modes := objects(`{"id":"default"}`, `{"id":"plan"}`)
	f := openedWith(t, Agent{}, `,`+calmModes+`,"configOptions":[`+modelOption+`]`, nil)
	f.begin(config())
	opened := harness.SessionInfo{Mode: new("default"), Modes: modes, Model: new("a")}
	wantInfos(t, f, opened, opened) // as opened, and with the mode set
	f.update(`{"sessionUpdate":"session_info_update","title":"A title","updatedAt":"2026-11-30T19:04:26.773Z"}`,
		`{"sessionUpdate":"session_info_update","updatedAt":"2026-11-30T19:04:27.773Z"}`)
	wantInfos(t, f, harness.SessionInfo{Title: new("A title")})
	f.update(`{"sessionUpdate":"current_mode_update","currentModeId":"plan"}`)
	wantInfos(t, f, harness.SessionInfo{Mode: new("plan"), Modes: modes, Model: new("a")})
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	f.update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","input":null},7]}`,
		`{"sessionUpdate":"available_commands_update","availableCommands":[]}`, `{"sessionUpdate":"available_commands_update"}`)
	wantInfos(t, f, harness.SessionInfo{Commands: objects(`{"name":"compact","input":null}`)}, harness.SessionInfo{Commands: []protocol.Object{}})
	f.update(`{"sessionUpdate":"config_option_update","configOptions":[{"id":"model","category":"model","currentValue":"b"}]}`)
	wantInfos(t, f, harness.SessionInfo{Mode: new("plan"), Modes: modes, Model: new("b")})
}

// TestLaw180_replayIsNoNews: nothing of an old session's history is shown, by whatever
// way it was opened; how the session stands is.
func TestLaw180_replayIsNoNews(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"load", "resume"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			can := map[string]string{"load": `"loadSession":true`, "resume": `"sessionCapabilities":{"resume":{}}`}[way]
			f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config(), Resume: session}, map[string]string{
				"initialize": `"result":{"protocolVersion":1,"agentCapabilities":{` + can + `}}`})
			f.begin(config())
			f.update(chunkOf("user_message_chunk", "", "an old question"), say("msg-old-1", "an old answer"), toolIs("c", "completed"),
				`{"sessionUpdate":"session_info_update","title":"Before"}`, `{"sessionUpdate":"session_info_update","title":"Now"}`,
				`{"sessionUpdate":"plan","entries":[{"content":"old","status":"pending"}]}`,
				`{"sessionUpdate":"usage_update","used":7,"cost":{"amount":2,"currency":"USD"}}`,
				`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact"}]}`)
			if len(f.updates) > 0 {
				t.Errorf("told while it was opened: %q", story(f.updates))
			}
			f.answer("session/"+way, `"result":{}`)
			f.update(say("msg-old-1", " and its tail"), toolIs("c", "completed"))
			expect(t, "told", story(f.updates), "Created{NativeID:s-1 Resumed:true}", "PromptWritten{}", "Registered{}",
				told(f.updates[len(f.updates)-1]))
			if u, is := first[harness.Usage](f.updates); !is || u.Used != 7 {
				t.Errorf("no gauge: %q", story(f.updates))
			}
			f.update(`{"sessionUpdate":"usage_update","used":8,"cost":{"amount":3,"currency":"USD"}}`)
			f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
			if end, _ := first[harness.Finished](f.updates); end.Cost == nil || *end.Cost != 1 {
				t.Errorf("the turn cost %v", end.Cost)
			}
		})
	}
}
