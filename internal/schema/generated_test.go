package schema

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent-server/protocol"
)

// The encoder's side: whatever a lawful Go value is encoded to is valid. Values are made
// by reflection, so that a member added to a struct is made, encoded and judged without a
// change here.

// choices are the words of the closed vocabularies; open ones get any word.
var choices = map[reflect.Type][]string{
	reflect.TypeFor[protocol.Role]():           {"user", "assistant"},
	reflect.TypeFor[protocol.PartState]():      {"streaming", "done"},
	reflect.TypeFor[protocol.ThinkingLevel]():  {"off", "low", "medium", "high", "xhigh"},
	reflect.TypeFor[protocol.PermissionMode](): {"default", "plan", "accept_edits", "dont_ask", "bypass_permissions"},
	reflect.TypeFor[protocol.ModelSwitch]():    {"in-session", "restart-session", "unsupported"},
	reflect.TypeFor[protocol.EventsMode]():     {"all", "subscribed"},
	reflect.TypeFor[protocol.IfBusy]():         {"reject", "queue", "steer"},
	reflect.TypeFor[protocol.Disposition]():    {"started", "queued", "steered"},
	reflect.TypeFor[protocol.SessionStatus]():  {"idle", "active", "closed"},
	reflect.TypeFor[protocol.SubscribeMode]():  {"suffix", "snapshot"},
	reflect.TypeFor[protocol.SnapshotMode]():   {"auto", "always", "never"},
}

// alternatives are the structs of each union.
var alternatives = map[reflect.Type][]any{
	reflect.TypeFor[protocol.Event](): {
		protocol.SessionCreated{}, protocol.SessionEnded{}, protocol.SessionUsage{}, protocol.SessionCompaction{},
		protocol.TurnStarted{}, protocol.TurnEnded{}, protocol.MessageStarted{}, protocol.MessagePart{}, protocol.MessagePart{},
		protocol.MessagePart{}, protocol.MessagePartDelta{}, protocol.MessageEnded{}, protocol.PermissionRequested{},
		protocol.PermissionResolved{}, protocol.ErrorEvent{}, protocol.Raw{},
	},
	reflect.TypeFor[protocol.Part](): {
		protocol.TextPart{}, protocol.ReasoningPart{}, protocol.ToolPart{}, protocol.ImagePart{}, protocol.FilePart{},
	},
	reflect.TypeFor[protocol.ToolState](): {
		protocol.PendingState{}, protocol.InProgressState{}, protocol.CompletedState{}, protocol.FailedState{}, protocol.CancelledState{},
	},
	reflect.TypeFor[protocol.ToolContent](): {
		protocol.TextContent{}, protocol.ImageContent{}, protocol.DiffContent{}, protocol.TerminalContent{},
	},
	reflect.TypeFor[protocol.Delta](): {protocol.TextDelta{}, protocol.ReasoningDelta{}, protocol.ToolInputDelta{}},
}

// made draws a value of a struct of which one member depends on another; nil for any
// other type.
func made(t *rapid.T, of reflect.Type) any {
	switch of {
	case reflect.TypeFor[protocol.Input]():
		return anInput(t)
	case reflect.TypeFor[protocol.InputItem]():
		return anItem(t)
	case reflect.TypeFor[protocol.MCPServer]():
		return aServer(t)
	case reflect.TypeFor[protocol.PermissionOutcome]():
		return anOutcome(t)
	case reflect.TypeFor[protocol.TurnCancelResult]():
		return aCancelResult(t)
	case reflect.TypeFor[protocol.TextElement]():
		start := rapid.Int64Range(0, 9).Draw(t, "start")
		return protocol.TextElement{ByteRange: [2]int64{start, start + rapid.Int64Range(0, 9).Draw(t, "length")}}
	}
	return nil
}

// some draws a value of a type.
func some[T any](t *rapid.T) T {
	var v T
	fill(t, reflect.ValueOf(&v).Elem(), "")
	return v
}

