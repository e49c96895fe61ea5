package codexappserver

import (
	"path"
	"strconv"
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Codex tells a patch as a list of files. What it calls a diff is three things: the
// whole content of a file that is added, that of one that is deleted, and unified
// hunks of one that is changed, behind which a line in words says where the file was
// moved to. Our vocabulary has the text before and after; of a changed file only what
// the hunks hold is known, so that each hunk is a diff of its own.
//
// A patch whose check fails makes no item at all: the model is told, and nobody else.

// change is what happens to one file.
type change struct {
	// Path is absolute.
	Path rpcline.Text `json:"path"`
	// Kind is add, delete or update; MovePath, where an updated file goes.
	Kind struct {
		Type     rpcline.Text `json:"type"`
		MovePath rpcline.Text `json:"move_path"`
	} `json:"kind"`
	// Diff is unified hunks for an update, the raw content else.
	Diff rpcline.Text `json:"diff"`
}

// changeTool describes a patch.
func changeTool(f fields) tool {
	changes := rpcline.List[change](f.Changes)
	tl := tool{name: "fileChange", kind: changeKind(changes), input: members(f.raw, "changes")}
	var paths []string
	for _, c := range changes {
		paths = append(paths, string(c.Path), string(c.Kind.MovePath))
	}
	tl.locations = located(paths...)
	switch len(changes) {
	case 0:
	case 1:
		tl.title = string(changes[0].Kind.Type) + " " + path.Base(string(changes[0].Path))
	default:
		tl.title = "change " + strconv.Itoa(len(changes)) + " files"
	}
	return tl
}

// changeKind is what a patch does, where all of it does the same.
func changeKind(changes []change) protocol.ToolKind {
	kind := protocol.ToolKind("")
	for _, c := range changes {
		is := protocol.KindEdit
		switch {
		case c.Kind.Type == "delete":
			is = protocol.KindDelete
		case c.Kind.MovePath != "":
			is = protocol.KindMove
		}
		if kind != "" && kind != is {
			return protocol.KindEdit
		}
		kind = is
	}
	if kind == "" {
		return protocol.KindEdit
	}
	return kind
}

// changeText says what was changed, a line for each file.
func changeText(f fields) string {
	var b strings.Builder
	for _, c := range rpcline.List[change](f.Changes) {
		b.WriteString(string(c.Kind.Type) + " " + string(c.Path))
		if c.Kind.MovePath != "" {
			b.WriteString(" to " + string(c.Kind.MovePath))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// diffs are the changes for display: a new and a deleted file whole, of an updated
// one each hunk.
func diffs(raw jsontext.Value) []protocol.ToolContent {
	var out []protocol.ToolContent
	for _, c := range rpcline.List[change](raw) {
		switch c.Kind.Type {
		case "add":
			out = append(out, &protocol.DiffContent{Path: string(c.Path), NewText: string(c.Diff)})
		case "delete":
			out = append(out, &protocol.DiffContent{Path: string(c.Path), OldText: new(string(c.Diff))})
		default:
			for _, h := range hunks(string(c.Diff)) {
				out = append(out, &protocol.DiffContent{Path: string(c.Path), OldText: new(h.before), NewText: h.after})
			}
		}
	}
	return out
}

// hunk is one stretch of a file, before and after.
type hunk struct{ before, after string }

// hunks takes a unified diff apart. What stands behind the last hunk (where a file
// was moved to) is none of it.
func hunks(diff string) []hunk {
	var list []hunk
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@") {
			list = append(list, hunk{})
			continue
		}
		if len(list) == 0 {
			continue
		}
		h := &list[len(list)-1]
		switch line[0] {
		case ' ':
			h.before += line[1:]
			h.after += line[1:]
		case '-':
			h.before += line[1:]
		case '+':
			h.after += line[1:]
		}
	}
	return list
}

// patchUpdated takes a patch that is still being written.
func (t *translator) patchUpdated(p params) {
	it := t.items[itemKey{string(p.ThreadID), string(p.ItemID)}]
	if it == nil || it.closed || it.kind != "fileChange" {
		return
	}
	f := fields{Type: "fileChange", Changes: p.Changes, raw: jsontext.Value(`{"changes":` + string(p.Changes) + `}`)}
	if p.Changes.Kind() != '[' {
		return
	}
	it.tool = changeTool(f)
	t.emit(harness.ToolSet{Call: it.call, Kind: it.tool.kind, Title: it.tool.title, Locations: it.tool.locations})
}

// progressed takes what an MCP server says of its own progress.
func (t *translator) progressed(p params) {
	it := t.items[itemKey{string(p.ThreadID), string(p.ItemID)}]
	if it == nil || it.closed || it.pending || p.Message == "" {
		return
	}
	t.emit(harness.ToolSet{Call: it.call, State: &protocol.InProgressState{
		Input: it.tool.input, Title: new(string(p.Message)),
	}})
}
