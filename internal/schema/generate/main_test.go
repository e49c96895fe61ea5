package main

import (
	"os"
	"path/filepath"
	"testing"

	"agent-server/internal/schema"
)

// TestGenerate writes what is published, over what stands there.
func TestGenerate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stale := filepath.Join(dir, "openrpc.json")
	if err := os.WriteFile(stale, []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := generate("../../..", dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{
		"events.schema.json": schema.Events(), "methods.schema.json": schema.Methods(), "openrpc.json": schema.OpenRPC(),
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, %d bytes of %d", name, err, len(got), len(want))
		}
	}
}

func TestGenerateFails(t *testing.T) {
	t.Parallel()
	if err := generate(t.TempDir(), t.TempDir()); err == nil {
		t.Error("documents were made without sources")
	}
	if err := generate("../../..", filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Error("documents were written into a directory that does not exist")
	}
}
