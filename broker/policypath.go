package broker

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Paths are compared lexically, segment by segment, after every . and .. is
// resolved: nothing here looks at a disk, so that the same call is ruled the same
// everywhere, and links are whoever's who may make them.

// fileWords are how the names of those members of an input end that hold files,
// whatever tool it is: file_path, notebookPath, paths, target_file, source. An allow
// that overlooks one would allow what nobody looked at, so the list is generous.
var fileWords = []string{
	"path", "paths", "file", "files", "dir", "dirs", "directory", "directories", "folder", "filename",
	"source", "destination", "src", "dst", "dest", "target", "cwd",
}

// holdsFiles says of an input's member whether files stand in it.
func holdsFiles(name string) bool {
	name = strings.ToLower(name)
	return name == "from" || name == "to" ||
		slices.ContainsFunc(fileWords, func(w string) bool { return strings.HasSuffix(name, w) })
}

// matchesPath holds the rule's glob against every file of the call.
func (r ToolRule) matchesPath(c facts) match {
	if r.Path == "" {
		return certain
	}
	if len(c.files) == 0 {
		return never
	}
	worst, best := certain, never
	for _, p := range c.files {
		m := matchFile(r.Path, c.Cwd, p)
		worst, best = min(worst, m), max(best, m)
	}
	if r.Ruling == PolicyAllow {
		return worst
	}
	return best
}

// filesOf are the files that a call names, in its description and in its input.
func filesOf(described []string, input map[string]json.RawMessage) []string {
	files := slices.Clone(described)
	for name, raw := range input {
		if !holdsFiles(name) {
			continue
		}
		var one string
		var several []string
		if json.Unmarshal(raw, &one) == nil {
			several = []string{one}
		} else if json.Unmarshal(raw, &several) != nil {
			continue // no files, whatever it is called
		}
		files = append(files, several...)
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}

// members are those of the call's input; none where that is no object.
func (c Call) members() map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if c.RawInput != nil && json.Unmarshal(c.RawInput, &members) != nil {
		return nil
	}
	return members
}

// matchFile holds a glob against one file, lexically: dots are resolved first, so
// that nothing climbs out of what the glob names. A file that is not what it reads
// as, because something will expand it or reads it by another system's rules, is
// never sure.
func matchFile(glob, cwd, file string) match {
	if strings.HasPrefix(file, "~") || strings.ContainsAny(file, "$`\\\x00") || !path.IsAbs(cwd) {
		return unsure
	}
	if !path.IsAbs(file) {
		file = path.Join(cwd, file)
	}
	file = path.Clean(file)
	if !path.IsAbs(glob) {
		under, inside := strings.CutPrefix(file, strings.TrimSuffix(path.Clean(cwd), "/")+"/")
		if !inside {
			return never
		}
		return sure(segments(strings.Split(glob, "/"), strings.Split(under, "/")))
	}
	return sure(segments(strings.Split(glob[1:], "/"), strings.Split(file[1:], "/")))
}

// segments says whether a glob matches a path, segment by segment; like wildcard
// it goes back to the last ** only.
func segments(glob, file []string) bool {
	star, retry := -1, 0
	i, j := 0, 0
	for j < len(file) {
		switch {
		case i < len(glob) && glob[i] == "**":
			star, retry = i, j
			i++
		case i < len(glob) && wildcard(glob[i], file[j]):
			i, j = i+1, j+1
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	for i < len(glob) && glob[i] == "**" {
		i++
	}
	return i == len(glob)
}
