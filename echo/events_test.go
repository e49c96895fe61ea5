package echo_test

import (
	"testing"

	"agent-server/echo"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// input is the way to write an array input in a table.
func input(items ...protocol.InputItem) protocol.Input { return protocol.Input{Items: items} }

func TestEventsOfAString(t *testing.T) {
	t.Parallel()
	got := echo.Events(echo.Spec{SessionID: "s", TurnID: "t", Input: protocol.TextInput("hi"), Timestamp: 7})
	want := []protocol.Event{
		&protocol.MessageStarted{SessionID: "s", TurnID: "t", MessageID: "echo-t", Role: protocol.RoleUser, Timestamp: 7},
		&protocol.MessagePart{SessionID: "s", TurnID: "t", MessageID: "echo-t", Timestamp: 7, Part: &protocol.TextPart{
			PartHead: protocol.PartHead{ID: "echo-t-0", SessionID: "s", MessageID: "echo-t"},
			Text:     "hi", State: protocol.StateDone,
		}},
		&protocol.MessageEnded{SessionID: "s", TurnID: "t", MessageID: "echo-t", Timestamp: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("echo (-want +got):\n%s", diff)
	}
}

func TestHowManyParts(t *testing.T) {
	t.Parallel()
	text := protocol.InputItem{Type: protocol.InputText, Text: "x"}
	tests := []struct {
		name  string
		input protocol.Input
		want  int
	}{
		{"an empty string is one part", protocol.TextInput(""), 1},
		{"an empty array is none", input(), 0},
		{"each item is one", input(text, text, text), 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events := echo.Events(echo.Spec{TurnID: "t", Input: tt.input})
			parts := events[1 : len(events)-1]
			if len(parts) != tt.want {
				t.Fatalf("%d parts, want %d", len(parts), tt.want)
			}
			for i, e := range parts {
				p := e.(*protocol.MessagePart)
				if p.PartIndex != float64(i) || p.Part.Head().ID != echo.PartID("t", i) || p.OutputIndex != 0 {
					t.Errorf("part %d has address (%v, %v) and id %q", i, p.OutputIndex, p.PartIndex, p.Part.Head().ID)
				}
			}
		})
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		model *string
		want  *string
	}{
		{"absent", nil, nil},
		{"empty counts as absent", new(""), nil},
		{"given", new("m1"), new("m1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			started := echo.Events(echo.Spec{TurnID: "t", Model: tt.model})[0].(*protocol.MessageStarted)
			if diff := cmp.Diff(tt.want, started.Model); diff != "" {
				t.Errorf("model (-want +got):\n%s", diff)
			}
		})
	}
}

// onlyPart is the one part of the echo of one item.
func onlyPart(t *testing.T, item protocol.InputItem) protocol.Part {
	t.Helper()
	events := echo.Events(echo.Spec{SessionID: "s", TurnID: "t", Input: input(item)})
	if len(events) != 3 {
		t.Fatalf("%d events, want 3", len(events))
	}
	return events[1].(*protocol.MessagePart).Part
}

func TestParts(t *testing.T) {
	t.Parallel()
	head := protocol.PartHead{ID: "echo-t-0", SessionID: "s", MessageID: "echo-t"}
	withMeta := func(meta string) protocol.PartHead {
		h := head
		h.Meta = protocol.Object(meta)
		return h
	}
	tests := []struct {
		name string
		item protocol.InputItem
		want protocol.Part
	}{
		{"text, its own id unused",
			protocol.InputItem{Type: protocol.InputText, ID: new("mine"), Text: "x"},
			&protocol.TextPart{PartHead: head, Text: "x", State: protocol.StateDone}},
		{"no elements, no _meta",
			protocol.InputItem{Type: protocol.InputText, Text: "x", Elements: []protocol.TextElement{}},
			&protocol.TextPart{PartHead: head, Text: "x", State: protocol.StateDone}},
		{"elements",
			protocol.InputItem{Type: protocol.InputText, Text: "a @b", Elements: []protocol.TextElement{
				{ByteRange: [2]int64{2, 4}, Placeholder: new("<b>\u2028")}, {ByteRange: [2]int64{0, 900}}, {Placeholder: new("")}}},
			&protocol.TextPart{PartHead: withMeta(`{"elements":[{"byteRange":[2,4],"placeholder":"<b>\u2028"},{"byteRange":[0,900]},{"byteRange":[0,0],"placeholder":""}]}`),
				Text: "a @b", State: protocol.StateDone}},
		{"an image loses its filename",
			protocol.InputItem{Type: protocol.InputImage, Data: new("QUJD"), MimeType: "image/png", Filename: new("f.png")},
			&protocol.ImagePart{PartHead: head, Data: new("QUJD"), MimeType: "image/png"}},
		{"an image by url",
			protocol.InputItem{Type: protocol.InputImage, URL: new("https://h/i"), MimeType: "image/png"},
			&protocol.ImagePart{PartHead: head, URL: new("https://h/i"), MimeType: "image/png"}},
		{"a file keeps its filename",
			protocol.InputItem{Type: protocol.InputFile, URL: new("https://h/f"), MimeType: "text/plain", Filename: new("f.txt")},
			&protocol.FilePart{PartHead: head, URL: new("https://h/f"), MimeType: "text/plain", Filename: new("f.txt")}},
		{"a file by data, without a filename",
			protocol.InputItem{Type: protocol.InputFile, Data: new("QUJD"), MimeType: "text/plain"},
			&protocol.FilePart{PartHead: head, Data: new("QUJD"), MimeType: "text/plain"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, onlyPart(t, tt.item)); diff != "" {
				t.Errorf("part (-want +got):\n%s", diff)
			}
		})
	}
}

// The same spec gives the same events, and none of them is shared: whoever
// holds one echo cannot be changed through another.
func TestEventsAreDerived(t *testing.T) {
	t.Parallel()
	spec := echo.Spec{SessionID: "s", TurnID: "t", Model: new("m"), Timestamp: 9, Input: input(
		protocol.InputItem{Type: protocol.InputText, Text: "x", Elements: []protocol.TextElement{{ByteRange: [2]int64{0, 1}}}},
	)}
	first, second := echo.Events(spec), echo.Events(spec)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two echoes of one turn differ:\n%s", diff)
	}
	for i := range first {
		if first[i] == second[i] {
			t.Errorf("event %d is one object in two echoes", i)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	spec := echo.Spec{SessionID: "s", TurnID: "t", Input: protocol.TextInput("hello"), Timestamp: 1}
	b.ReportAllocs()
	for b.Loop() {
		echo.Events(spec)
	}
}
