package agentserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agent-server/protocol"
)

// TestProtocolPage decodes every line that the page shows, with the decoders that
// serve it.
func TestProtocolPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(page, -1) {
		for line := range bytes.Lines(block[1]) {
			n++
			if err := shown(line); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d lines were found on the page", n)
	}
}

// shown decodes an envelope, or a request by its method.
func shown(line []byte) error {
	var m struct {
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	var faults []protocol.Fault
	switch m.Method {
	case "":
		_, err := protocol.DecodeEnvelope(bytes.TrimSpace(line))
		return err
	case protocol.MethodInitialize:
		_, faults = protocol.DecodeInitialize(m.Params)
	case protocol.MethodTurnStart:
		_, faults = protocol.DecodeTurnStart(m.Params, func(protocol.HarnessID) bool { return true })
	case protocol.MethodTurnCancel:
		_, faults = protocol.DecodeTurnCancel(m.Params)
	case protocol.MethodPermissionRespond:
		_, faults = protocol.DecodePermissionRespond(m.Params)
	case protocol.MethodEventsReplay:
		_, faults = protocol.DecodeEventsReplay(m.Params)
	case protocol.MethodSessionClose:
		_, faults = protocol.DecodeSessionClose(m.Params)
	case protocol.MethodShutdown:
	default:
		return protocol.ErrMethodNotFound(m.Method)
	}
	if faults != nil {
		return &protocol.MalformedError{What: m.Method, Faults: faults}
	}
	return nil
}

// TestLinks follows every relative link of the pages.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			to := string(m[1])
			if strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), to)); err != nil {
				t.Errorf("%s links to %s: %v", page, to, err)
			}
		}
	}
}
