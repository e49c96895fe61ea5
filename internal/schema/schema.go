// Package schema gives the descriptions of the wire that are published in
// docs/schema: a JSON Schema (2020-12) of the events, one of every message, and an
// OpenRPC document of the methods.
//
// It decides nothing: package compose makes the files from the Go types of package
// protocol. Its tests hold them to the decoders, by golden streams and by changing
// valid values at random. It refuses to know what the files say. All functions are
// safe for concurrent use; what they return belongs to the caller.
package schema

import files "agent-server/docs/schema"

//go:generate go run ./generate ../.. ../../docs/schema

// Events is the JSON Schema of an envelope and of all that can be in it.
func Events() []byte { return file("events.schema.json") }

// Methods is the JSON Schema of every message of the wire.
func Methods() []byte { return file("methods.schema.json") }

// OpenRPC is the OpenRPC document: every method with its params, result, errors and
// examples, and the notifications.
func OpenRPC() []byte { return file("openrpc.json") }

// file is a generated file, which the build has put into the binary.
func file(name string) []byte {
	body, err := files.Files.ReadFile(name)
	if err != nil {
		panic("schema: " + err.Error())
	}
	return body
}
