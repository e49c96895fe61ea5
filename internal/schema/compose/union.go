package compose

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// union is a Go interface: one of several structs, told apart by a member that the
// structs themselves do not have.
type union struct {
	// name is the interface; tag the member that tells the variants apart.
	name, tag string
	// text describes it: the comments of the interfaces speak of Go.
	text string
	// variants are its structs, in the order of the protocol's pages.
	variants []variant
	// unknown makes the definition of what is of no known type; nil where the
	// union is closed.
	unknown *unknown
}

// variant is one struct of a union and the word that names it.
type variant struct {
	// word is the value of the tag.
	word string
	// of is the struct, not a pointer to it.
	of reflect.Type
}

// unknown describes what a reader keeps without knowing it.
type unknown struct {
	// name and text are those of its definition.
	name, text string
	// kind is the type of the words, known ones and others.
	kind string
	// required are the strings that must be there nevertheless.
	required []string
}

// unions lists them. The order of the variants is the protocol's.
func unions() []union {
	return []union{
		{name: "Event", tag: "type", variants: eventVariants(), unknown: unknownEvent(),
			text: "One lifecycle event: of one of the known types, whose members then must fit, or of any other type."},
		{name: "Part", tag: "type", variants: partVariants(), unknown: unknownPart(),
			text: "One piece of a message: of one of the known types, whose members then must fit, or of any other type."},
		{name: "ToolState", tag: "status", variants: stateVariants(),
			text: "How far a tool call has come. The union is closed."},
		{name: "ToolContent", tag: "type", variants: contentVariants(),
			text: "One piece of a tool's result, for display. The union is closed."},
		{name: "Delta", tag: "type", variants: deltaVariants(),
			text: "What a part has grown by. The union is closed."},
	}
}

// eventVariants are the events that the decoder knows. A test asks it which those are.
func eventVariants() []variant {
	return variantsOf([]protocol.Event{
		&protocol.SessionCreated{}, &protocol.SessionEnded{}, &protocol.SessionUsage{}, &protocol.SessionCompaction{},
		&protocol.TurnStarted{}, &protocol.TurnEnded{}, &protocol.MessageStarted{}, &protocol.MessagePart{},
		&protocol.MessagePartDelta{}, &protocol.MessageEnded{}, &protocol.PermissionRequested{},
		&protocol.PermissionResolved{}, &protocol.ErrorEvent{}, &protocol.Raw{},
	}, protocol.Event.Type)
}

// partVariants are the parts that the decoder knows; the same test asks.
func partVariants() []variant {
	return variantsOf([]protocol.Part{
		&protocol.TextPart{}, &protocol.ReasoningPart{}, &protocol.ToolPart{}, &protocol.ImagePart{}, &protocol.FilePart{},
	}, protocol.Part.Type)
}

// stateVariants: the words are the states' own.
func stateVariants() []variant {
	return variantsOf([]protocol.ToolState{
		&protocol.PendingState{}, &protocol.InProgressState{}, &protocol.CompletedState{}, &protocol.FailedState{},
		&protocol.CancelledState{},
	}, protocol.ToolState.Status)
}

// contentVariants: contents do not know their words, so they are paired here.
func contentVariants() []variant {
	return []variant{
		{string(protocol.ContentText), reflect.TypeFor[protocol.TextContent]()},
		{string(protocol.ContentImage), reflect.TypeFor[protocol.ImageContent]()},
		{string(protocol.ContentDiff), reflect.TypeFor[protocol.DiffContent]()},
		{string(protocol.ContentTerminal), reflect.TypeFor[protocol.TerminalContent]()},
	}
}

// deltaVariants: as of contents.
func deltaVariants() []variant {
	return []variant{
		{string(protocol.DeltaText), reflect.TypeFor[protocol.TextDelta]()},
		{string(protocol.DeltaReasoning), reflect.TypeFor[protocol.ReasoningDelta]()},
		{string(protocol.DeltaToolInput), reflect.TypeFor[protocol.ToolInputDelta]()},
	}
}

// variantsOf asks empty values for their word.
func variantsOf[T any, W ~string](values []T, word func(T) W) []variant {
	found := make([]variant, len(values))
	for i, v := range values {
		found[i] = variant{string(word(v)), reflect.TypeOf(v).Elem()}
	}
	return found
}

// unknownEvent asks for a type and nothing else, not even a time.
func unknownEvent() *unknown {
	return &unknown{name: "UnknownEvent", kind: "EventType",
		text: "An event of any other type. A reader keeps it whole, in its place, and nothing in it can be wrong."}
}

// unknownPart asks for what a fold needs to put it in its place.
func unknownPart() *unknown {
	return &unknown{name: "UnknownPart", kind: "PartType", required: []string{"id", "sessionId", "messageId"},
		text: "A part of any other type. A reader keeps it whole, in its place; only its ids must be there."}
}

// addUnions gives the structs of every union the member that tells them apart, and
// adds the unions themselves.
func addUnions(all defs, src *sources) error {
	for _, u := range unions() {
		names := make([]string, len(u.variants))
		for i, v := range u.variants {
			names[i] = v.of.Name()
			if err := addTag(all[names[i]], u.tag, v.word); err != nil {
				return fmt.Errorf("joining %s: %w", u.name, err)
			}
		}
		if u.unknown != nil {
			all[u.unknown.name] = u.unknown.definition(u.tag, wordsOf(u.variants), src)
			names = append(names, u.unknown.name)
		}
		all[u.name] = oneOf(names)
		all[u.name].Description = u.text
	}
	return nil
}

// wordsOf are the words of the known variants.
func wordsOf(variants []variant) []string {
	words := make([]string, len(variants))
	for i, v := range variants {
		words[i] = v.word
	}
	return words
}

// addTag puts a required member with a fixed value before all others.
func addTag(def *jsonschema.Schema, tag, value string) error {
	if def == nil || def.Properties == nil {
		return fmt.Errorf("%q has no definition", value)
	}
	if _, there := def.Properties.Get(tag); there {
		return fmt.Errorf("%q has a member %s of its own", value, tag)
	}
	def.Properties.Set(tag, &jsonschema.Schema{Type: "string", Const: value})
	def.Required = append([]string{tag}, def.Required...)
	return def.Properties.MoveToFront(tag)
}

// oneOf is exactly one of several definitions.
func oneOf(names []string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, name := range names {
		s.OneOf = append(s.OneOf, ref(name))
	}
	return s
}

// object is an object with required members; others may stand beside them.
func object(required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), Required: required,
		AdditionalProperties: jsonschema.TrueSchema,
	}
}

// definition is an object whose tag is a word, but none of the known ones.
func (u *unknown) definition(tag string, known []string, src *sources) *jsonschema.Schema {
	added := slices.DeleteFunc(src.words(u.kind), func(w string) bool { return slices.Contains(known, w) })
	word := &jsonschema.Schema{
		Type: "string", MinLength: new(uint64(1)), Not: &jsonschema.Schema{Enum: list(known)},
		Description: "The type: not empty, and none of the known ones.",
		Examples:    list(added), Extras: map[string]any{"x-known": added},
	}
	def := object(append([]string{tag}, u.required...)...)
	def.Description = u.text
	def.Properties.Set(tag, word)
	for _, name := range u.required {
		def.Properties.Set(name, &jsonschema.Schema{Type: "string"})
	}
	return def
}
