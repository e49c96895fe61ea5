package fakemodel

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var unexported = cmp.AllowUnexported(script{}, reply{}, usage{}, speech{}, call{}, more{}, seal{},
	stall{}, cut{}, event{}, failure{}, member{})

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		prompt string
		want   script
	}{
		{"please [[text]] now", script{replies: []reply{say(DefaultText, 4)}}},
		{`[[text say="a]]\n" repeat=2 pieces=1]]`, script{replies: []reply{say("a]]\na]]\n", 1)}}},
		{`[[text say=bare]]`, script{replies: []reply{say("bare", 4)}}},
		{`[[tool name=Read input={"a":[[1]]}]]`, one(call{"Read", `{"a":[[1]]}`, 3})},
		{`[[tool raw="{" pieces=1]][[more raw=x]]`, one(call{"Bash", "{", 1}, more{"x", 1})},
		{`[[tool]] [[stall]] [[more]]`, one(call{"Bash", "{}", 3}, stall{DefaultGate}, more{"", 1})},
		{`[[block]][[stall gate=g]][[cut times=2]]`, one(seal{}, stall{"g"}, cut{2})},
		{`[[event type=ping data={}]]`, one(event{name: "ping"})},
		{`[[error status=429 type=odd message="m n" retry_after=2 times=1]]`,
			one(failure{429, "odd", "m n", "2", 1})},
		{`[[event data={"b":1,"a":[2]}]]`,
			one(event{"fake_event", object{{"b", json.RawMessage("1")}, {"a", json.RawMessage("[2]")}}})},
		{"[[error]]", one(failure{status: 500, message: "scripted error"})},
		{"[[stop reason=refusal]][[usage input=1 output=2 cache_read=3 cache_write=4]]",
			script{replies: []reply{{stop: "refusal", usage: usage{1, 2, 3, 4}}}}},
		{"[[text]][[then]][[text say=b]][[repeat]]",
			script{replies: []reply{say(DefaultText, 4), say("b", 4)}, repeats: true}},
		{"if [[ -f x ]] then", one()},
	} {
		got, err := parse(tc.prompt)
		if err != nil {
			t.Errorf("%s: %v", tc.prompt, err)
		}
		if diff := cmp.Diff(tc.want, got, unexported); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.prompt, diff)
		}
	}
}

// one is the script of a single reply.
func one(steps ...step) script { return script{replies: []reply{{steps: steps, usage: defaultUsage}}} }

// A script that does not mean anything is refused, with a text that says where.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for prompt, reason := range map[string]string{
		"[[nope]]":                          "nope: there is no such marker",
		"[[text":                            "want key=value or ]]",
		"[[text say]]":                      "want key=value or ]]",
		"[[text said=x]]":                   `unknown keys ["said"]`,
		`[[text say="x]]`:                   "value of say",
		"[[text pieces=many]]":              "pieces",
		"[[text repeat=-1]]":                "-1 is below 0",
		"[[text repeat=99999999999]]":       "text of more than",
		"[[tool input=[1]]]":                "input: no JSON object",
		"[[event data=x]]":                  "data: no JSON object",
		`[[event data={"type":"x"}]]`:       "data holds a type",
		"[[error status=200]]":              "between 400 and 599",
		"[[more raw=x]]":                    "no tool call is open",
		"[[tool]][[text]][[more raw=x]]":    "no tool call is open",
		"[[tool]][[then]][[more raw=x]]":    "no tool call is open",
		"[[text]] [[tool name=A name=B x]]": "want key=value or ]]",
	} {
		_, err := parse(prompt)
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: error %v, want %q", prompt, err, reason)
		}
	}
}

// A prompt comes from outside; whatever it holds, parsing ends.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "[[", "[[text]]", `[[tool input={"a":[[1]]}]]`, `[[text say="`, "[[a b=c d=e", "[[error status=]]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		s, err := parse(prompt)
		if err == nil && len(s.replies) == 0 {
			t.Error("a script without a reply")
		}
		if err == nil && !hasMarker(prompt) && len(s.replies[0].steps) > 0 {
			t.Error("steps from nowhere")
		}
	})
}
