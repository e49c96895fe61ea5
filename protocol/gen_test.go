package protocol

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"pgregory.net/rapid"
)

// The generators build events by reflection over the structs, so that a member
// added to one is generated, encoded both ways and decoded without a change here.

// words are what the generators choose closed words from; an open vocabulary
// gets any word that is not blank.
var words = map[reflect.Type][]string{
	reflect.TypeFor[Role]():      {"user", "assistant"},
	reflect.TypeFor[PartState](): {"streaming", "done"},
}

// openWords are the members of kind string that hold an open vocabulary.
var openWords = map[string]bool{
	"Harness": true, "Reason": true, "Status": true, "Trigger": true, "StopReason": true, "Category": true, "Kind": true,
}

// eventTypes has one value of each known event, in the order of the registry.
var eventTypes = []Event{
	&SessionCreated{}, &SessionEnded{}, &SessionUsage{}, &SessionCompaction{}, &TurnStarted{}, &TurnEnded{},
	&MessageStarted{}, &MessagePart{}, &MessagePartDelta{}, &MessageEnded{}, &PermissionRequested{},
	&PermissionResolved{}, &ErrorEvent{}, &Raw{},
}

var (
	partTypes    = []Part{&TextPart{}, &ReasoningPart{}, &ToolPart{}, &ImagePart{}, &FilePart{}}
	stateTypes   = []ToolState{&PendingState{}, &InProgressState{}, &CompletedState{}, &FailedState{}, &CancelledState{}}
	deltaTypes   = []Delta{&TextDelta{}, &ReasoningDelta{}, &ToolInputDelta{}}
	contentTypes = []ToolContent{&TextContent{}, &ImageContent{}, &DiffContent{}, &TerminalContent{}}
)

// genEvent draws an event of any type, unknown ones too.
func genEvent(t *rapid.T) Event {
	i := rapid.IntRange(0, len(eventTypes)).Draw(t, "event type")
	if i == len(eventTypes) {
		return genUnknownEvent(t)
	}
	return genLike(t, eventTypes[i])
}

// genLike draws another value of the pointed-to type.
func genLike[T any](t *rapid.T, like T) T {
	p := reflect.New(reflect.TypeOf(like).Elem())
	fill(t, p.Elem(), "")
	settle(t, p.Interface())
	return p.Interface().(T)
}

// settle restores what one member alone cannot know.
func settle(t *rapid.T, v any) {
	switch v := v.(type) {
	case *ImagePart:
		v.Data, v.URL = genSource(t)
	case *FilePart:
		v.Data, v.URL = genSource(t)
	}
}

func genSource(t *rapid.T) (data, url *string) {
	if rapid.Bool().Draw(t, "has data") {
		return new(genString(t)), nil
	}
	return nil, new(genString(t))
}

// fill draws a value; name is the member it stands in.
func fill(t *rapid.T, v reflect.Value, name string) {
	switch v.Type() {
	case reflect.TypeFor[Object]():
		v.SetBytes([]byte(genFree(t, name)))
		return
	case reflect.TypeFor[PermissionOutcome]():
		v.Set(reflect.ValueOf(genOutcome(t)))
		return
	case reflect.TypeFor[Part]():
		v.Set(reflect.ValueOf(genPart(t)))
		return
	case reflect.TypeFor[Delta]():
		v.Set(reflect.ValueOf(genLike(t, rapid.SampledFrom(deltaTypes).Draw(t, "delta type"))))
		return
	case reflect.TypeFor[ToolState]():
		v.Set(reflect.ValueOf(genLike(t, rapid.SampledFrom(stateTypes).Draw(t, "status"))))
		return
	case reflect.TypeFor[ToolContent]():
		v.Set(reflect.ValueOf(genLike(t, rapid.SampledFrom(contentTypes).Draw(t, "content type"))))
		return
	}
	fillKind(t, v, name)
}

func fillKind(t *rapid.T, v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		fillStruct(t, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), name)
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), name)
		}
	case reflect.String:
		v.SetString(genWord(t, v.Type(), name))
	case reflect.Float64:
		v.SetFloat(genNumber(t))
	case reflect.Int64:
		low := int64(-MaxSafeInteger)
		if name == "Timestamp" {
			low = 0
		}
		v.SetInt(rapid.Int64Range(low, MaxSafeInteger).Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	default:
		panic(fmt.Sprintf("no generator for %s", v.Type()))
	}
}

func fillStruct(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		optional := strings.HasSuffix(f.Tag.Get("json"), ",omitzero")
		if optional && rapid.Bool().Draw(t, "without "+f.Name) {
			continue
		}
		fill(t, v.Field(i), f.Name)
	}
}

func genWord(t *rapid.T, kind reflect.Type, name string) string {
	switch {
	case words[kind] != nil:
		return rapid.SampledFrom(words[kind]).Draw(t, name)
	case openWords[name]:
		return "w" + genString(t)
	}
	return genString(t)
}

