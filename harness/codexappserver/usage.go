package codexappserver

import (
	"slices"
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
)

// Codex counts by threads, in sums that grow as long as a thread lives, across turns
// and processes. It counts in inclusive figures: what came from the cache is input as
// well. What a turn cost is what the sums have grown by while it ran, in disjoint
// figures, so that the turns of a session add up to what the session cost. Sub-agents
// have sums of their own; what they spend after the turn is paid by the next.

// counts are tokens as Codex counts them: Input holds what came from the cache,
// Output what was thought.
type counts struct {
	Total      rpcline.Number `json:"totalTokens"`
	Input      rpcline.Number `json:"inputTokens"`
	CacheRead  rpcline.Number `json:"cachedInputTokens"`
	CacheWrite rpcline.Number `json:"cacheWriteInputTokens"`
	Output     rpcline.Number `json:"outputTokens"`
	Reasoning  rpcline.Number `json:"reasoningOutputTokens"`
}

// sum is counts as numbers: what was spent, in the order of the members above.
type sum [5]protocol.Number

func (c counts) sum() sum {
	return sum{c.Input.Value, c.CacheRead.Value, c.CacheWrite.Value, c.Output.Value, c.Reasoning.Value}
}

func (s sum) minus(o sum) sum {
	for i := range s {
		s[i] = max(0, s[i]-o[i])
	}
	return s
}

func (s sum) plus(o sum) sum {
	for i := range s {
		s[i] += o[i]
	}
	return s
}

// totals are what a thread has cost so far; told is what of it earlier turns were
// told to have cost.
type totals struct {
	now, told sum
	// known is false while told is not: an old thread whose figures did not come.
	known bool
}

// usage takes a thread's figures, which grow for as long as it lives, resumes
// included. Those of a turn that is over are the point from which to count.
func (t *translator) usage(p params) {
	u := rpcline.Read[struct {
		Total  counts         `json:"total"`
		Last   counts         `json:"last"`
		Window rpcline.Number `json:"modelContextWindow"`
	}](p.Usage)
	thread := string(p.ThreadID)
	s := t.spent[thread]
	if s == nil {
		s = &totals{}
		t.spent[thread] = s
	}
	s.now = u.Total.sum()
	running := t.turn != nil && t.turn.written
	if thread == t.thread && (!running || t.turn.id != string(p.TurnID)) {
		s.told, s.known = s.now, true
	} else if !s.known {
		s.told, s.known = s.now.minus(u.Last.sum()), true
	}
	if thread == t.thread && u.Last.Total.Set {
		t.gauge = new(u.Last.Total.Value)
		if running {
			t.emit(harness.Usage{Used: u.Last.Total.Value, Size: u.Window.Pointer()})
		}
	}
}

// spend is what the turn cost, sub-agents included; nil where nothing was told. The
// next turn counts from here.
func (t *translator) spend() *protocol.TokenUsage {
	var all sum
	for _, s := range t.spent {
		all = all.plus(s.now.minus(s.told))
		s.told = s.now
	}
	if all == (sum{}) {
		return nil
	}
	input, read, write, output, reasoning := all[0], all[1], all[2], all[3], all[4]
	return &protocol.TokenUsage{
		Input: max(0, input-read-write), Output: output, Reasoning: &reasoning,
		Cache: &protocol.CacheUsage{Read: read, Write: write},
	}
}

// compact takes the beginning or the end of a compaction.
func (t *translator) compact(p params, f fields, status string) {
	if string(p.ThreadID) != t.thread {
		return
	}
	c := harness.Compaction{Key: string(f.ID), Status: status}
	if status == "completed" {
		c.PostTokens = t.gauge
	} else {
		c.PreTokens = t.gauge
		c.Trigger = "auto"
	}
	t.emit(c)
}

// warned takes a warning.
func (t *translator) warned(p params) {
	if t.turn == nil || p.Message == "" || slices.ContainsFunc(harmless, func(s string) bool {
		return strings.Contains(string(p.Message), s)
	}) {
		t.note("warning", "")
		return
	}
	t.emit(harness.Notice{Category: protocol.CategoryInternal, Message: string(p.Message)})
}

// harmless are warnings about the machine that Codex runs on, which come with
// every process.
var harmless = []string{"Model metadata for"}
