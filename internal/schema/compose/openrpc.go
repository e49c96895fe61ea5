package compose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// The shapes of an OpenRPC document, as far as it is used here. They are the
// specification's objects, under its names of the members.
type (
	// openRPC is the document.
	openRPC struct {
		OpenRPC    string         `json:"openrpc"`
		Info       openRPCInfo    `json:"info"`
		Methods    []openRPCCall  `json:"methods"`
		Components openRPCPool    `json:"components"`
		ErrorData  map[string]any `json:"x-errorData"`
	}
	// openRPCInfo is the Info Object. Its version is the protocol's.
	openRPCInfo struct {
		Title       string         `json:"title"`
		Version     string         `json:"version"`
		Description string         `json:"description"`
		License     openRPCLicense `json:"license"`
	}
	// openRPCLicense is the License Object.
	openRPCLicense struct {
		Name string `json:"name"`
	}
	// openRPCCall is the Method Object; one without a result is a notification.
	openRPCCall struct {
		Name        string           `json:"name"`
		Summary     string           `json:"summary"`
		Description string           `json:"description,omitempty"`
		Direction   string           `json:"x-direction"`
		Structure   string           `json:"paramStructure"`
		Params      []openRPCContent `json:"params"`
		Result      *openRPCContent  `json:"result,omitempty"`
		Errors      []any            `json:"errors,omitempty"`
		Examples    []openRPCPair    `json:"examples"`
	}
	// openRPCContent is the Content Descriptor Object: a member of the params, or the
	// result.
	openRPCContent struct {
		Name        string             `json:"name"`
		Description string             `json:"description,omitempty"`
		Required    bool               `json:"required,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	// openRPCPair is the Example Pairing Object.
	openRPCPair struct {
		Name   string           `json:"name"`
		Params []openRPCExample `json:"params"`
		Result *openRPCExample  `json:"result,omitempty"`
	}
	// openRPCExample is the Example Object.
	openRPCExample struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	// openRPCPool is the Components Object.
	openRPCPool struct {
		Errors  map[string]openRPCError `json:"errors"`
		Schemas defs                    `json:"schemas"`
	}
	// openRPCError is the Error Object. It knows no schema of the data, and takes no
	// extension, so the data's shapes stand in the document's x-errorData.
	openRPCError struct {
		Code    protocol.Code   `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
)

// componentPrefix is where definitions stand in an OpenRPC document.
const componentPrefix = "#/components/schemas/"

// openRPCText is what a reader of the document should know first.
const openRPCText = "One JSON-RPC 2.0 protocol for coding agents, one message a line over stdio, or in text frames over WebSocket. " +
	"A client starts turns; what the agent does comes back as events, each with its place in its session's order. " +
	"A method with x-direction server-to-client is a notification that the server sends; nobody calls it. " +
	"x-errorData gives the shape of an error's data, by code; in components.errors data is an example. " +
	"The schemas are written in what JSON Schema draft 7 and 2020-12 have in common."

// openRPCDocument describes every method.
func openRPCDocument(src *sources, _ string) (any, error) {
	all, err := definitions(src)
	if err != nil {
		return nil, err
	}
	codes, err := codesOf(src)
	if err != nil {
		return nil, err
	}
	doc := openRPC{
		// The first version line whose schema allows any patch of it.
		OpenRPC:    "1.4.1",
		Info:       openRPCInfo{"agent-server", "2", openRPCText, openRPCLicense{"MIT"}},
		Components: openRPCPool{Errors: map[string]openRPCError{}},
		ErrorData:  map[string]any{},
	}
	for _, c := range codes {
		doc.addError(c)
	}
	for _, m := range methods() {
		doc.Methods = append(doc.Methods, m.call(all, codes))
	}
	for _, n := range notifications() {
		doc.Methods = append(doc.Methods, n.call(all))
	}
	if doc.Components.Schemas, err = used(all, doc); err != nil {
		return nil, err
	}
	return moved(doc)
}

// used is every definition that a method or an error refers to.
func used(all defs, doc openRPC) (defs, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	var names []string
	for _, found := range reference.FindAllSubmatch(raw, -1) {
		names = append(names, string(found[1]))
	}
	return reach(all, names...)
}

// moved is the document with its references where OpenRPC has definitions.
func moved(doc openRPC) (any, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return json.RawMessage(strings.ReplaceAll(string(raw), `"`+refPrefix, `"`+componentPrefix)), nil
}

// addError adds one code, with an example of its data and the data's shape.
func (d *openRPC) addError(c code) {
	e := openRPCError{Code: c.value, Message: c.name + ": " + c.when}
	f := faultOf(c.value)
	if f.example != nil {
		e.Data = json.RawMessage(f.example.Data)
	}
	d.Components.Errors[c.name] = e
	if data := f.schema(); data != nil {
		d.ErrorData[fmt.Sprint(c.value)] = data
	}
}

// call is the method as OpenRPC has it.
func (m method) call(all defs, codes []code) openRPCCall {
	c := openRPCCall{
		Name: m.name, Summary: m.summary, Description: m.text, Direction: "client-to-server", Structure: "by-name",
		Params: []openRPCContent{},
		Result: &openRPCContent{Name: "result", Schema: m.resultSchema(), Required: true},
	}
	if m.params != nil {
		c.Params = contents(all[m.params.Name()])
	}
	for _, value := range append(slices.Clone(everyLine), m.errors...) {
		c.Errors = append(c.Errors, map[string]string{"$ref": "#/components/errors/" + nameOf(codes, value)})
	}
	for _, e := range m.examples {
		c.Examples = append(c.Examples, openRPCPair{
			Name: e.name, Params: exampleParams(c.Params, encoded(e.params)),
			Result: &openRPCExample{Name: "result", Value: encoded(e.result)},
		})
	}
	return c
}

// nameOf is the name of a code, which the method's table takes from package protocol.
func nameOf(codes []code, value protocol.Code) string {
	i := slices.IndexFunc(codes, func(c code) bool { return c.value == value })
	return codes[i].name
}

// call is the notification as OpenRPC has it, which knows one by its missing result.
func (n notification) call(all defs) openRPCCall {
	c := openRPCCall{
		Name: n.name, Summary: n.summary, Description: n.text,
		Direction: "server-to-client", Structure: "by-name", Params: contents(all[n.params.Name()]),
	}
	c.Examples = []openRPCPair{{Name: n.exampleName, Params: exampleParams(c.Params, encoded(n.example))}}
	return c
}

// contents are the members of params, those that must be there first, as OpenRPC
// wants it.
func contents(params *jsonschema.Schema) []openRPCContent {
	var required, optional []openRPCContent
	for name, m := range params.Properties.FromOldest() {
		// The description stands beside the schema; draft 7 would not see it in there.
		plain := *m
		plain.Description = ""
		c := openRPCContent{Name: name, Description: m.Description, Schema: &plain}
		if c.Required = slices.Contains(params.Required, name); c.Required {
			required = append(required, c)
		} else {
			optional = append(optional, c)
		}
	}
	return append(required, optional...)
}

// exampleParams takes an encoded object apart, in the order of the params.
func exampleParams(params []openRPCContent, raw []byte) []openRPCExample {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		panic("compose: an example is no object: " + err.Error())
	}
	found := []openRPCExample{}
	for _, p := range params {
		if value, ok := members[p.Name]; ok {
			found = append(found, openRPCExample{p.Name, value})
		}
	}
	return found
}
