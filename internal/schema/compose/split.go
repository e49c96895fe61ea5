package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// split is a Go struct that stands for several shapes, told apart by a member of its
// own: the shapes become definitions, the struct's becomes one of them.
type split struct {
	// def is the struct; tag its member that tells the shapes apart.
	def, tag string
	shapes   []shape
}

// shape is which members of the struct one word goes with. Others may stand there, as
// any unknown member may, but mean nothing.
type shape struct {
	// word is the value of the tag, name that of the definition.
	word, name string
	// members are separated by spaces: "a" is required, "a?" is not, of "a|b"
	// exactly one is.
	members string
	// text describes it: the struct's comment is about all shapes at once.
	text string
}

// splits lists them. A member of the struct that no shape has is an error, so that one
// added to the struct is put somewhere.
var splits = []split{
	{"InputItem", "type", []shape{
		{string(protocol.InputText), "InputText", "id? text elements?", "Text."},
		{string(protocol.InputImage), "InputImage", "id? data|url mimeType", "An image."},
		{string(protocol.InputFile), "InputFile", "id? data|url mimeType filename?", "A file."},
	}},
	{"MCPServer", "type", []shape{
		{string(protocol.MCPStdio), "MCPStdioServer", "command args? env?", "An MCP server that is run and spoken to over its stdin and stdout."},
		{string(protocol.MCPHTTP), "MCPHTTPServer", "url headers?", "An MCP server reached over streamable HTTP."},
		{string(protocol.MCPSSE), "MCPSSEServer", "url headers?", "An MCP server reached over server-sent events."},
	}},
	{"PermissionOutcome", "outcome", []shape{
		{string(protocol.OutcomeSelected), "PermissionSelected", "optionId updatedInput?", "One of the offered options was chosen."},
		{string(protocol.OutcomeCancelled), "PermissionCancelled", "", "Nobody answered; the turn was cancelled or has ended."},
	}},
	{"TurnCancelResult", "outcome", []shape{
		{string(protocol.CancelCancelled), "TurnCancelled", "turnId", "The turn is cancelled."},
		{string(protocol.CancelUnconfirmed), "TurnCancelUnconfirmed", "turnId", "The harness was asked to stop, and has not said that it did."},
		{string(protocol.CancelNoActiveTurn), "NoActiveTurn", "activeTurnId?", "There is nothing to cancel: no turn runs, or another than the one named."},
	}},
}

// alternatives are structs with one shape of which exactly one of two members stands
// there: a part has data or a URL, like an input.
var alternatives = map[string]string{"ImagePart": "data|url", "FilePart": "data|url"}

// applySplits replaces every definition that is split.
func applySplits(all defs) error {
	for _, s := range splits {
		if err := s.apply(all); err != nil {
			return fmt.Errorf("splitting %s: %w", s.def, err)
		}
	}
	for def, names := range alternatives {
		all[def].OneOf = exactlyOne(strings.Split(names, "|"))
	}
	return nil
}

// apply replaces the struct's definition by one of its shapes.
func (s split) apply(all defs) error {
	whole := all[s.def]
	unused := slices.Collect(whole.Properties.KeysFromOldest())
	var names []string
	for _, shape := range s.shapes {
		def, used, err := shape.of(whole)
		if err != nil {
			return err
		}
		if err := addTag(def, s.tag, shape.word); err != nil {
			return err
		}
		all[shape.name] = def
		names = append(names, shape.name)
		unused = slices.DeleteFunc(unused, func(name string) bool { return name == s.tag || slices.Contains(used, name) })
	}
	if len(unused) > 0 {
		return fmt.Errorf("no shape has the members %v", unused)
	}
	all[s.def] = oneOf(names)
	all[s.def].Description = whole.Description
	return nil
}

// of is the part of a struct's definition that the shape has, and its members.
func (sh shape) of(whole *jsonschema.Schema) (*jsonschema.Schema, []string, error) {
	def := object()
	def.Description = sh.text
	var used []string
	for _, spec := range strings.Fields(sh.members) {
		name, optional := strings.CutSuffix(spec, "?")
		choice := strings.Split(name, "|")
		for _, name := range choice {
			m, ok := whole.Properties.Get(name)
			if !ok {
				return nil, nil, fmt.Errorf("there is no member %s", name)
			}
			def.Properties.Set(name, m)
		}
		used = append(used, choice...)
		switch {
		case len(choice) > 1:
			def.OneOf = exactlyOne(choice)
		case !optional:
			def.Required = append(def.Required, name)
		}
	}
	return def, used, nil
}

// exactlyOne requires one of several members, and not two.
func exactlyOne(names []string) []*jsonschema.Schema {
	var either []*jsonschema.Schema
	for _, name := range names {
		either = append(either, &jsonschema.Schema{Required: []string{name}})
	}
	return either
}
