package acp

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

func TestPromptBlocks(t *testing.T) {
	t.Parallel()
	const able = `"agentCapabilities":{"promptCapabilities":{"image":true,"embeddedContext":true}}`
	items := func(items ...protocol.InputItem) protocol.Input { return protocol.Input{Items: items} }
	image := protocol.InputItem{Type: protocol.InputImage, Data: new("AA=="), MimeType: "image/png"}
	file := func(mime, data string) protocol.InputItem {
		return protocol.InputItem{Type: protocol.InputFile, Data: &data, MimeType: mime, Filename: new("a b.txt")}
	}
	tests := []struct {
		name  string
		can   string
		input protocol.Input
		want  string // the prompt, or why it is rejected
	}{
		{"text", "", protocol.TextInput("hé"), `[{"type":"text","text":"hé"}]`},
		{"empty text", "", protocol.TextInput(""), `[{"type":"text","text":""}]`},
		{"nothing", "", items(), `[]`},
		{"texts", "", items(protocol.InputItem{Type: protocol.InputText, Text: "a"}, protocol.InputItem{Type: protocol.InputText, Text: "b"}),
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"image", able, items(image), `[{"type":"image","mimeType":"image/png","data":"AA=="}]`},
		{"image it cannot see", "", items(image), "the agent takes no images"},
		{"image by address", "", items(protocol.InputItem{Type: protocol.InputImage, URL: new("http://h/p/cat.png?x"), MimeType: "image/png"}),
			`[{"type":"resource_link","mimeType":"image/png","uri":"http://h/p/cat.png?x","name":"cat.png"}]`},
		{"file by address", "", items(protocol.InputItem{Type: protocol.InputFile, URL: new("file:///w/"), MimeType: "a/b", Filename: new("n")}),
			`[{"type":"resource_link","mimeType":"a/b","uri":"file:///w/","name":"n"}]`},
		{"address without a name", "", items(protocol.InputItem{Type: protocol.InputFile, URL: new("http://h"), MimeType: "a/b"}),
			`[{"type":"resource_link","mimeType":"a/b","uri":"http://h","name":"file"}]`},
		{"file of text", able, items(file("text/plain", "aGk=")),
			`[{"type":"resource","resource":{"uri":"attachment:///a%20b.txt","mimeType":"text/plain","text":"hi"}}]`},
		{"file of bytes", able, items(file("a/b", "AAE=")),
			`[{"type":"resource","resource":{"uri":"attachment:///a%20b.txt","mimeType":"a/b","blob":"AAE="}}]`},
		{"text that is none", able, items(file("text/plain", "/w==")),
			`[{"type":"resource","resource":{"uri":"attachment:///a%20b.txt","mimeType":"text/plain","blob":"/w=="}}]`},
		{"file it cannot read", "", items(file("a/b", "AAE=")), "the agent takes no embedded files, only their addresses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			initialize := `"result":{"protocolVersion":1}`
			if tt.can != "" {
				initialize = `"result":{"protocolVersion":1,` + tt.can + `}`
			}
			f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, map[string]string{"initialize": initialize})
			f.step(harness.Begin{Turn: "t", Input: tt.input, Config: config()})
			if strings.HasPrefix(tt.want, "the agent") {
				expect(t, "told", story(f.updates[1:]), "rejected invalid_request: "+tt.want)
				return
			}
			expect(t, "written", f.sent()[2:], `session/prompt {"sessionId":"s-1","prompt":`+tt.want+`}`)
		})
	}
}
