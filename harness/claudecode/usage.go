package claudecode

import (
	"cmp"
	"maps"
	"slices"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// What a turn cost is told by its result. How full the context window is, is
// known after every request: what went in, cached or not, and what came out.

// apiUsage is the usage of one request or of a turn's main loop, in the API's
// words. Its input excludes what came from or went into a cache.
type apiUsage struct {
	// Input excludes both kinds of cached tokens.
	Input number `json:"input_tokens"`
	// Output includes what was thought.
	Output number `json:"output_tokens"`
	// CacheRead came from the cache.
	CacheRead number `json:"cache_read_input_tokens"`
	// CacheWrite went into the cache.
	CacheWrite number `json:"cache_creation_input_tokens"`
	// Writes tells CacheWrite apart by how long it is kept.
	Writes jsontext.Value `json:"cache_creation"`
	// Details tells Output apart.
	Details jsontext.Value `json:"output_tokens_details"`
}

// modelUsage is what one model was used for, in the CLI's words.
type modelUsage struct {
	// Input excludes both kinds of cached tokens.
	Input number `json:"inputTokens"`
	// Output includes Thinking.
	Output number `json:"outputTokens"`
	// Thinking is the part of Output that was thought.
	Thinking number `json:"thinkingTokens"`
	// CacheRead came from the cache.
	CacheRead number `json:"cacheReadInputTokens"`
	// CacheWrite went into the cache; the next two are parts of it.
	CacheWrite   number `json:"cacheCreationInputTokens"`
	CacheWrite5m number `json:"cacheCreationEphemeral5mInputTokens"`
	CacheWrite1h number `json:"cacheCreationEphemeral1hInputTokens"`
	// Cost is in US dollars.
	Cost number `json:"costUSD"`
	// ContextWindow is the model's, in tokens.
	ContextWindow number `json:"contextWindow"`
}

// gauge is the state of the context window.
type gauge struct {
	// model answered last.
	model string
	// request is the usage of its request so far.
	request apiUsage
	// size is the window of that model; 0 while unknown.
	size float64
}

// startRequest notes what a request put into the window.
func (t *translator) startRequest(model string, raw jsontext.Value) {
	if model != t.gauge.model {
		// Another model has another window; the next result says which.
		t.gauge.size = 0
	}
	t.gauge.model, t.gauge.request = model, object[apiUsage](raw)
}

// endRequest notes what the model added, and shows the gauge.
func (t *translator) endRequest(raw jsontext.Value) {
	t.gauge.request.Output = object[apiUsage](raw).Output
	t.showGauge(nil)
}

// showGauge tells how full the window is, once a request has said so.
func (t *translator) showGauge(cost *protocol.Number) {
	r := t.gauge.request
	used := protocol.Number(r.Input + r.CacheRead + r.CacheWrite + r.Output)
	if used == 0 {
		return
	}
	u := harness.Usage{Used: used, Cost: cost}
	if t.gauge.size > 0 {
		u.Size = new(protocol.Number(t.gauge.size))
	}
	t.emit(u)
}

// measure takes from a result the window's size and what the session cost, and
// shows the gauge.
func (t *translator) measure(o outcome) {
	models := object[map[string]jsontext.Value](o.Models)
	if raw, ok := models[t.gauge.model]; ok {
		t.gauge.size = float64(object[modelUsage](raw).ContextWindow)
	}
	var cost *protocol.Number
	if o.Cost != nil {
		cost = new(protocol.Number(*o.Cost))
	}
	t.showGauge(cost)
}

// spend is what the turn cost: the CLI's own account of what was used since its
// last result, sub-agents, retries, compactions and probes included, so that the
// turns sum up to the session. Where a CLI gives none, the main loop's usage and
// the growth of the session's cost stand in.
func (t *translator) spend(o outcome) (*protocol.TokenUsage, *protocol.Number) {
	before := t.spent
	if o.Cost != nil {
		t.spent = new(float64(*o.Cost))
	}
	if o.Since.Kind() == '{' {
		return sumModels(object[map[string]jsontext.Value](o.Since))
	}
	var cost *protocol.Number
	// A smaller sum than before is another conversation's (/clear).
	if before != nil && o.Cost != nil && float64(*o.Cost) >= *before {
		cost = new(protocol.Number(float64(*o.Cost) - *before))
	}
	if o.Usage.Kind() != '{' {
		return nil, cost
	}
	return tokensOf(object[apiUsage](o.Usage)), cost
}

// pay adds what a result tells of tokens and cost to what the turn has spent.
func (t *translator) pay(o outcome) {
	tokens, cost := t.spend(o)
	t.turn.tokens = addTokens(t.turn.tokens, tokens)
	t.turn.cost = addNumbers(t.turn.cost, cost)
}

// addTokens adds two accounts; nil is unknown, and adds nothing.
func addTokens(a, b *protocol.TokenUsage) *protocol.TokenUsage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &protocol.TokenUsage{
		Input:     a.Input + b.Input,
		Output:    a.Output + b.Output,
		Reasoning: addNumbers(a.Reasoning, b.Reasoning),
		Cache: &protocol.CacheUsage{
			Read:             a.Cache.Read + b.Cache.Read,
			Write:            a.Cache.Write + b.Cache.Write,
			WriteEphemeral5m: addNumbers(a.Cache.WriteEphemeral5m, b.Cache.WriteEphemeral5m),
			WriteEphemeral1h: addNumbers(a.Cache.WriteEphemeral1h, b.Cache.WriteEphemeral1h),
		},
	}
}

