package compose

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// The data that an error carries has no type in package protocol, which only writes
// it; a reader wants its shape. That these shapes are the written ones is tested on
// what the constructors make.

// OversizeData is the data of an invalidRequest for a line over the limit.
type OversizeData struct {
	// LimitBytes is the longest line that is accepted, in bytes.
	LimitBytes int64 `json:"limitBytes"`
}

// AvailableData is the data of a harnessNotAvailable.
type AvailableData struct {
	// Available lists the harnesses that are available instead.
	Available []protocol.HarnessID `json:"available"`
}

// TurnData is the data of a turnActive and of a turnConflict.
type TurnData struct {
	// TurnID is the turn that runs, or the one that was admitted before.
	TurnID string `json:"turnId"`
}

// VersionData is the data of a protocolVersionMismatch.
type VersionData struct {
	// Supported lists the versions that the server speaks.
	Supported []int64 `json:"supported"`
}

// SeqData is the data of a seqUnavailable.
type SeqData struct {
	// AfterSeq is the cursor that was asked for.
	AfterSeq int64 `json:"afterSeq"`
	// FirstAvailableSeq is the lowest seq held.
	FirstAvailableSeq int64 `json:"firstAvailableSeq"`
	// LatestSeq is the head.
	LatestSeq int64 `json:"latestSeq"`
}

// OverloadedData is the data of an overloaded.
type OverloadedData struct {
	// RetryAfterMs is how long to wait before the next try, in milliseconds.
	RetryAfterMs int64 `json:"retryAfterMs"`
}

// fault is one error code of the wire.
type fault struct {
	code protocol.Code
	// data is the shape of its data; nil where it never has any.
	data reflect.Type
	// always is set where the data is never left out.
	always bool
	// example is one such error as it is sent; nil where the constructor needs more
	// than words.
	example *protocol.Error
}

// faults lists the codes whose data is known; all others have none.
func faults() []fault {
	return []fault{
		{code: protocol.CodeInvalidRequest, data: reflect.TypeFor[OversizeData]()},
		{code: protocol.CodeInvalidParams, data: reflect.TypeFor[protocol.Fault](),
			example: protocol.ErrInvalidParams([]protocol.Fault{{Path: "config.maxTurns", Message: "must be at least 1"}})},
		{code: protocol.CodeHarnessNotAvailable, data: reflect.TypeFor[AvailableData](), always: true,
			example: protocol.ErrHarnessNotAvailable(protocol.HarnessCodexSDK, []protocol.HarnessID{protocol.HarnessClaudeCode})},
		{code: protocol.CodeTurnActive, data: reflect.TypeFor[TurnData](), always: true,
			example: protocol.ErrTurnActive("notes", "turn-a")},
		{code: protocol.CodeProtocolVersionMismatch, data: reflect.TypeFor[VersionData](), always: true,
			example: protocol.ErrVersionMismatch(3)},
		{code: protocol.CodeTurnConflict, data: reflect.TypeFor[TurnData](), always: true,
			example: protocol.ErrTurnConflict("notes", "turn-a")},
		{code: protocol.CodeSeqUnavailable, data: reflect.TypeFor[SeqData](), always: true},
		{code: protocol.CodeOverloaded, data: reflect.TypeFor[OverloadedData](), always: true,
			example: protocol.ErrOverloaded("too many turns", 1000)},
	}
}

// faultOf is what is known of a code.
func faultOf(code protocol.Code) fault {
	for _, f := range faults() {
		if f.code == code {
			return f
		}
	}
	return fault{code: code}
}

// code is one code as package protocol declares it: its name, and when it comes.
type code struct {
	value protocol.Code
	// name is its name on the protocol's pages.
	name string
	// when says in which cases it comes; it ends in a full stop.
	when string
}

// codesOf lists the codes from their constants: CodeParseError is parseError, its
// comment, "CodeParseError: the line is not JSON.", says when.
func codesOf(src *sources) ([]code, error) {
	var found []code
	for _, c := range src.constants {
		if c.kind != "Code" {
			continue
		}
		value, err := strconv.ParseInt(c.value, 10, 64)
		_, when, ok := strings.Cut(strings.Join(strings.Fields(c.doc), " "), ": ")
		if err != nil || !ok {
			return nil, fmt.Errorf("constant %s: a code needs a number and a comment", c.name)
		}
		name := []rune(strings.TrimPrefix(c.name, "Code"))
		name[0] = unicode.ToLower(name[0])
		found = append(found, code{protocol.Code(value), string(name), when})
	}
	return found, nil
}

// definition is the error object of the code.
func (c code) definition() *jsonschema.Schema {
	f := faultOf(c.value)
	s := object("code", "message")
	s.Title, s.Description = c.name, c.when
	s.Properties.Set("code", &jsonschema.Schema{Type: "integer", Const: int64(c.value)})
	s.Properties.Set("message", &jsonschema.Schema{Type: "string", Description: "For people; nothing to match."})
	if data := f.schema(); data != nil {
		// Of data that comes only with some of a code's cases nothing is required.
		s.Properties.Set("data", data)
		if f.always {
			s.Required = append(s.Required, "data")
		}
	}
	return s
}

// schema is the shape of the error's data; nil where it never has any. Bad params
// come as a list, everything else as one object.
func (f fault) schema() *jsonschema.Schema {
	switch {
	case f.data == nil:
		return nil
	case f.code == protocol.CodeInvalidParams:
		return &jsonschema.Schema{Type: "array", Items: ref(f.data.Name())}
	}
	return ref(f.data.Name())
}

// errorName is the name of the error's definition: ParseError, TurnActiveError.
func (c code) errorName() string {
	return strings.ToUpper(c.name[:1]) + strings.TrimSuffix(c.name[1:], "Error") + "Error"
}

// addErrors adds a definition a code, and what a server answers where it fails: one
// of them, or a code of a later version.
func addErrors(all defs, src *sources) error {
	codes, err := codesOf(src)
	if err != nil {
		return err
	}
	var names []string
	var values []any
	for _, c := range codes {
		all[c.errorName()] = c.definition()
		names = append(names, c.errorName())
		values = append(values, int64(c.value))
	}
	other := object("code", "message")
	other.Description = "An error of a later version."
	other.Properties.Set("code", &jsonschema.Schema{Type: "integer", Not: &jsonschema.Schema{Enum: values}})
	other.Properties.Set("message", &jsonschema.Schema{Type: "string"})
	all["OtherError"] = other
	all["Error"] = oneOf(append(names, "OtherError"))
	all["Error"].Description = "Why a request failed. Clients match the code."
	return nil
}
