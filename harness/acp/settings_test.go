package acp

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// What agents list of their settings.
const (
	claudeModes = `"modes":{"currentModeId":"auto","availableModes":[{"id":"default","name":"Manual"},` +
		`{"id":"acceptEdits","name":"Accept edits"},{"id":"plan","name":"Plan"},{"id":"auto","name":"Auto"},{"id":"bypassPermissions","name":"Bypass"}]}`
	calmModes    = `"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]}`
	modeOption   = `{"id":"mode","category":"mode","type":"select","currentValue":"build","options":[{"value":"build","name":"build"},{"value":"plan","name":"plan"}]}`
	modelOption  = `{"id":"model","category":"model","type":"select","currentValue":"a","options":[{"value":"a","name":"Model A"},{"value":"b","name":"Model B"}]}`
	effortOption = `{"id":"effort","category":"thought_level","type":"select","currentValue":"medium","options":[{"value":"low","name":"Low"},` +
		`{"value":"medium","name":"Medium"},{"value":"max","name":"Max"}]}`
	legacyModels = `"models":{"currentModelId":"auto","availableModels":[{"modelId":"auto","name":"Auto"},{"modelId":"g-3","name":"G three"}]}`
)

func setMode(id string) string { return `session/set_mode {"sessionId":"s-1","modeId":"` + id + `"}` }
func setOption(id, value string) string {
	return `session/set_config_option {"sessionId":"s-1","configId":"` + id + `","value":"` + value + `"}`
}
func setModel(id string) string {
	return `session/set_model {"sessionId":"s-1","modelId":"` + id + `"}`
}

// opened gives a fake whose session lists settings, all of which can be set.
func openedWith(t *testing.T, a Agent, settings string, answers map[string]string) *fake {
	t.Helper()
	all := map[string]string{
		"session/new":               `"result":{"sessionId":"s-1"` + settings + `}`,
		"session/set_mode":          `"result":{}`,
		"session/set_model":         `"result":{}`,
		"session/set_config_option": `"result":{}`,
	}
	for method, answer := range answers {
		all[method] = answer
	}
	a.ID = "agent"
	return newFake(t, a, harness.Launch{Config: config()}, all)
}

func TestSettingsBeforeThePrompt(t *testing.T) {
	t.Parallel()
	mode := func(m protocol.PermissionMode) func(*protocol.RunConfig) {
		return func(c *protocol.RunConfig) { c.PermissionMode = m }
	}
	model := func(name string) func(*protocol.RunConfig) { return func(c *protocol.RunConfig) { c.Model = &name } }
	thinking := func(l protocol.ThinkingLevel) func(*protocol.RunConfig) {
		return func(c *protocol.RunConfig) { c.ThinkingLevel = l }
	}
	nothing := func(*protocol.RunConfig) {}
	options := func(o string) string { return `,"configOptions":[` + o + `]` }
	noMode := "rejected invalid_request: config.permissionMode: the agent has no mode "
	tests := []struct {
		name     string
		agent    Agent
		settings string
		change   func(*protocol.RunConfig)
		sent     []string
		rejected string
	}{
		{"absent mode is default, never the agent's own", Agent{}, "," + claudeModes, nothing, []string{setMode("default"), prompted}, ""},
		{"default", Agent{}, "," + claudeModes, mode(protocol.ModeDefault), []string{setMode("default"), prompted}, ""},
		{"default that seems to be in force", Agent{}, "," + calmModes, nothing, []string{setMode("default"), prompted}, ""},
		{"camelCase", Agent{}, "," + claudeModes, mode(protocol.ModeAcceptEdits), []string{setMode("acceptEdits"), prompted}, ""},
		{"bypass", Agent{}, "," + claudeModes, mode(protocol.ModeBypassPermissions), []string{setMode("bypassPermissions"), prompted}, ""},
		{"no such mode", Agent{}, "," + claudeModes, mode(protocol.ModeDontAsk), nil, noMode + "dont_ask"},
		{"by its name", Agent{}, `,"modes":{"currentModeId":"x:1","availableModes":[{"id":"x:1","name":"Agent"},{"id":"x:2","name":"Accept Edits"}]}`,
			mode(protocol.ModeAcceptEdits), []string{setMode("x:2"), prompted}, ""},
		{"snake_case", Agent{}, `,"modes":{"currentModeId":"a","availableModes":[{"id":"a"},{"id":"dont_ask"}]}`,
			mode(protocol.ModeDontAsk), []string{setMode("dont_ask"), prompted}, ""},
		{"by the operator's word", Agent{Modes: map[protocol.PermissionMode]string{protocol.ModeBypassPermissions: "yolo"}},
			`,"modes":{"currentModeId":"a","availableModes":[{"id":"a"},{"id":"yolo"}]}`,
			mode(protocol.ModeBypassPermissions), []string{setMode("yolo"), prompted}, ""},
		{"no modes at all", Agent{}, "", mode(protocol.ModeDefault), []string{prompted}, ""},
		{"no modes at all, one is wanted", Agent{}, "", mode(protocol.ModePlan), nil, noMode + "plan"},
		{"mode as an option", Agent{}, options(modeOption), mode(protocol.ModePlan), []string{setOption("mode", "plan"), prompted}, ""},
		{"mode as an option, default unknown", Agent{}, options(modeOption), nothing, []string{prompted}, ""},
		{"model", Agent{}, options(modelOption), model("b"), []string{setOption("model", "b"), prompted}, ""},
		{"model by its name", Agent{}, options(modelOption), model("model b"), []string{setOption("model", "b"), prompted}, ""},
		{"model in force", Agent{}, options(modelOption), model("a"), []string{prompted}, ""},
		{"model not listed goes to the agent", Agent{}, options(modelOption), model("z"), []string{setOption("model", "z"), prompted}, ""},
		{"model of the older form", Agent{}, "," + legacyModels, model("g-3"), []string{setModel("g-3"), prompted}, ""},
		{"model without a choice", Agent{}, "", model("b"), []string{prompted}, ""},
		{"thinking", Agent{}, options(effortOption), thinking(protocol.ThinkingLow), []string{setOption("effort", "low"), prompted}, ""},
		{"thinking by another word", Agent{}, options(effortOption), thinking(protocol.ThinkingXHigh), []string{setOption("effort", "max"), prompted}, ""},
		{"thinking it has not", Agent{}, options(effortOption), thinking(protocol.ThinkingOff), []string{prompted}, ""},
		{"thinking without a choice", Agent{}, "", thinking(protocol.ThinkingLow), []string{prompted}, ""},
		{"all, one after another", Agent{}, "," + claudeModes + options(modelOption+","+effortOption), func(c *protocol.RunConfig) {
			model("b")(c)
			thinking(protocol.ThinkingLow)(c)
			mode(protocol.ModePlan)(c)
		}, []string{setOption("model", "b"), setOption("effort", "low"), setMode("plan"), prompted}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openedWith(t, tt.agent, tt.settings, nil)
			cfg := config()
			tt.change(&cfg)
			f.begin(cfg)
			expect(t, "written", append([]string(nil), f.sent()[2:]...), tt.sent...)
			told := story(f.updates)
			if tt.rejected != "" {
				expect(t, "told", told[1:], tt.rejected)
			}
			if f.process != harness.Keep {
				t.Errorf("process %v, want keep", f.process)
			}
		})
	}
}