// fill draws a value; name is the member it stands in.
func fill(t *rapid.T, v reflect.Value, name string) {
	switch whole := made(t, v.Type()); {
	case whole != nil:
		v.Set(reflect.ValueOf(whole))
	case v.Type() == reflect.TypeFor[protocol.Object]():
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{}`, `{"a":null}`, `{"x/y":[1,{"b":"\u2028"}]}`}).Draw(t, name)))
	case alternatives[v.Type()] != nil:
		p := reflect.New(reflect.TypeOf(rapid.SampledFrom(alternatives[v.Type()]).Draw(t, "variant")))
		fill(t, p.Elem(), "")
		v.Set(p)
	default:
		fillKind(t, v, name)
	}
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
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value, name)
		v.SetMapIndex(reflect.ValueOf(aWord(t)).Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString(aString(t, v.Type()))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, name))
	case reflect.Int64:
		v.SetInt(rapid.Int64Range(1, protocol.MaxSafeInteger).Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	default:
		panic(fmt.Sprintf("no generator for %s", v.Type()))
	}
}

// fillStruct leaves out some of what may be left out, and settles what has one value or
// excludes another.
func fillStruct(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if strings.HasSuffix(f.Tag.Get("json"), ",omitzero") && rapid.Bool().Draw(t, "without "+f.Name) {
			continue
		}
		fill(t, v.Field(i), f.Name)
	}
	switch v := v.Addr().Interface().(type) {
	case *protocol.ImagePart:
		v.Data, v.URL = aSource(t)
	case *protocol.FilePart:
		v.Data, v.URL = aSource(t)
	case *protocol.InitializeResult:
		v.ProtocolVersion = protocol.Version
	case *protocol.ServerCapabilities:
		v.Durability = rapid.SampledFrom([]string{"durable", "ephemeral"}).Draw(t, "durability")
	case *protocol.ClientCapabilities:
		if v.Deltas != nil && !*v.Deltas {
			v.ChainedSeq = new(true)
		}
	case *protocol.EventsReplayResult:
		v.Events = []protocol.Object{protocol.AppendEnvelope(nil, some[protocol.Envelope](t))}
	}
}

func aString(t *rapid.T, of reflect.Type) string {
	if words := choices[of]; words != nil {
		return rapid.SampledFrom(words).Draw(t, "word")
	}
	return aWord(t)
}

// aWord is a string that is not blank, with all that an encoder can get wrong.
func aWord(t *rapid.T) string {
	return "w" + rapid.SampledFrom([]string{"", " ", "<&>", "\"\\", "\u2028\u2029", "\x00\x7f", "é😀"}).Draw(t, "text")
}

func aSource(t *rapid.T) (data, url *string) {
	if rapid.Bool().Draw(t, "data") {
		return new(aWord(t)), nil
	}
	return nil, new(aWord(t))
}

func anInput(t *rapid.T) protocol.Input {
	if rapid.Bool().Draw(t, "string") {
		return protocol.TextInput(rapid.SampledFrom([]string{"", "hi"}).Draw(t, "input"))
	}
	return protocol.Input{Items: some[[]protocol.InputItem](t)}
}

func anItem(t *rapid.T) protocol.InputItem {
	item := protocol.InputItem{Type: rapid.SampledFrom([]protocol.InputType{"text", "image", "file"}).Draw(t, "type")}
	if item.Type == protocol.InputText {
		item.Text, item.Elements = aWord(t), some[[]protocol.TextElement](t)
		return item
	}
	item.Data, item.URL = aSource(t)
	item.MimeType = aWord(t)
	if item.Type == protocol.InputFile {
		item.Filename = new(aWord(t))
	}
	return item
}

func aServer(t *rapid.T) protocol.MCPServer {
	s := protocol.MCPServer{Type: rapid.SampledFrom([]protocol.MCPServerType{"stdio", "http", "sse"}).Draw(t, "type")}
	if s.Type == protocol.MCPStdio {
		s.Command, s.Args, s.Env = aWord(t), some[[]string](t), some[map[string]string](t)
		return s
	}
	s.URL, s.Headers = aWord(t), some[map[string]string](t)
	return s
}

func anOutcome(t *rapid.T) protocol.PermissionOutcome {
	if rapid.Bool().Draw(t, "cancelled") {
		return protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}
	}
	return protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: aWord(t), UpdatedInput: some[protocol.Object](t)}
}

func aCancelResult(t *rapid.T) protocol.TurnCancelResult {
	switch rapid.IntRange(0, 2).Draw(t, "outcome") {
	case 0:
		return protocol.TurnCancelResult{Outcome: protocol.CancelCancelled, TurnID: new(aWord(t))}
	case 1:
		return protocol.TurnCancelResult{Outcome: protocol.CancelUnconfirmed, TurnID: new(aWord(t))}
	}
	return protocol.TurnCancelResult{Outcome: protocol.CancelNoActiveTurn, ActiveTurnID: some[*string](t)}
}

// encodesTo draws values of a type and holds what they are encoded to against a
// definition of that name.
func encodesTo[T any](t *testing.T) {
	name := reflect.TypeFor[T]().Name()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		valid := judgeOf(t, Methods(), name)
		rapid.Check(t, func(t *rapid.T) {
			v := some[T](t)
			raw := protocol.Encode(v)
			if env, ok := any(v).(protocol.Envelope); ok {
				raw = protocol.AppendEnvelope(nil, env)
			}
			if err := valid(raw); err != nil {
				t.Errorf("%v\n%s", err, raw)
			}
		})
	})
}

func TestWhatIsEncodedIsValid(t *testing.T) {
	t.Parallel()
	encodesTo[protocol.Envelope](t)
	encodesTo[protocol.InitializeParams](t)
	encodesTo[protocol.InitializeResult](t)
	encodesTo[protocol.TurnStartParams](t)
	encodesTo[protocol.TurnStartResult](t)
	encodesTo[protocol.TurnCancelParams](t)
	encodesTo[protocol.TurnCancelResult](t)
	encodesTo[protocol.PermissionRespondParams](t)
	encodesTo[protocol.PermissionRespondResult](t)
	encodesTo[protocol.EventsReplayParams](t)
	encodesTo[protocol.EventsReplayResult](t)
	encodesTo[protocol.SessionCloseParams](t)
	encodesTo[protocol.SessionCloseResult](t)
	encodesTo[protocol.SessionListParams](t)
	encodesTo[protocol.SessionListResult](t)
	encodesTo[protocol.SessionSnapshotResult](t)
	encodesTo[protocol.SessionSubscribeParams](t)
	encodesTo[protocol.SessionSubscribeResult](t)
	encodesTo[protocol.SessionUnsubscribeParams](t)
	encodesTo[protocol.HarnessListResult](t)
	encodesTo[protocol.EventsSynced](t)
	encodesTo[protocol.EventsLagged](t)
	encodesTo[protocol.Fault](t)
}
