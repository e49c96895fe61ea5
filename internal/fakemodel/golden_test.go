package fakemodel

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// The exact bytes on the wire. Everything is in them that a CLI may look at: ids, token
// counts, the order of events and where a stream is cut into pieces.
func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for name, prompt := range map[string]string{
		"hello":     "hello",
		"reasoning": `[[think]] [[text say="The answer is 42."]]`,
		"tool":      `[[text say="I will run it."]] [[tool name=Bash input={"command":"echo hi"}]]`,
		"parallel":  `[[tool name=Read input={"file_path":"/a"}]] [[tool name=Read input={"file_path":"/b"}]]`,
		"unknown":   `[[event]] [[text say=a pieces=1]] [[event type=content_block_delta data={"index":0,"delta":{"type":"odd"}}]]`,
		"error":     `[[text say=a pieces=1]] [[error status=529]]`,
		"refused":   `[[error status=401]]`,
		"usage":     `[[text say=a pieces=1]] [[usage input=1000 output=50 cache_read=200 cache_write=30]]`,
	} {
		body, err := io.ReadAll(post(bounded(t), t, srv, asks(prompt)).Body)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".sse"), body)
	}
}

// golden compares with a file, or rewrites it under -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s (-want +got):\n%s", path, cmp.Diff(string(want), string(got)))
	}
}
