package acp

import (
	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// cost is what a session has cost, in US dollars; agents tell it as a sum.
type cost struct {
	// known is false while the sum at the last turn's end is not.
	known bool
	// settled is that sum; now is the last one told.
	settled, now float64
	// told is true where one was told since.
	told bool
}

// sinceBegin is what the turn that ends cost; nil when unknown. The next turn
// counts from here.
func (c *cost) sinceBegin() *protocol.Number {
	if !c.told {
		return nil
	}
	grown, known := c.now-c.settled, c.known
	*c = cost{known: true, settled: c.now, now: c.now}
	if !known || grown < 0 {
		return nil
	}
	return &grown
}

// gauge takes how full the context window is.
func (t *translator) gauge(raw jsontext.Value) {
	u := read[struct {
		Used number `json:"used"`
		Size number `json:"size"`
		Cost struct {
			Amount   number `json:"amount"`
			Currency text   `json:"currency"`
		} `json:"cost"`
	}](raw)
	var dollars *protocol.Number
	if u.Cost.Currency == "USD" && u.Cost.Amount.set {
		dollars = u.Cost.Amount.pointer()
		t.spent.now, t.spent.told = u.Cost.Amount.value, true
	}
	if !u.Used.set {
		return
	}
	gauge := harness.Usage{Used: u.Used.value, Size: u.Size.pointer(), Cost: dollars}
	if t.turn == nil || t.stage != ready || !t.turn.written {
		t.gauged = &gauge // the next turn begins with it
		return
	}
	t.emit(gauge)
}

// figures are token counts as the protocol writes them.
type figures struct {
	// All count tokens of this one turn; which of them hold others differs.
	Input       number `json:"inputTokens"`
	Output      number `json:"outputTokens"`
	Thought     number `json:"thoughtTokens"`
	CachedRead  number `json:"cachedReadTokens"`
	CachedWrite number `json:"cachedWriteTokens"`
	Total       number `json:"totalTokens"`
}

// tokensOf is what the turn cost; nil when unknown. zero is true where the agent
// gave figures and all are 0, which means that it did not count.
func tokensOf(r promptResult) (tokens *protocol.TokenUsage, zero bool) {
	if r.Usage.Kind() != '{' {
		return quotaTokens(r.Meta), false
	}
	f := read[figures](r.Usage)
	if f.sum() == 0 {
		return nil, true
	}
	return f.tokens(), false
}

func (f figures) sum() float64 {
	return f.Input.value + f.Output.value + f.Thought.value + f.CachedRead.value + f.CachedWrite.value
}

// tokens tells apart by their total whether the counts are disjoint, as the
// protocol has them, or whether input holds what came from the cache and output
// what was thought.
func (f figures) tokens() *protocol.TokenUsage {
	u := &protocol.TokenUsage{Input: f.Input.value, Output: f.Output.value, Reasoning: f.Thought.pointer()}
	cached := f.CachedRead.value + f.CachedWrite.value
	if f.CachedRead.set || f.CachedWrite.set {
		u.Cache = &protocol.CacheUsage{Read: f.CachedRead.value, Write: f.CachedWrite.value}
	}
	base := f.Input.value + f.Output.value
	cachedInside, thoughtInside := false, false
	if f.Total.set {
		switch f.Total.value {
		case base:
			cachedInside, thoughtInside = true, true
		case base + cached:
			thoughtInside = true
		case base + f.Thought.value:
			cachedInside = true
		}
	}
	if cachedInside && cached <= u.Input {
		u.Input -= cached
	}
	if !thoughtInside {
		u.Output += f.Thought.value
	}
	return u
}

// quotaTokens are the figures that some agents put into _meta instead.
func quotaTokens(meta jsontext.Value) *protocol.TokenUsage {
	f := read[struct {
		Quota struct {
			Count struct {
				Input  number `json:"input_tokens"`
				Output number `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	}](meta).Quota.Count
	if f.Input.value+f.Output.value == 0 {
		return nil
	}
	return &protocol.TokenUsage{Input: f.Input.value, Output: f.Output.value}
}
