package schema

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"agent-server/protocol"
)

// judge says whether raw is valid; the error says why not.
type judge func(raw []byte) error

// judgeOf compiles one definition of a schema document. Compiling also holds the
// document to the meta-schema.
func judgeOf(t testing.TB, document []byte, def string) judge {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", parse(t, document)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json#/$defs/" + def)
	if err != nil {
		t.Fatalf("compiling %s: %v", def, err)
	}
	return judgedBy(s)
}

// rootOf compiles a document as it is.
func rootOf(t testing.TB, document []byte) judge {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", parse(t, document)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json")
	if err != nil {
		t.Fatal(err)
	}
	return judgedBy(s)
}

// componentOf compiles a component of the OpenRPC document, as draft 7.
func componentOf(t testing.TB, def string) judge {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource("openrpc.json", parse(t, OpenRPC())); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("openrpc.json#/components/schemas/" + def)
	if err != nil {
		t.Fatalf("compiling %s: %v", def, err)
	}
	return judgedBy(s)
}

func judgedBy(s *jsonschema.Schema) judge {
	return func(raw []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}

// parse reads JSON; numbers keep their spelling.
func parse(t rapid.TB, raw []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	return v
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// root is the root of the module.
const root = "../.."

// goldenFiles are all recorded and hand-made streams of the tree. Wire scripts are not
// among them: they hold placeholders, and have a test of their own.
func goldenFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, dir := range []string{"fixtures", "protocol/testdata", "echo/testdata"} {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "wire" {
				return fs.SkipDir
			}
			if err == nil && !d.IsDir() && strings.HasSuffix(name, ".jsonl") {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// eachMessage gives every envelope, event and JSON-RPC message of a file, found
// wherever it stands in a line.
func eachMessage(t testing.TB, file string, visit func(kind string, raw []byte)) {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) > 0 && json.Valid(line) {
			visitMessages(line, visit)
		}
	}
}

// visitMessages looks for messages among the members of an object.
func visitMessages(raw []byte, visit func(kind string, raw []byte)) {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return
	}
	switch {
	case o["jsonrpc"] != nil && (o["result"] != nil || o["error"] != nil):
		visit("answer", raw)
	case o["seq"] != nil && o["event"] != nil:
		visit("envelope", raw)
	case o["timestamp"] != nil && o["type"] != nil:
		visit("event", raw)
	default:
		for _, member := range o {
			visitMessages(member, visit)
		}
	}
}

// decodes is the decoder's verdict on an envelope or an event.
func decodes(kind string, raw []byte) error {
	if kind == "envelope" {
		_, err := protocol.DecodeEnvelope(raw)
		return err
	}
	_, err := protocol.DecodeEvent(raw)
	return err
}
