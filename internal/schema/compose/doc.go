// Package compose makes the descriptions of the wire from the Go types of package
// protocol: a JSON Schema of the events, one of every message, and an OpenRPC
// document of the methods.
//
// It decides what the types alone cannot say: which types make a union and by
// which member they are told apart, which vocabularies are closed, which bounds a
// number has, which errors a method answers with. Names, members, their order, which
// of them may be missing, the words of the vocabularies and all prose about them
// come from the sources of package protocol. It refuses to know how a value is
// decoded: that the two agree is tested from the outside, in package schema.
//
// Nothing of it is part of the product. A schema under construction belongs to one
// goroutine; Documents may be called by any number of them.
//
// The way of a document: sources (comments and constants) → reflect (a definition a
// struct) → apply (members: bounds, defaults) → split (structs that stand for several
// shapes) → join (unions) → document (what is reachable from its root, in one file).
package compose
