package codexappserver

import (
	"encoding/base64"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

// dot is a PNG of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC"

func itemsOf(items ...protocol.InputItem) protocol.Input { return protocol.Input{Items: items} }

func TestInputs(t *testing.T) {
	t.Parallel()
	webp := base64.StdEncoding.EncodeToString([]byte("RIFF\x00\x00\x00\x00WEBPVP8 ????"))
	text := base64.StdEncoding.EncodeToString([]byte("hello"))
	for want, in := range map[string]protocol.Input{
		`[{"type":"text","text":""}]`:  protocol.TextInput(""),
		`[]`:                           itemsOf(),
		`[{"type":"text","text":"a"}]`: itemsOf(protocol.InputItem{Type: protocol.InputText, Text: "a"}),
		`[{"type":"image","url":"data:image/png;base64,` + dot + `"}]`:   itemsOf(protocol.InputItem{Type: protocol.InputImage, Data: new(dot), MimeType: "image/png"}),
		`[{"type":"image","url":"data:image/webp;base64,` + webp + `"}]`: itemsOf(protocol.InputItem{Type: protocol.InputImage, Data: &webp, MimeType: "image/webp"}),
		`[{"type":"image","url":"https://x/y.png"}]`:                     itemsOf(protocol.InputItem{Type: protocol.InputImage, URL: new("https://x/y.png")}),
		`[{"type":"text","text":"Attached: a.txt\n\nhello"}]`:            itemsOf(protocol.InputItem{Type: protocol.InputFile, Data: &text, Filename: new("a.txt")}),
		`[{"type":"text","text":"Attached: attachment at http://x"}]`:    itemsOf(protocol.InputItem{Type: protocol.InputFile, URL: new("http://x")}),
	} {
		items, err := inputItems(in)
		if got := string(protocol.Encode(items)); got != want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

// Codex runs a turn without an image that it cannot read, and says nothing: it is
// refused here.
func TestLaw177_unreadableImagesAreRefused(t *testing.T) {
	t.Parallel()
	for name, it := range map[string]protocol.InputItem{
		"no base64":    {Type: protocol.InputImage, Data: new("?"), MimeType: "image/png"},
		"no image":     {Type: protocol.InputImage, Data: new("AAAA"), MimeType: "image/png"},
		"data url":     {Type: protocol.InputImage, URL: new("data:image/png;base64,AAAA")},
		"plain data":   {Type: protocol.InputImage, URL: new("data:image/png,x")},
		"local file":   {Type: protocol.InputImage, URL: new("file:///etc/passwd")},
		"nothing":      {Type: protocol.InputImage},
		"binary file":  {Type: protocol.InputFile, Data: new("/w==")},
		"unknown type": {Type: "audio"},
	} {
		f := newFake(t, harness.Launch{Config: config()}, nil)
		f.step(harness.Begin{Input: itemsOf(it), Config: config()})
		if r := last[harness.Rejected](f); r.Error.Category != protocol.CategoryInvalidRequest || strings.Contains(strings.Join(f.written, ""), "turn/start") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
