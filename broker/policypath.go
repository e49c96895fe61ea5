package broker

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"agent-server/protocol"
)

// Paths are compared lexically, segment by segment, after every . and .. is
// resolved: nothing here looks at a disk, so that the same call is ruled the same
// everywhere, and links are whoever's who may make them. The turn's directory alone
// has two names: a harness tells files by the real one, as its system does.

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
		m := c.matchFile(r.Path, p)
		worst, best = min(worst, m), max(best, m)
	}
	if r.Ruling == PolicyAllow {
		return worst
	}
	return best
}

// filesOf are the files that a call names, in its description and in its input.
func filesOf(described []string, input protocol.Object) []string {
	files := slices.Clone(described)
	if json.Valid(input) {
		addFiles(&files, json.NewDecoder(bytes.NewReader(input)), false)
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}

// addFiles adds the files in the next value of an input, however deep: a tool of
// many edits names one in each. meant is true where the member that holds the value
// says that files stand in it.
func addFiles(files *[]string, d *json.Decoder, meant bool) {
	token, err := d.Token()
	if err != nil {
		return
	}
	switch token := token.(type) {
	case string:
		if meant {
			*files = append(*files, token)
		}
	case json.Delim:
		for d.More() {
			inner := meant
			if token == '{' {
				name, _ := d.Token()
				inner = holdsFiles(name.(string)) // what is JSON has strings there
			}
			addFiles(files, d, inner)
		}
		_, _ = d.Token() // its end
	}
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
func (c Call) matchFile(glob, file string) match {
	if strings.HasPrefix(file, "~") || strings.ContainsAny(file, "$`\\\x00") || isURI(file) || !path.IsAbs(c.Cwd) {
		return unsure
	}
	file, under, inside := c.place(file)
	switch {
	case path.IsAbs(glob):
		globbed := strings.Split(glob[1:], "/")
		return sure(segments(globbed, strings.Split(file[1:], "/")) ||
			inside && segments(globbed, strings.Split(path.Join(c.Cwd, under)[1:], "/")))
	case !inside:
		return never
	}
	return sure(segments(strings.Split(glob, "/"), strings.Split(under, "/")))
}

// place is where a file is, by the real name of the turn's directory where that has
// one; and under which name it is in that directory, false where it is not in it.
func (c Call) place(file string) (abs, under string, inside bool) {
	base, named := orElse(c.RealCwd, c.Cwd), strings.TrimSuffix(path.Clean(c.Cwd), "/")
	rest, ok := strings.CutPrefix(file, named+"/")
	if !ok { // //w/x is /w/x, too; but /w/../x is first what lies beside the real /w
		rest, ok = strings.CutPrefix(path.Clean(file), named+"/")
	}
	switch {
	case ok:
		file = path.Join(base, rest)
	case !path.IsAbs(file):
		file = path.Join(base, file)
	}
	file = path.Clean(file)
	under, inside = strings.CutPrefix(file, strings.TrimSuffix(path.Clean(base), "/")+"/")
	return file, under, inside
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// isURI says whether a file reads as a URI, which names another place than its text.
func isURI(file string) bool {
	return strings.Contains(file, "://") || strings.HasPrefix(strings.ToLower(file), "file:")
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