// addNumbers is the sum of two numbers; nil is unknown, and adds nothing.
func addNumbers(a, b *protocol.Number) *protocol.Number {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
}

// sumModels adds up what each model was used for, in the order of their names,
// so that the same line always gives the same sum.
func sumModels(models map[string]jsontext.Value) (*protocol.TokenUsage, *protocol.Number) {
	var sum modelUsage
	for _, name := range slices.Sorted(maps.Keys(models)) {
		m := object[modelUsage](models[name])
		sum.Input += m.Input
		sum.Output += m.Output
		sum.Thinking += m.Thinking
		sum.CacheRead += m.CacheRead
		sum.CacheWrite += m.CacheWrite
		sum.CacheWrite5m += m.CacheWrite5m
		sum.CacheWrite1h += m.CacheWrite1h
		sum.Cost += m.Cost
	}
	tokens := &protocol.TokenUsage{
		Input:     protocol.Number(sum.Input),
		Output:    protocol.Number(sum.Output),
		Reasoning: new(protocol.Number(sum.Thinking)),
		Cache: &protocol.CacheUsage{
			Read:             protocol.Number(sum.CacheRead),
			Write:            protocol.Number(sum.CacheWrite),
			WriteEphemeral5m: new(protocol.Number(sum.CacheWrite5m)),
			WriteEphemeral1h: new(protocol.Number(sum.CacheWrite1h)),
		},
	}
	return tokens, new(protocol.Number(sum.Cost))
}

// tokensOf is a usage of the API in the wire's words.
func tokensOf(u apiUsage) *protocol.TokenUsage {
	writes := object[struct {
		Short number `json:"ephemeral_5m_input_tokens"`
		Long  number `json:"ephemeral_1h_input_tokens"`
	}](u.Writes)
	thought := object[struct {
		Tokens number `json:"thinking_tokens"`
	}](u.Details).Tokens
	return &protocol.TokenUsage{
		Input:     protocol.Number(u.Input),
		Output:    protocol.Number(u.Output),
		Reasoning: new(protocol.Number(thought)),
		Cache: &protocol.CacheUsage{
			Read:             protocol.Number(u.CacheRead),
			Write:            protocol.Number(u.CacheWrite),
			WriteEphemeral5m: new(protocol.Number(writes.Short)),
			WriteEphemeral1h: new(protocol.Number(writes.Long)),
		},
	}
}
