// Package rpcline is what a harness that speaks JSON-RPC 2.0 as lines has in
// common with every other one: reading a line into a Message, writing requests,
// notifications and answers, and remembering what our open requests are for.
//
// It decides how the two id spaces are kept apart: our ids are integers counted
// here, theirs are raw bytes, never looked into and echoed as they came. It
// refuses to know methods, params and what an answer means; whoever asks says
// with each request what is to become of its answer.
//
// Lines are read leniently, since agents differ: members in any order, no
// "jsonrpc" member, an error without an id, escape sequences before the object,
// bytes that are no UTF-8. They are written strictly.
//
// A Calls is not safe for concurrent use; everything else is pure and is.
package rpcline
