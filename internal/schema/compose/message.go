package compose

import "github.com/invopop/jsonschema"

// addMessages adds what stands on a line: a request a method, its response, an error
// response, and the notifications.
func addMessages(all defs) {
	var requests []string
	for _, m := range methods() {
		all[m.title+"Request"] = m.request()
		all[m.title+"Response"] = m.response()
		requests = append(requests, m.title+"Request")
	}
	all["Request"] = oneOf(requests)
	all["Request"].Description = "A call, from client to server."
	all["Response"] = response(&jsonschema.Schema{Description: "What the method gives; see the response named for it."})
	all["Response"].Description = "The answer to a call that succeeded, from server to client."
	all["ErrorResponse"] = errorResponse()
	lines := []string{"Request"}
	for _, n := range notifications() {
		all[n.title+"Notification"] = n.line()
		lines = append(lines, n.title+"Notification")
	}
	all["Message"] = oneOf(append(lines, "Response", "ErrorResponse"))
	all["Message"].Description = "Any message of the wire."
}

// line is a JSON-RPC message with these members.
func line(required ...string) *jsonschema.Schema {
	s := object(append([]string{"jsonrpc"}, required...)...)
	s.Properties.Set("jsonrpc", &jsonschema.Schema{Type: "string", Const: "2.0"})
	return s
}

// anID is what a call is known by; its answer has the same.
func anID() *jsonschema.Schema {
	return &jsonschema.Schema{
		OneOf:       []*jsonschema.Schema{{Type: "string"}, {Type: "number"}},
		Description: "Comes back exactly as sent, its digits too.",
	}
}

// request is a call of the method.
func (m method) request() *jsonschema.Schema {
	s := line("id", "method")
	s.Description = m.described()
	s.Properties.Set("id", anID())
	s.Properties.Set("method", &jsonschema.Schema{Type: "string", Const: m.name})
	if m.params != nil {
		s.Properties.Set("params", ref(m.params.Name()))
		s.Required = append(s.Required, "params")
	}
	return s
}

// response is the answer to a call of the method.
func (m method) response() *jsonschema.Schema {
	s := response(m.resultSchema())
	s.Description = "The answer to " + m.name + "."
	return s
}

// resultSchema is the shape of the result.
func (m method) resultSchema() *jsonschema.Schema {
	if m.result == nil {
		return object()
	}
	return ref(m.result.Name())
}

// response is an answer with a result. That it has no error beside it makes it
// something else than an error response.
func response(result *jsonschema.Schema) *jsonschema.Schema {
	s := line("id", "result")
	s.Properties.Set("id", anID())
	s.Properties.Set("result", result)
	s.Not = &jsonschema.Schema{Required: []string{"error"}}
	return s
}

// errorResponse is an answer with an error. Only here an id may be null: that of a line
// which could not be read.
func errorResponse() *jsonschema.Schema {
	s := line("id", "error")
	s.Description = "The answer to a call that failed, or to a line that was no call; its id then is null."
	id := anID()
	id.OneOf = append(id.OneOf, &jsonschema.Schema{Type: "null"})
	s.Properties.Set("id", id)
	s.Properties.Set("error", ref("Error"))
	s.Not = &jsonschema.Schema{Required: []string{"result"}}
	return s
}

// line has no id: that is what makes it a notification.
func (n notification) line() *jsonschema.Schema {
	s := line("method", "params")
	s.Description = n.described() + " It has no answer."
	s.Properties.Set("method", &jsonschema.Schema{Type: "string", Const: n.name})
	s.Properties.Set("params", ref(n.params.Name()))
	s.Not = &jsonschema.Schema{Required: []string{"id"}}
	return s
}
