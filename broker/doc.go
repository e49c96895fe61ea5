// Package broker decides who answers a permission request, exactly once.
//
// It decides what an answer comes to: which decision reaches the harness, with
// which of the harness's own options, and what the world is shown of it. It keeps
// the standing rules that an "always" leaves behind where the harness has no
// narrower form of its own. Whatever it does not know, it denies. A Policy decides
// requests before anyone is asked; ToolPolicy is one made of rules, ParsePolicy
// reads it from a file, and what it is not sure of is asked.
//
// It refuses to know events, turns, harness streams and time: the session makes
// the events and tells the harness. All is plain data in, plain data out.
//
// A Broker is not safe for concurrent use: the session machine calls it, one
// call at a time.
package broker
