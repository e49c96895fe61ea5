package compose

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// defs are definitions by name: a Go type's own name, a union's, or a variant's.
type defs = jsonschema.Definitions

// roots are the types that definitions are made of; what they hold comes along.
func roots() []reflect.Type {
	types := []reflect.Type{reflect.TypeFor[protocol.Envelope](), reflect.TypeFor[protocol.InputItem]()}
	for _, u := range unions() {
		for _, v := range u.variants {
			types = append(types, v.of)
		}
	}
	for _, m := range methods() {
		types = append(types, m.params, m.result)
	}
	for _, n := range notifications() {
		types = append(types, n.params)
	}
	for _, e := range faults() {
		types = append(types, e.data)
	}
	return types
}

// reflectAll makes a definition of every struct that is reached from the roots, as
// the library sees it: members in order, required unless omitzero, comments.
func reflectAll(src *sources) (defs, error) {
	types := map[string]reflect.Type{}
	r := &jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: true,
		CommentMap:                src.comments,
		Mapper:                    mapType,
		// The library forgets which type a definition was made of; rewording needs it.
		Namer: func(t reflect.Type) string {
			types[t.Name()] = t
			return t.Name()
		},
	}
	// Two roots that reach the same struct make the same definition of it.
	all := defs{}
	for _, t := range roots() {
		// What is an empty object, or a plain list, has no definition.
		if t != nil && t.Kind() == reflect.Struct {
			maps.Copy(all, r.ReflectFromType(t).Definitions)
		}
	}
	for name, def := range all {
		if def.Type != "object" || def.Properties == nil {
			return nil, fmt.Errorf("making a definition of %s: it is no struct", name)
		}
		rewordAll(def, types[name])
		def.AdditionalProperties = jsonschema.TrueSchema
	}
	return all, nil
}

// mapType gives what the library cannot know of a type; nil leaves it to the library.
func mapType(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[protocol.Object]():
		return &jsonschema.Schema{Type: "object"}
	case t == reflect.TypeFor[protocol.Input]():
		return ref("Input")
	case t.Kind() == reflect.Interface:
		return ref(t.Name())
	case t.Kind() == reflect.Int64:
		return &jsonschema.Schema{Type: "integer", Minimum: lowest, Maximum: highest}
	case t.Kind() == reflect.String && t.PkgPath() != "":
		return ref(t.Name())
	}
	return nil
}

// refPrefix is where definitions stand in a JSON Schema document.
const refPrefix = "#/$defs/"

// ref refers to a definition.
func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: refPrefix + name} }
