package demoagent

import (
	"context"
	"io"
	"strings"
	"testing"
)

// TestSeed: the option goes before the environment, the environment before
// chance, and nothing unfit becomes part of an id.
func TestSeed(t *testing.T) {
	t.Setenv(SeedEnv, "fromenv")
	for given, want := range map[string]string{"": "fromenv", "0a": "0a"} {
		got, err := Options{Seed: given}.withDefaults()
		if err != nil || got.Seed != want {
			t.Errorf("seed %q became %q, %v", given, got.Seed, err)
		}
	}
	t.Setenv(SeedEnv, "Not-A-Seed")
	if err := Run(context.Background(), strings.NewReader(""), io.Discard, io.Discard, Options{}); err == nil {
		t.Error("an unfit seed was taken")
	}
}

// TestRandomSeed: without a seed two runs make different ids, and ids that a
// later run takes for the demo's.
func TestRandomSeed(t *testing.T) {
	t.Setenv(SeedEnv, "")
	var ids []string
	for range 2 {
		opts, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		a := newAgent(context.Background(), io.Discard, io.Discard, opts)
		ids = append(ids, a.beginSession("", "/").id)
	}
	if ids[0] == ids[1] {
		t.Errorf("two runs made the id %s", ids[0])
	}
	for _, id := range ids {
		if !sessionIDPattern.MatchString(id) {
			t.Errorf("the id %s would not be resumed", id)
		}
	}
}

// TestDefaults: the zero options can be used.
func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := Options{Seed: "s"}.withDefaults()
	if err != nil || got.Version != "dev" || got.Exit == nil || got.IgnoreSignals == nil {
		t.Errorf("defaults are %+v, %v", got, err)
	}
}
