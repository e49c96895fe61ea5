package acp

import (
	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// parent is the call whose sub-agent an update is of, by its _meta; "" at top level.
// A call that is named so runs a sub-agent.
func (t *translator) parent(meta jsontext.Value) string {
	if meta.Kind() != '{' {
		return ""
	}
	m := read[struct {
		Own        text `json:"agent-server/parentToolCallId"`
		ClaudeCode struct {
			Parent text `json:"parentToolUseId"`
		} `json:"claudeCode"`
	}](meta)
	owner := string(m.Own)
	if owner == "" {
		owner = string(m.ClaudeCode.Parent)
	}
	tl := t.tools[owner]
	if tl == nil {
		return "" // of a call that was never shown nothing can hang
	}
	if !tl.runs {
		tl.runs = true
		t.emit(harness.ToolSet{Call: owner, Kind: protocol.KindTask, Subagent: &protocol.Subagent{}})
	}
	return owner
}
