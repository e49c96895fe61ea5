package fakemodel

import "testing"

const reminder = "<system-reminder>\n[[error]]\n</system-reminder>"

// Which prompt decides, and which round it is in, in the shapes CLIs send.
func TestLocate(t *testing.T) {
	t.Parallel()
	user := func(texts ...string) message { return message{role: "user", texts: texts} }
	results := func(texts ...string) message { return message{role: "user", texts: texts, results: true} }
	model := message{role: "assistant", texts: []string{"[[text say=no]]"}}
	for name, tc := range map[string]struct {
		messages []message
		prompt   string
		round    int
	}{
		"nothing":                   {nil, "", 0},
		"one prompt":                {[]message{user("[[text]]")}, "[[text]]", 0},
		"reminder before":           {[]message{user(reminder, "a")}, "a", 0},
		"reminder after":            {[]message{user("a", reminder)}, "a", 0},
		"note of an image":          {[]message{user("a", "[Image: source: /tmp/1.png]")}, "a", 0},
		"system message behind":     {[]message{user("a"), {role: "system", texts: []string{"env"}}}, "a", 0},
		"after a tool":              {[]message{user("a"), model, results()}, "a", 1},
		"after two tools":           {[]message{user("a"), model, results(), model, results()}, "a", 2},
		"note beside a result":      {[]message{user("a"), model, results("note")}, "a", 1},
		"script beside a result":    {[]message{user("a"), model, results("[[text]]")}, "[[text]]", 0},
		"reminder message":          {[]message{user("a"), model, user(reminder)}, "a", 1},
		"newer prompt":              {[]message{user("[[text]]"), model, user("hi")}, "hi", 0},
		"prompts whose turn failed": {[]message{user("[[error]]\n", "hi")}, "hi", 0},
		"empty text":                {[]message{user("a"), user(" ")}, "a", 0},
	} {
		var e exchange
		e.locate(tc.messages)
		if e.prompt != tc.prompt || e.round != tc.round || e.length != len(tc.messages) {
			t.Errorf("%s: prompt %q round %d length %d", name, e.prompt, e.round, e.length)
		}
	}
}

// Ids say where in a conversation an answer stands; the session plays no part in them.
func TestIDs(t *testing.T) {
	t.Parallel()
	here := exchange{prompt: "p", round: 1, length: 3, session: "s"}
	seen := map[string]bool{here.id(0): true, here.id(1): true}
	for _, other := range []exchange{
		{prompt: "q", round: 1, length: 3}, {prompt: "p", round: 2, length: 3}, {prompt: "p", round: 1, length: 4},
	} {
		seen[other.id(0)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d ids for 5 places", len(seen))
	}
	elsewhere := here
	elsewhere.session = "t"
	if here.id(0) != elsewhere.id(0) || here.key() == elsewhere.key() {
		t.Error("the session has to separate attempts and not ids")
	}
}

func TestSmallAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ex   exchange
		want string
	}{
		{exchange{prompt: "hello"}, DefaultText},
		{exchange{prompt: "Hi", side: true}, DefaultText},
		{exchange{prompt: "Write a title for [[stall]]", side: true}, "Fake title"},
		{exchange{prompt: "what is the title?"}, DefaultText},
		{exchange{prompt: "a title", side: true, schema: `{"type":"boolean"}`}, "false"},
		{exchange{prompt: "put it in <summary> tags"}, "<summary>Fake summary of the conversation so far.</summary>"},
	} {
		rep, err := tc.ex.answer()
		if got := rep.steps[0].(speech).say; got != tc.want || err != nil {
			t.Errorf("%+v: %q, %v; want %q", tc.ex, got, err, tc.want)
		}
	}
}