// genString draws text with everything in it that an encoder can get wrong.
func genString(t *rapid.T) string {
	pieces := rapid.SampledFrom([]string{
		"", "a", "plain text", "0123456789abcdef", `"`, `\`, "/", "<&>", "\n", "\r", "\t", "\b", "\f", "\v", "\x00", "\x1f", "\x7f",
		"é", "\u2027", "\u2028", "\u2029", "\uFFFD", "\uFEFF", "😀", "ab\\\"c", "{}[],:",
	})
	if rapid.IntRange(0, 3).Draw(t, "any text") == 0 {
		return rapid.String().Draw(t, "text")
	}
	return strings.Join(rapid.SliceOfN(pieces, 0, 5).Draw(t, "pieces"), "")
}

func genNumber(t *rapid.T) float64 {
	n := rapid.OneOf(
		rapid.SampledFrom([]float64{0, 1, -1, 0.5, 1e15, -1e15, 1e15 - 1, 1e20, 1e21, 1e-6, 1e-7, 0.1, math.MaxFloat64, 5e-324}),
		rapid.Float64(), rapid.Map(rapid.IntRange(-1e6, 1e6), func(n int) float64 { return float64(n) }),
	).Draw(t, "number")
	if n == 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0 // not -0, which is written as 0
	}
	return n
}

// genFree draws a free object; raw.data may be any value.
func genFree(t *rapid.T, name string) string {
	if name == "Data" {
		return genJSON(t, 2)
	}
	return genJSONObject(t, 2)
}

// genJSON draws the compact text of any value, spelled in unusual ways too.
func genJSON(t *rapid.T, depth int) string {
	kinds := 4
	if depth == 0 {
		kinds = 2
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "1.50", "1e3", "12345678901234567890", "-1E-2"}).Draw(t, "scalar")
	case 1:
		return genLiteral(t)
	case 2:
		return genJSONObject(t, depth)
	}
	items := make([]string, rapid.IntRange(0, 2).Draw(t, "items"))
	for i := range items {
		items[i] = genJSON(t, depth-1)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// genLiteral draws a string literal, some with escapes that no encoder of ours
// would write.
func genLiteral(t *rapid.T) string {
	if rapid.Bool().Draw(t, "odd spelling") {
		return rapid.SampledFrom([]string{`"\/"`, `"\u0041"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\\"`, `"\u2028"`}).Draw(t, "literal")
	}
	return string(AppendString(nil, genString(t)))
}

func genJSONObject(t *rapid.T, depth int) string {
	members := make([]string, rapid.IntRange(0, 3).Draw(t, "members"))
	for i := range members {
		members[i] = fmt.Sprintf("%s:%s", AppendString(nil, fmt.Sprint(i)+genString(t)), genJSON(t, depth-1))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func genOutcome(t *rapid.T) PermissionOutcome {
	if rapid.Bool().Draw(t, "cancelled") {
		return PermissionOutcome{Outcome: OutcomeCancelled}
	}
	o := PermissionOutcome{Outcome: OutcomeSelected, OptionID: "o" + genString(t)}
	if rapid.Bool().Draw(t, "updated") {
		o.UpdatedInput = Object(genJSONObject(t, 1))
	}
	return o
}

// genPart draws a part of any type, unknown ones too.
func genPart(t *rapid.T) Part {
	i := rapid.IntRange(0, len(partTypes)).Draw(t, "part type")
	if i == len(partTypes) {
		return genUnknownPart(t)
	}
	return genLike(t, partTypes[i])
}

func genUnknownEvent(t *rapid.T) Event {
	ev := &UnknownEvent{Kind: EventType("x." + genString(t))}
	raw := AppendString([]byte(`{"raw":1,"type":`), string(ev.Kind))
	switch rapid.IntRange(0, 2).Draw(t, "session") {
	case 0:
		ev.SessionID = new(genString(t))
		raw = appendText(raw, `,"sessionId":`, *ev.SessionID)
	case 1:
		raw = append(raw, `,"sessionId":7`...)
	}
	ev.Raw = Object(string(raw) + `,"more":` + genJSON(t, 2) + `}`)
	return ev
}

func genUnknownPart(t *rapid.T) Part {
	p := &UnknownPart{Kind: PartType("x" + genString(t))}
	p.ID, p.SessionID, p.MessageID = genString(t), genString(t), genString(t)
	raw := appendText([]byte(`{"raw":`), ``, string(p.Kind))
	raw = appendText(raw, `,"type":`, string(p.Kind))
	if rapid.Bool().Draw(t, "parent") {
		p.ParentToolCallID = new(genString(t))
		raw = appendText(raw, `,"parentToolCallId":`, *p.ParentToolCallID)
	}
	if rapid.Bool().Draw(t, "meta") {
		p.Meta = Object(genJSONObject(t, 1))
		raw = append(append(raw, `,"_meta":`...), p.Meta...)
	}
	raw = appendText(raw, `,"id":`, p.ID)
	raw = appendText(raw, `,"messageId":`, p.MessageID)
	raw = appendText(raw, `,"sessionId":`, p.SessionID)
	p.Raw = Object(string(raw) + `,"more":` + genJSON(t, 2) + `}`)
	return p
}

func genEnvelope(t *rapid.T) Envelope {
	env := Envelope{SessionID: genString(t), Seq: rapid.Int64Range(1, MaxSafeInteger).Draw(t, "seq"), Event: genEvent(t)}
	if rapid.Bool().Draw(t, "chained") {
		env.PrevSeq = new(rapid.Int64Range(0, env.Seq-1).Draw(t, "prevSeq"))
	}
	return env
}
