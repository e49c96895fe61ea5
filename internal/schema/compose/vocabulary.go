package compose

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// notBlank is a string with a character that is no white space, as Unicode has it.
// The spaces are written out: engines differ in what their own classes hold.
const notBlank = "[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"

// closed are the vocabularies that never grow: a reader refuses any other word, so one
// more would be another protocol.
var closed = []reflect.Type{
	reflect.TypeFor[protocol.Role](),
	reflect.TypeFor[protocol.PartState](),
	reflect.TypeFor[protocol.OutcomeKind](),
	reflect.TypeFor[protocol.CancelOutcome](),
	reflect.TypeFor[protocol.PermissionMode](),
	reflect.TypeFor[protocol.ThinkingLevel](),
	reflect.TypeFor[protocol.ModelSwitch](),
	reflect.TypeFor[protocol.MCPServerType](),
	reflect.TypeFor[protocol.InputType](),
	reflect.TypeFor[protocol.EventsMode](),
	reflect.TypeFor[protocol.IfBusy](),
	reflect.TypeFor[protocol.Disposition](),
	reflect.TypeFor[protocol.SessionStatus](),
	reflect.TypeFor[protocol.SnapshotMode](),
	reflect.TypeFor[protocol.SubscribeMode](),
}

// open are the vocabularies that grow: a reader takes words that it does not know.
var open = []reflect.Type{
	reflect.TypeFor[protocol.HarnessID](),
	reflect.TypeFor[protocol.StopReason](),
	reflect.TypeFor[protocol.ErrorCategory](),
	reflect.TypeFor[protocol.ToolKind](),
	reflect.TypeFor[protocol.PermissionKind](),
}

// addVocabularies adds a definition a vocabulary.
func addVocabularies(all defs, src *sources) error {
	for _, t := range closed {
		words := src.words(t.Name())
		if len(words) == 0 {
			return fmt.Errorf("vocabulary %s has no words", t.Name())
		}
		all[t.Name()] = &jsonschema.Schema{Type: "string", Enum: list(words), Description: describe(src, t)}
	}
	for _, t := range open {
		words := src.words(t.Name())
		if len(words) == 0 {
			return fmt.Errorf("vocabulary %s has no words", t.Name())
		}
		all[t.Name()] = openWord(words...)
		all[t.Name()].Description = describe(src, t)
	}
	return nil
}

// describe is the comment of a type, reworded.
func describe(src *sources, t reflect.Type) string {
	return reword(src.comments[t.PkgPath()+"."+t.Name()], nil)
}

// openWord is any word that is not blank. The known ones stand twice: where every
// tool shows them, and where one finds them that wants to know which they are.
func openWord(known ...string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "string", Pattern: pattern(notBlank), Examples: list(known),
		Extras: map[string]any{"x-known": known},
	}
}

// pattern spells control characters with escapes of the pattern's own, so that the
// file can be read; what is above ASCII the writer of the file escapes.
func pattern(p string) string { return strings.NewReplacer("\t", `\t`, "\r", `\r`).Replace(p) }

// list is the words as values.
func list(words []string) []any {
	values := make([]any, len(words))
	for i, w := range words {
		values[i] = w
	}
	return values
}
