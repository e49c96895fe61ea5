package compose

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
)

// The comments of package protocol speak to who writes Go. Here they are turned to
// who reads the wire: a member is called by its name there, and what is nil is absent.

// siblings is a comment's pointer to Go constants; a schema lists the words itself.
var siblings = regexp.MustCompile(`; see \w+ and its siblings`)

// idioms replace what only Go has; the longer come first.
var idioms = strings.NewReplacer(
	" Envelopes stay encoded: the log holds them so.", "",
	"nil (null on the wire) when", "null when",
	"is nil when absent", "may be absent",
	"nil when absent", "may be absent",
	`"" and absent when`, "absent when",
	`"" when absent`, "may be absent",
	"is always Version", "is always 2",
	"nil", "absent",
)

// word is what a Go identifier, and much else, looks like.
var word = regexp.MustCompile(`\w+`)

// reword turns the description of a definition or of one of its members. Without
// members nothing is renamed.
func reword(text string, members map[string]string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = idioms.Replace(siblings.ReplaceAllString(text, ""))
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if name := members[w]; name != "" {
			return "`" + name + "`"
		}
		return w
	})
}

// memberNames maps the Go names of a struct's fields to their names on the wire,
// those of embedded structs too.
func memberNames(t reflect.Type) map[string]string {
	names := map[string]string{}
	if t.Kind() != reflect.Struct {
		return names
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[f.Name] = name
		}
	}
	return names
}

// rewordAll turns every description of a definition that was made of t.
func rewordAll(def *jsonschema.Schema, t reflect.Type) {
	names := memberNames(t)
	// The type's own name opens its comment, and one type is called as its member.
	def.Description = reword(def.Description, without(names, t.Name()))
	for p := def.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = reword(p.Value.Description, names)
	}
}

// without is names but for one.
func without(names map[string]string, name string) map[string]string {
	left := map[string]string{}
	for k, v := range names {
		if k != name {
			left[k] = v
		}
	}
	return left
}
