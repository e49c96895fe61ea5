package broker

import "agent-server/protocol"

// Policy decides requests before anyone is asked. It is asked one call at a time
// and must not block.
type Policy interface {
	// Rule says what is to become of a call.
	Rule(c Call) Ruling
}

// Ruling is what a policy says of a call.
type Ruling int

// The rulings. PolicyAsk is the zero value: what a policy does not know is asked.
const (
	// PolicyAsk leaves it to whoever is asked.
	PolicyAsk Ruling = iota
	// PolicyAllow allows this one call.
	PolicyAllow
	// PolicyDeny denies this one call.
	PolicyDeny
)

// Call is what is known of a tool call that wants consent.
type Call struct {
	// Tool is the harness's own name of the tool; "" where it names none.
	Tool string
	// Kind is what the tool does; "" where unknown.
	Kind protocol.ToolKind
	// Cwd is the turn's working directory.
	Cwd string
	// RealCwd is Cwd with its links resolved; "" where that is no other, or unknown.
	RealCwd string
	// Paths are the files concerned, as the harness names them; relative ones are
	// under Cwd.
	Paths []string
	// RawInput is the tool's input; nil where unknown.
	RawInput protocol.Object
}

// ToolPolicy is a list of rules: the first that matches a call decides it, what
// none matches is asked. The zero value asks about everything. It is never changed
// once made, and safe for concurrent use.
//
// A rule matches where all that it names does. What cannot be told for sure (a
// tool without a name, a path that a shell would expand, a command line that
// chains others) never allows, and where a rule would deny or ask it asks.
type ToolPolicy struct {
	// Rules are in order.
	Rules []ToolRule
}

// ToolRule is one rule; members left empty match every call.
type ToolRule struct {
	// Tool is a glob over the tool's name: * is any run of characters, ? any one.
	Tool string
	// Kind is the tool's kind, word for word.
	Kind protocol.ToolKind
	// Path is a glob over the files concerned: * and ? stay within a segment, ** is
	// any number of segments. A relative one is under the turn's cwd, and nothing
	// that leads out of it matches. An allow needs all files of the call to match,
	// a denial one. A call that names no file does not match. Names are compared as
	// they are written: links are not followed, upper and lower case differ.
	Path string
	// Command is the beginning of a command line, whole words. It is a convenience,
	// no fence: a command has many spellings, and what follows the words is free.
	Command string
	// Ruling is what becomes of a call that matches.
	Ruling Ruling
}

// Rule implements Policy.
func (p ToolPolicy) Rule(call Call) Ruling {
	c := factsOf(call)
	for _, r := range p.Rules {
		switch r.matches(c) {
		case certain:
			return r.Ruling
		case unsure:
			if r.Ruling != PolicyAllow {
				return PolicyAsk
			}
		}
	}
	return PolicyAsk
}

// facts are a call and what its input says, read once for all rules.
type facts struct {
	Call
	// files are those that the call names, wherever it does.
	files []string
	// words are the command line's; nil where it may be more than one command.
	words []string
	// command: there is a command line.
	command bool
}

// factsOf reads a call.
func factsOf(c Call) facts {
	f := facts{Call: c}
	input := c.members()
	f.files = filesOf(c.Paths, c.RawInput)
	f.words, f.command = commandOf(input)
	return f
}

// match is how sure a rule is that it is about a call, from least to most.
type match int

const (
	never match = iota
	unsure
	certain
)

// matches is the least sure of what the rule names.
func (r ToolRule) matches(c facts) match {
	return min(r.matchesTool(c), r.matchesKind(c), r.matchesPath(c), r.matchesCommand(c))
}

func (r ToolRule) matchesTool(c facts) match {
	switch {
	case r.Tool == "":
		return certain
	case c.Tool == "":
		return unsure
	}
	return sure(wildcard(r.Tool, c.Tool))
}

func (r ToolRule) matchesKind(c facts) match {
	switch {
	case r.Kind == "":
		return certain
	case c.Kind == "":
		return unsure
	}
	return sure(r.Kind == c.Kind)
}

func sure(yes bool) match {
	if yes {
		return certain
	}
	return never
}

// wildcard says whether a glob matches the whole of a text. It goes back to the
// last star only, so that it takes no more than the product of both lengths.
func wildcard(glob, text string) bool {
	star, retry := -1, 0
	g, t := []rune(glob), []rune(text)
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(g) && g[i] == '*':
			star, retry = i, j
			i++
		case i < len(g) && (g[i] == '?' || g[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}