func TestIgnoredSettingsAreNoted(t *testing.T) {
	t.Parallel()
	f := openedWith(t, Agent{}, "", nil)
	cfg := config()
	cfg.Model, cfg.ThinkingLevel = new("m"), protocol.ThinkingHigh
	f.begin(cfg)
	want := []harness.Diagnostic{
		{Message: ignoredMember, Detail: "model: the agent offers no choice"},
		{Message: ignoredMember, Detail: "thinkingLevel: the agent offers no choice"},
	}
	if diff := cmp.Diff(want, f.notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSettingThatTheAgentRefuses(t *testing.T) {
	t.Parallel()
	f := openedWith(t, Agent{}, ","+calmModes,
		map[string]string{"session/set_mode": `"error":{"code":-32603,"message":"Internal error","data":{"details":"not now"}}`})
	f.begin(config())
	expect(t, "told", story(f.updates)[1:],
		"rejected invalid_request: the agent refused config.permissionMode: Internal error: not now")
	if f.process != harness.Keep {
		t.Errorf("process %v, want keep", f.process)
	}
	f.forget()
	f.answers["session/set_mode"] = `"result":{}`
	f.begin(config())
	expect(t, "written in the next turn", f.sent(), setMode("default"), prompted)
}

func TestSettingsOfTheNextTurn(t *testing.T) {
	t.Parallel()
	f := openedWith(t, Agent{}, `,`+claudeModes+`,"configOptions":[`+modelOption+`,`+effortOption+`]`, nil)
	cfg := config()
	cfg.Model, cfg.ThinkingLevel, cfg.PermissionMode = new("b"), protocol.ThinkingLow, protocol.ModePlan
	next := func(c protocol.RunConfig, want ...string) {
		t.Helper()
		f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
		f.forget()
		f.begin(c)
		expect(t, "written", f.sent(), want...)
	}
	f.begin(cfg)
	next(cfg, prompted)
	next(config(), setOption("model", "a"), setOption("effort", "medium"), setMode("default"), prompted)
	f.update(`{"sessionUpdate":"current_mode_update","currentModeId":"acceptEdits"}`)
	next(config(), setMode("default"), prompted)
	f.update(`{"sessionUpdate":"config_option_update","configOptions":[{"id":"model","category":"model","currentValue":"b","options":[{"value":"a"},{"value":"b"}]}]}`)
	next(config(), setOption("model", "a"), prompted)
}

func TestModeOptionGoesBackToTheFirst(t *testing.T) {
	t.Parallel()
	f := openedWith(t, Agent{}, `,"configOptions":[`+modeOption+`]`, nil)
	cfg := config()
	cfg.PermissionMode = protocol.ModePlan
	f.begin(cfg)
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	f.begin(config())
	expect(t, "written", f.sent(), setOption("mode", "build"), prompted)
}

func TestOptionsInGroups(t *testing.T) {
	t.Parallel()
	f := openedWith(t, Agent{}, `,"configOptions":[{"id":"model","category":"model","currentValue":"a","options":[`+
		`{"group":"g","name":"G","options":[{"value":"a","name":"A"}]},{"group":"h","name":"H","options":[{"value":"h/b","name":"B"}]}]}]`, nil)
	cfg := config()
	cfg.Model = new("b")
	f.begin(cfg)
	expect(t, "written", f.sent()[2:], setOption("model", "h/b"), prompted)
}
