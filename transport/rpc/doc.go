// Package rpc reads and writes JSON-RPC 2.0 messages to the letter of the
// specification, where the library that dispatches them is less exact: what is a
// request, a notification, a response or none of them; batches; ids digit for digit;
// and answers as the protocol spells them.
//
// It refuses to know methods, connections and order. It keeps nothing: any goroutine
// may use it.
package rpc
