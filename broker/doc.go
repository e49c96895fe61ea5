// Package broker decides who answers a permission request, exactly once.
//
// It decides what an answer comes to: which decision reaches the harness, with
// which of the harness's own options, and what the world is shown of it. It keeps
// the standing rules that an "always" leaves behind where the harness has no
// narrower form of its own. Whatever it does not know, it denies. A Policy decides
// requests before anyone is asked; ToolPolicy is one made of rules, ParsePolicy
// reads it from a file, and what it is not sure of is asked.
//
// # Who decides, in this order
//
//	a policy that denies        nobody is asked, everybody is shown
//	a standing rule             the user's own word on calls like this one
//	a policy that allows        as one that denies
//	whoever answers first       or nobody, where the session's owner says so
//
// A policy is asked about each call anew and remembers nothing. Its denial comes
// before a standing allow, since the operator's word bounds the user's; its allow
// comes behind a standing refusal, since nothing is allowed that somebody who was
// asked has refused.
//
// # What a policy can know
//
// It sees names, as a harness gives them: of the tool, of its kind, of files and of
// a command line. None of them is the thing itself. Where a name may stand for
// something else (a path that a shell expands, a line that runs several commands)
// a rule is not sure, and being unsure only ever asks.
//
// It refuses to know events, turns, harness streams and time: the session makes
// the events and tells the harness. All is plain data in, plain data out.
//
// A Broker is not safe for concurrent use: the session machine calls it, one
// call at a time.
package broker
