package protocol

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The plain encoder is the JSON package over the structs' own tags. What it does
// not know is put in by plainOf: the discriminators, the place of a part's type
// behind its head, and the members that are interfaces.

// discriminatorOf names the member and the word that tell a union's types apart.
func discriminatorOf(v any) (member, word string) {
	switch v := v.(type) {
	case Event:
		return "type", string(v.Type())
	case Part:
		return "type", string(v.Type())
	case ToolState:
		return "status", string(v.Status())
	}
	return "type", map[reflect.Type]string{
		reflect.TypeFor[*TextDelta]():       "text",
		reflect.TypeFor[*ReasoningDelta]():  "reasoning",
		reflect.TypeFor[*ToolInputDelta]():  "tool_input",
		reflect.TypeFor[*TextContent]():     "text",
		reflect.TypeFor[*ImageContent]():    "image",
		reflect.TypeFor[*DiffContent]():     "diff",
		reflect.TypeFor[*TerminalContent](): "terminal",
	}[reflect.TypeOf(v)]
}

// plainOf encodes a value of a union: its struct with the discriminator in front,
// or behind the head of a part.
func plainOf(t *rapid.T, v any) Object {
	switch v := v.(type) {
	case *UnknownEvent:
		return v.Raw
	case *UnknownPart:
		return v.Raw
	}
	b := &builder{}
	member, word := discriminatorOf(v)
	if _, isPart := v.(Part); !isPart {
		b.add("Discriminator", member, word)
	}
	b.members(t, reflect.ValueOf(v).Elem(), member, word)
	return b.encode(t)
}

// builder collects the fields of a struct that is made up.
type builder struct {
	fields []reflect.StructField
	values []reflect.Value
}

func (b *builder) add(name, tag string, v any) {
	b.fields = append(b.fields, reflect.StructField{Name: name, Type: reflect.TypeOf(v), Tag: reflect.StructTag(`json:"` + tag + `"`)})
	b.values = append(b.values, reflect.ValueOf(v))
}

func (b *builder) members(t *rapid.T, v reflect.Value, member, word string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch value := v.Field(i); {
		case f.Anonymous:
			b.members(t, value, "", "")
			b.add("Discriminator", member, word)
		case value.Kind() == reflect.Interface:
			b.add(f.Name, f.Tag.Get("json"), plainOf(t, value.Interface()))
		case f.Type == reflect.TypeFor[[]ToolContent]():
			b.add(f.Name, f.Tag.Get("json"), plainContent(t, value.Interface().([]ToolContent)))
		default:
			b.add(f.Name, f.Tag.Get("json"), value.Interface())
		}
	}
}

func plainContent(t *rapid.T, content []ToolContent) []Object {
	if content == nil {
		return nil
	}
	list := make([]Object, len(content))
	for i, c := range content {
		list[i] = plainOf(t, c)
	}
	return list
}

func (b *builder) encode(t *rapid.T) Object {
	v := reflect.New(reflect.StructOf(b.fields)).Elem()
	for i, value := range b.values {
		v.Field(i).Set(value)
	}
	raw, err := json.Marshal(v.Interface(), wireOptions)
	if err != nil {
		t.Fatalf("the plain encoder: %v", err)
	}
	return raw
}

// TestAppendIsPlain ties the hand encoder to the plain one, byte for byte.
func TestAppendIsPlain(t *testing.T) {
	t.Parallel()
	for _, like := range append([]Event{&UnknownEvent{}}, eventTypes...) {
		t.Run(string(like.Type()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var ev Event
				if _, unknown := like.(*UnknownEvent); unknown {
					ev = genUnknownEvent(t)
				} else {
					ev = genLike(t, like)
				}
				if diff := cmp.Diff(string(plainOf(t, ev)), string(AppendEvent(nil, ev))); diff != "" {
					t.Fatalf("the encoders differ (-plain +append):\n%s", diff)
				}
			})
		})
	}
}

// TestEnvelopeIsPlain does the same for what stands around an event.
func TestEnvelopeIsPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		env := genEnvelope(t)
		want, err := json.Marshal(struct {
			JSONRPC string `json:"jsonrpc"`
			Method  string `json:"method"`
			Params  any    `json:"params"`
		}{"2.0", NotificationEvent, struct {
			SessionID string `json:"sessionId"`
			Seq       int64  `json:"seq"`
			PrevSeq   *int64 `json:"prevSeq,omitzero"`
			Event     Object `json:"event"`
		}{env.SessionID, env.Seq, env.PrevSeq, plainOf(t, env.Event)}}, wireOptions)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(AppendNotification(nil, env))); diff != "" {
			t.Fatalf("the encoders differ (-plain +append):\n%s", diff)
		}
	})
}
