package fakemodel

import "encoding/json"

// schema is the part of JSON Schema that CLIs use to ask for small structured answers.
type schema struct {
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
	Const      any               `json:"const"`
	AnyOf      []schema          `json:"anyOf"`
}

// sample makes a JSON value that fits a schema; one it cannot read gives {}.
func sample(text string) string {
	var s schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return "{}"
	}
	out, err := json.Marshal(s.value())
	if err != nil {
		return "{}"
	}
	return string(out)
}

func (s schema) value() any {
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].value()
	}
	return s.typed()
}

// typed is the smallest sensible value of the schema's type. An object has its required
// members and no others, so that an optional one never changes what a CLI does.
func (s schema) typed() any {
	switch s.firstType() {
	case "string":
		return "Fake title"
	case "number", "integer":
		return 0
	case "boolean":
		return false
	case "array":
		return []any{}
	case "null":
		return nil
	}
	object := map[string]any{}
	for _, name := range s.Required {
		object[name] = s.Properties[name].value()
	}
	return object
}

// firstType reads a type that may be one name or a list of them.
func (s schema) firstType() any {
	if names, many := s.Type.([]any); many && len(names) > 0 {
		return names[0]
	}
	return s.Type
}
