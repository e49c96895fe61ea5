package session_test

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

// secretive is a config that holds one secret in each of its places.
func secretive(c *protocol.RunConfig) {
	c.APIKey = new("key-12345678")
	c.Env = map[string]string{
		"TOKEN": "env-12345678", "LONGER": "env-12345678-and-more", "SHORT": "on",
		"QUOTED": `quo"ted<12345`, "SPACED": "sp ace/1234",
		"PEM": "-----BEGIN-----\r\nline-87654321\r\n",
	}
	c.MCPServers = map[string]protocol.MCPServer{
		"local":  {Type: protocol.MCPStdio, Command: "c", Env: map[string]string{"T": "mcp-12345678"}},
		"remote": {Type: protocol.MCPHTTP, URL: "http://h", Headers: map[string]string{"Authorization": "Bearer hdr-12345678"}},
	}
}

// errorTexts are the messages of a step's errors and of its turn's end.
func errorTexts(r *rig) (texts []string) {
	for _, e := range r.last.Events {
		switch ev := e.Event.(type) {
		case *protocol.ErrorEvent:
			texts = append(texts, ev.Message)
		case *protocol.TurnEnded:
			texts = append(texts, ev.Error.Message)
		}
	}
	return texts
}

// Whichever way a secret of the config comes back, no error shows it.
func TestErrorsShowNoSecrets(t *testing.T) {
	t.Parallel()
	fault := func(s string) protocol.TurnError {
		return protocol.TurnError{Category: protocol.CategoryAuth, Message: s}
	}
	ways := map[string]func(r *rig, text string){
		"exit":     func(r *rig, text string) { r.exit(1, text) },
		"rejected": func(r *rig, text string) { r.says(harness.Rejected{Error: fault(text)}) },
		"finished": func(r *rig, text string) {
			r.says(harness.Finished{Reason: protocol.StopError, Error: new(fault(text))})
		},
		"notice": func(r *rig, text string) { r.says(harness.Notice{Message: text}) },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for said, want := range map[string]string{
				"bad key key-12345678, key-12345678!": "bad key [redacted], [redacted]!",
				"bad env-12345678":                    "bad [redacted]",
				"bad env-12345678-and-more":           "bad [redacted]",
				"on it":                               "on it",
				"bad line-87654321 there":             "bad [redacted] there",
				"bad mcp-12345678":                    "bad [redacted]",
				"bad Bearer hdr-12345678":             "bad [redacted]",
				"bad hdr-12345678":                    "bad [redacted]",
				"cut at key-12345":                    "cut at [redacted]",
				"nothing secret":                      "nothing secret",
				`{"key":"quo\"ted\u003c12345"}`:       `{"key":"[redacted]"}`,
				`{"key":"quo\"ted<12345"}`:            `{"key":"[redacted]"}`,
				"?key=quo%22ted%3C12345&x":            "?key=[redacted]&x",
				"?key=quo%22ted%3c12345&x":            "?key=[redacted]&x",
				"?key=sp+ace%2F1234":                  "?key=[redacted]",
				"/sp%20ace%2F1234/":                   "/[redacted]/",
			} {
				r := newRig(t)
				r.running("t1", secretive)
				way(r, said)
				texts := errorTexts(r)
				if len(texts) == 0 {
					t.Fatal("no error is said")
				}
				for _, text := range texts {
					if !strings.HasSuffix(text, want) {
						t.Errorf("%q is shown as %q", said, text)
					}
				}
			}
		})
	}
}

// A secret that the bound on last words cuts is not shown by half.
func TestCutSecretIsNotShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1", secretive)
	r.exit(1, strings.Repeat("x", 489)+" key-12345678")
	for _, text := range errorTexts(r) {
		if strings.Contains(text, "key-") || !strings.HasSuffix(text, "x [redacted]") {
			t.Errorf("shown as %q", text)
		}
	}
}
