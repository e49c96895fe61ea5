package rpcline

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCallsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	var c Calls[string]
	first, second := c.Add("first"), c.Add("second")
	if first != 1 || second != 2 || c.Open() != 2 {
		t.Fatalf("ids %d, %d with %d open; want 1, 2 with 2", first, second, c.Open())
	}
	if then, ok := c.Take(jsontext.Value("2")); !ok || then != "second" {
		t.Errorf("answer 2 is %q, %v", then, ok)
	}
	if then, ok := c.Take(jsontext.Value("2")); ok {
		t.Errorf("a second answer 2 is %q", then)
	}
	c.Forget(first)
	if then, ok := c.Take(jsontext.Value("1")); ok || c.Open() != 0 {
		t.Errorf("the answer to what was forgotten is %q, with %d open", then, c.Open())
	}
}

func TestCallsKnowTheirOwnIDsAlone(t *testing.T) {
	t.Parallel()
	var c Calls[int]
	if _, ok := c.Take(jsontext.Value("0")); ok {
		t.Error("an answer before any request is taken")
	}
	c.Add(5)
	for _, id := range []string{"", "null", "0", `"1"`, "1.0", "-1", "2", "[1]", "true"} {
		if _, ok := c.Take(jsontext.Value(id)); ok {
			t.Errorf("id %s is taken for 1", id)
		}
	}
	if c.Open() != 1 {
		t.Errorf("%d open, want 1", c.Open())
	}
}
