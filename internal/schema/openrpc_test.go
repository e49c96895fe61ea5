package schema

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"agent-server/protocol"
)

// The OpenRPC document, as far as the tests look at it.
type (
	rpcDocument struct {
		Methods    []rpcMethod
		Components struct {
			Errors  map[string]rpcError
			Schemas map[string]json.RawMessage
		}
	}
	rpcMethod struct {
		Name   string
		Params []struct {
			Name     string
			Required bool
		}
		Result   *struct{ Schema json.RawMessage }
		Errors   []map[string]string
		Examples []rpcPair
	}
	rpcPair struct {
		Name   string
		Params []rpcExample
		Result *rpcExample
	}
	rpcExample struct {
		Name  string
		Value json.RawMessage
	}
	rpcError struct {
		Code    protocol.Code
		Message string
		Data    json.RawMessage
	}
)

func document(t testing.TB) rpcDocument {
	t.Helper()
	var d rpcDocument
	if err := json.Unmarshal(OpenRPC(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// method is one method; the zero value if it is not there.
func (d rpcDocument) method(name string) rpcMethod {
	for _, m := range d.Methods {
		if m.Name == name {
			return m
		}
	}
	return rpcMethod{}
}

// byName joins an example's params into the object that is sent.
func byName(params []rpcExample) map[string]json.RawMessage {
	o := map[string]json.RawMessage{}
	for _, p := range params {
		o[p.Name] = p.Value
	}
	return o
}

// metaSchemas answers for what OpenRPC's own schema refers to: a dialect that is draft
// 7 with names of its own.
type metaSchemas struct{}

func (metaSchemas) Load(url string) (any, error) {
	return jsonschema.UnmarshalJSON(strings.NewReader(`{"$schema":"http://json-schema.org/draft-07/schema#",
		"definitions":{"JSONSchemaObject":{"properties":{"$ref":{"type":"string"}}}},
		"allOf":[{"$ref":"http://json-schema.org/draft-07/schema#"}]}`))
}

func TestOpenRPCIsOne(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/openrpc-1.4.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	meta := parse(t, raw).(map[string]any)
	meta["$schema"] = "http://json-schema.org/draft-07/schema#"
	c := jsonschema.NewCompiler()
	c.UseLoader(metaSchemas{})
	if err := c.AddResource("https://meta.open-rpc.org/", meta); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://meta.open-rpc.org/")
	if err != nil {
		t.Fatal(err)
	}
	doc := parse(t, OpenRPC()).(map[string]any)
	if err := s.Validate(doc); err != nil {
		t.Errorf("%v", err)
	}
	delete(doc, "info")
	if s.Validate(doc) == nil {
		t.Error("OpenRPC's schema takes a document without info: it judges nothing")
	}
}

// TestEveryComponentCompiles: a reference to nothing would only show in use.
func TestEveryComponentCompiles(t *testing.T) {
	t.Parallel()
	for name := range document(t).Components.Schemas {
		componentOf(t, name)
	}
}

// TestExamplesAreTrue: the decoders take the params, the schemas take params and
// results, and an answer read into the result's type comes out again as it was.
func TestExamplesAreTrue(t *testing.T) {
	t.Parallel()
	results := map[string]any{
		protocol.MethodInitialize: &protocol.InitializeResult{}, protocol.MethodTurnStart: &protocol.TurnStartResult{},
		protocol.MethodTurnCancel: &protocol.TurnCancelResult{}, protocol.MethodPermissionRespond: &protocol.PermissionRespondResult{},
		protocol.MethodEventsReplay: &protocol.EventsReplayResult{}, protocol.MethodSessionClose: &protocol.SessionCloseResult{},
		protocol.MethodShutdown: &struct{}{},
	}
	request := judgeOf(t, Methods(), "Request")
	for method, title := range titles {
		response := judgeOf(t, Methods(), title+"Response")
		for _, e := range document(t).method(method).Examples {
			what := method + ": " + e.Name
			call := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": byName(e.Params)}
			if err := request(encode(t, call)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			answer := encode(t, map[string]any{"jsonrpc": "2.0", "id": "1", "result": e.Result.Value})
			if err := response(answer); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if err := protocol.Decode(e.Result.Value, results[method]); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestParamsInOrder: OpenRPC wants the required ones first.
func TestParamsInOrder(t *testing.T) {
	t.Parallel()
	for _, m := range document(t).Methods {
		if !slices.IsSortedFunc(m.Params, func(a, b struct {
			Name     string
			Required bool
		}) int {
			return rank(a.Required) - rank(b.Required)
		}) {
			t.Errorf("%s: an optional parameter stands before a required one: %v", m.Name, m.Params)
		}
		if notification := slices.Contains([]string{protocol.NotificationEvent, protocol.NotificationSynced, protocol.NotificationLagged}, m.Name); notification != (m.Result == nil) {
			t.Errorf("%s: only a notification has no result", m.Name)
		}
	}
}

func rank(required bool) int {
	if required {
		return 0
	}
	return 1
}

// TestErrorsExist: what a method refers to is there, and said once.
func TestErrorsExist(t *testing.T) {
	t.Parallel()
	d := document(t)
	for _, m := range d.Methods {
		seen := map[string]bool{}
		for _, e := range m.Errors {
			name := strings.TrimPrefix(e["$ref"], "#/components/errors/")
			if _, ok := d.Components.Errors[name]; !ok || seen[name] {
				t.Errorf("%s: error %q is missing or named twice", m.Name, e["$ref"])
			}
			seen[name] = true
		}
		if m.Result != nil && !seen["internalError"] {
			t.Errorf("%s never fails", m.Name)
		}
	}
}
