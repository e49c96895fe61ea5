package e2e

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"agent-server/protocol"
)

// agentCall has Claude Code start a sub-agent in the background, whose model waits
// at the gate of its name before it runs a command that is asked for.
func agentCall(name string) string {
	return `[[tool name=Agent input={"description":"Look at ` + name + `","subagent_type":"general-purpose",` +
		`"prompt":"[[stall gate=` + name + `]] [[tool input={\"command\":\"touch ` + name + `\"}]]"}]] `
}

// claudeFurther are scenarios that other harnesses need not have.
var claudeFurther = []scenario{
	{
		name: "background_agent",
		about: "A sub-agent in the background: the turn that started it ends, what it says and asks opens a harness turn, " +
			"in which the main agent then tells of it.",
		play: func(c *chat) {
			c.start(agentCall("one") + `[[then]] [[text say="It looks."]]`)
			c.rest("")
			c.stalled("one")
			c.place.srv.Release("one")
			c.rest(protocol.AllowOnce)
			c.wantFile("one", true)
		},
		story: []string{"Agent completed: Async agent launched successfully.…", "text: It looks.", "ended end_turn",
			"Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_once", "text: Done.", "text: Done.", "ended end_turn"},
	},
	{
		name:  "two_background_agents",
		about: "Two sub-agents in the background, which end one after the other: the main agent is woken twice.",
		play: func(c *chat) {
			c.start(agentCall("one") + agentCall("two") + `[[then]] [[text say="They look."]]`)
			c.rest("")
			for _, gate := range []string{"one", "two"} {
				c.stalled(gate)
				c.place.srv.Release(gate)
				c.rest(protocol.AllowOnce)
				c.wantFile(gate, true)
			}
		},
		story: []string{"Agent completed: Async agent launched successfully.…", "Agent completed: Async agent launched successfully.…",
			"text: They look.", "ended end_turn",
			"Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_once", "text: Done.", "text: Done.", "ended end_turn",
			"Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_once", "text: Done.", "text: Done.", "ended end_turn"},
	},
	{
		name:  "retry_then_ok",
		about: "The model's API is overloaded once; the CLI tries again, and says so.",
		play:  func(c *chat) { c.say(`[[error status=529 times=1]] [[text say="Recovered."]]`) },
		story: []string{"error _upstream", "text: Recovered.", "ended end_turn"},
	},
	{
		name:  "stream_cut",
		about: "A stream is cut in the middle of a text: what was shown is taken back, and the answer of the second try stands.",
		play: func(c *chat) {
			c.start(`[[text say="one two"]] [[stall gate=seen]] [[cut times=1]] [[text say=" three"]]`)
			c.until(textSeen)
			c.place.srv.Release("seen")
			c.rest("")
		},
		story: []string{"text: one two", "error network", "text: one two three", "ended end_turn"},
	},
	{
		name:  "plan_exit",
		about: "In plan mode a plan is shown and approved: the CLI leaves plan mode, and the next turn is in plan mode again, as its config says.",
		play: func(c *chat) {
			c.config.PermissionMode = protocol.ModePlan
			c.start(`[[tool name=ExitPlanMode input={"plan":"1. Do it."}]] [[then]] [[text say="Approved."]]`)
			c.rest(protocol.AllowOnce)
			c.say(after)
		},
		story: []string{"ExitPlanMode completed: User has approved exiting plan mode.…", "asks ExitPlanMode", "answered allow_once", "text: Approved.", "ended end_turn",
			"text: and after", "ended end_turn"},
	},
	{
		name:  "ask_user",
		about: "The model asks the user a question; the answer goes back in the tool's updated input.",
		play: func(c *chat) {
			const questions = `"questions":[{"question":"Which one?","header":"Choice","multiSelect":false,` +
				`"options":[{"label":"Left","description":"The left one"},{"label":"Right","description":"The right one"}]}]`
			c.start(`[[tool name=AskUserQuestion input={` + questions + `}]] [[then]] [[text say="Right it is."]]`)
			c.answer(c.asked(), protocol.AllowOnce, `{`+questions+`,"answers":{"Which one?":"Right"}}`)
			c.rest("")
		},
		story: []string{`AskUserQuestion completed: …`, "asks AskUserQuestion", "answered allow_once", "text: Right it is.", "ended end_turn"},
	},
	{
		name:  "big_output",
		about: "A command that prints more than the CLI hands on: what is shown is its beginning, and where the rest lies.",
		play: func(c *chat) {
			c.start(`[[tool name=Bash input={"command":"seq 1 20000","description":"Count"}]] [[then]] [[text say="Counted."]]`)
			c.rest(protocol.AllowOnce)
		},
		story: []string{"Bash completed: …", "text: Counted.", "ended end_turn"},
	},
	{
		name:  "image",
		about: "An image in the prompt, and one that a tool reads: both reach the model, the second is shown.",
		play: func(c *chat) {
			data := dot()
			if err := os.WriteFile(filepath.Join(c.place.cwd, "dot.png"), data, 0o644); err != nil {
				c.t.Fatal(err)
			}
			text := strings.ReplaceAll(`[[tool name=Read input={"file_path":"DIR/dot.png"} pieces=1]] [[then]] [[text say="Two dots."]]`, "DIR", c.place.cwd)
			encoded := base64.StdEncoding.EncodeToString(data)
			c.startWith(protocol.TurnStartParams{Input: protocol.Input{Items: []protocol.InputItem{
				{Type: protocol.InputImage, MimeType: "image/png", Data: &encoded}, {Type: protocol.InputText, Text: text},
			}}})
			c.rest("")
			c.remembers(encoded, true)
			c.shown(encoded)
		},
		story: []string{"Read completed: [image image/png]", "text: Two dots.", "ended end_turn"},
	},
}

// dot is the smallest picture there is.
func dot() []byte {
	img := image.NewGray(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// shown wants a tool to have shown a picture.
func (c *chat) shown(data string) {
	c.t.Helper()
	for _, ev := range c.events {
		part, ok := ev.(*protocol.MessagePart)
		if !ok {
			continue
		}
		tool, ok := part.Part.(*protocol.ToolPart)
		if !ok {
			continue
		}
		if done, ok := tool.State.(*protocol.CompletedState); ok {
			for _, content := range done.Content {
				if img, ok := content.(*protocol.ImageContent); ok && img.Data == data {
					return
				}
			}
		}
	}
	c.t.Error("no tool has shown the picture")
}
