package e2e

// geminiScenarios are for the real Gemini CLI, whose model is the fake one.
var geminiScenarios = []scenario{
	{
		name:  "hello",
		about: "A text of four deltas.",
		play:  func(c *chat) { c.say(`[[text say="one two three four" pieces=4]]`) },
		story: []string{"text: one two three four", "ended end_turn"},
	},
}
