package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"
)

// Document is one generated file.
type Document struct {
	// Name is the file's name.
	Name string
	// Body is the file: indented JSON that ends in a line feed.
	Body []byte
}

// Documents makes every document from the sources below root, the module's root as a
// relative path. The same sources give the same bytes.
func Documents(root string) ([]Document, error) {
	src, err := readSources(root)
	if err != nil {
		return nil, err
	}
	var made []Document
	for _, d := range []struct {
		name string
		of   func(src *sources, root string) (any, error)
	}{
		{"events.schema.json", eventsDocument},
		{"methods.schema.json", methodsDocument},
		{"openrpc.json", openRPCDocument},
	} {
		v, err := d.of(src, root)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", d.name, err)
		}
		body, err := write(v)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", d.name, err)
		}
		made = append(made, Document{d.name, body})
	}
	return made, nil
}

// schemaDocument is a JSON Schema with what a reader wants to know first before the
// definitions. The library's own struct has them last.
type schemaDocument struct {
	// Schema is the dialect.
	Schema string `json:"$schema"`
	// ID names the document; nothing is to be fetched there.
	ID          string `json:"$id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Comment     string `json:"$comment"`
	// Ref is the root: the definition that the document as a whole stands for.
	Ref  string `json:"$ref"`
	Defs defs   `json:"$defs"`
}

// generated says where a document comes from, and what it cannot say.
const generated = "Generated from the Go types of package protocol by go generate; not edited by hand. " +
	"A reader is stricter in four things that a schema cannot express: a timestamp is never -0; a number lies within the range " +
	"of a double; of a byteRange the start is not beyond the end; of members with one name the last one counts."

// eventsDocument describes an envelope and all that can be in it.
func eventsDocument(src *sources, root string) (any, error) {
	all, err := definitions(src)
	if err != nil {
		return nil, err
	}
	// Here alone: a sample a definition is enough, and the others are long as it is.
	if err := addSamples(all, root); err != nil {
		return nil, err
	}
	used, err := reach(all, "Envelope")
	return schemaDocument{
		Schema: jsonschema.Version, ID: "urn:agent-server:protocol:2:events", Title: "agent-server protocol 2: events",
		Description: "An envelope: one event of a session with its place in the session's order. It is the params of the event " +
			"notification, an item of events/replay, and a line of a recorded stream.",
		Comment: generated, Ref: refPrefix + "Envelope", Defs: used,
	}, err
}

// methodsDocument describes every message.
func methodsDocument(src *sources, _ string) (any, error) {
	all, err := definitions(src)
	if err != nil {
		return nil, err
	}
	addMessages(all)
	// A response does not say which method it answers, so the root cannot lead to the
	// response of each.
	names := []string{"Message"}
	for _, m := range methods() {
		names = append(names, m.title+"Response")
	}
	used, err := reach(all, names...)
	return schemaDocument{
		Schema: jsonschema.Version, ID: "urn:agent-server:protocol:2:methods", Title: "agent-server protocol 2: messages",
		Description: "Any message of the wire, one a line: a request, a notification, a response or an error response. " +
			"A batch is an array of at most 100 of them. The response of each method has a definition of its own.",
		Comment: generated, Ref: refPrefix + "Message", Defs: used,
	}, err
}

// definitions makes every definition anew; whoever gets them may change them.
func definitions(src *sources) (defs, error) {
	all, err := reflectAll(src)
	if err != nil {
		return nil, err
	}
	// In this order: rules name members that splitting moves, and a union's tag is no
	// member of a struct.
	addStack(all)
	if err := applyRules(all); err != nil {
		return nil, err
	}
	if err := applySplits(all); err != nil {
		return nil, err
	}
	if err := addVocabularies(all, src); err != nil {
		return nil, err
	}
	if err := addUnions(all, src); err != nil {
		return nil, err
	}
	if err := addErrors(all, src); err != nil {
		return nil, err
	}
	all["Input"] = inputSchema(src)
	all["Meta"] = metaSchema(src)
	return all, nil
}

// inputSchema is the one value that is a string or an array.
func inputSchema(src *sources) *jsonschema.Schema {
	return &jsonschema.Schema{
		OneOf:       []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: ref("InputItem")}},
		Description: reword(src.comments[protocolPath+".Input"], nil),
	}
}

// reference is one definition named by another, in its encoded form.
var reference = regexp.MustCompile(`"` + regexp.QuoteMeta(refPrefix) + `(\w+)"`)

// reach is the definitions that the named ones need, and they themselves.
func reach(all defs, names ...string) (defs, error) {
	used := defs{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if used[name] != nil {
			continue
		}
		def := all[name]
		if def == nil {
			return nil, fmt.Errorf("there is no definition %s", name)
		}
		used[name] = def
		raw, err := json.Marshal(def)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", name, err)
		}
		for _, found := range reference.FindAllSubmatch(raw, -1) {
			names = append(names, string(found[1]))
		}
	}
	return used, nil
}

// write is a document as it stands in its file.
func write(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	text := jsontext.Value(raw)
	if err := text.Format(jsontext.Multiline(true), jsontext.WithIndent("  ")); err != nil {
		return nil, fmt.Errorf("formatting: %w", err)
	}
	return append(escapeSpaces(text), '\n'), nil
}

// escapeSpaces spells white space above ASCII, which stands in strings only, with
// escapes: nobody sees it otherwise.
func escapeSpaces(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		if r >= utf8.RuneSelf && unicode.IsSpace(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}
