package echo_test

import (
	"fmt"
	"strings"
	"testing"

	"agent-server/echo"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyItem draws an input item of any type, with an id of its own or without.
func anyItem(t *rapid.T) protocol.InputItem {
	text := rapid.String()
	item := protocol.InputItem{Type: rapid.SampledFrom([]protocol.InputType{protocol.InputText, protocol.InputImage, protocol.InputFile}).Draw(t, "type")}
	if rapid.Bool().Draw(t, "own id") {
		item.ID = new(text.Draw(t, "id"))
	}
	if item.Type == protocol.InputText {
		item.Text = text.Draw(t, "text")
		for range rapid.IntRange(0, 2).Draw(t, "elements") {
			item.Elements = append(item.Elements, protocol.TextElement{Placeholder: new(text.Draw(t, "placeholder"))})
		}
		return item
	}
	item.Data, item.MimeType, item.Filename = new(text.Draw(t, "data")), text.Draw(t, "kind"), new(text.Draw(t, "filename"))
	return item
}

// anySpec draws what an echo is made of.
func anySpec(t *rapid.T) echo.Spec {
	s := echo.Spec{
		SessionID: rapid.String().Draw(t, "session"), TurnID: rapid.StringN(1, -1, -1).Draw(t, "turn"),
		Input: input(rapid.SliceOfN(rapid.Custom(anyItem), 0, 4).Draw(t, "items")...),
	}
	if rapid.Bool().Draw(t, "text") {
		s.Input = protocol.TextInput(rapid.String().Draw(t, "input"))
	}
	if rapid.Bool().Draw(t, "model") {
		s.Model = new(rapid.String().Draw(t, "name"))
	}
	return s
}

// spelled is an echo as its lines at a time, but for the time.
func spelled(s echo.Spec, at int64) (lines []string) {
	s.Timestamp = at
	time := fmt.Sprintf(`,"timestamp":%d}`, at)
	for _, ev := range echo.Events(s) {
		line, ok := strings.CutSuffix(string(protocol.AppendEvent(nil, ev)), time)
		if !ok {
			line += " is not of that time"
		}
		lines = append(lines, line)
	}
	return lines
}

// Law 57: whoever minted the turn id predicts the whole echo but its time, byte
// for byte; ids and places follow from the turn id and the item's place alone.
func TestLaw57_echoIsPredicted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		if diff := cmp.Diff(spelled(s, 0), spelled(s, rapid.Int64Range(1, protocol.MaxSafeInteger).Draw(t, "at"))); diff != "" {
			t.Fatalf("predicted and sent (-predicted +sent):\n%s", diff)
		}
		placed(t, s)
	})
}

// placed checks the ids and the addresses of an echo.
func placed(t *rapid.T, s echo.Spec) {
	events := echo.Events(s)
	for i, ev := range events[1 : len(events)-1] {
		p, ok := ev.(*protocol.MessagePart)
		if !ok {
			t.Fatalf("event %d is a %T", i+1, ev)
		}
		if p.MessageID != echo.MessageID(s.TurnID) || p.Part.Head().ID != echo.PartID(s.TurnID, i) || p.OutputIndex != 0 || p.PartIndex != float64(i) {
			t.Fatalf("part %d is %s of %s, at %v, %v", i, p.Part.Head().ID, p.MessageID, p.OutputIndex, p.PartIndex)
		}
	}
}
