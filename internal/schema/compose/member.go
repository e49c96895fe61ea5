package compose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"agent-server/protocol"
)

// The bounds of every integer of the wire.
var (
	lowest  = json.Number(strconv.Itoa(-protocol.MaxSafeInteger))
	highest = json.Number(strconv.Itoa(protocol.MaxSafeInteger))
)

// member is one member of a definition, to be changed in place.
type member struct {
	// owner is the definition that has it.
	owner *jsonschema.Schema
	// name is its name on the wire.
	name string
	// schema is what it may be; no other member shares it.
	schema *jsonschema.Schema
}

// rules say what the types do not: of "Definition.member", or "*.member" for the
// member of every definition that has it.
var rules = []struct {
	at string
	// apply changes the member, or what its owner says of it.
	apply func(m member)
}{
	// Events. A time of an event is never negative; one within a part may be.
	{"*.timestamp", atLeast(0)},
	{"*._meta", meta},
	{"Envelope.seq", atLeast(1)},
	{"Envelope.prevSeq", atLeast(0)},
	{"SessionEnded.reason", known(protocol.EndIdle, protocol.EndReplaced, protocol.EndReleased, protocol.EndShutdown)},
	{"SessionCompaction.status", known("in_progress", "completed", "failed", "cancelled")},
	{"SessionCompaction.trigger", known("auto", "manual")},
	{"TokenUsage.input", zeroWhenAbsent},
	{"TokenUsage.output", zeroWhenAbsent},
	{"CacheUsage.read", zeroWhenAbsent},
	{"CacheUsage.write", zeroWhenAbsent},
	{"Raw.data", anything},

	// Methods: what a client sends is checked, so its bounds are here in full.
	{"InitializeParams.protocolVersion", atLeast(1)},
	{"InitializeResult.protocolVersion", always(protocol.Version)},
	{"InitializeResult.instanceId", formatted("uuid")},
	{"InitializeResult.harnesses", words},
	{"ServerCapabilities.durability", oneWordOf("durable", "ephemeral")},
	{"ServerCapabilities.maxMessageBytes", atLeast(1)},
	{"TurnStartParams.sessionId", filled},
	{"TurnStartParams.turnId", filled},
	{"TurnStartParams._meta", objectOrIgnored},
	{"ClientCapabilities.deltas", falseNeeds("chainedSeq")},
	{"TurnStartResult.deduplicated", always(true)},
	{"TurnCancelParams.sessionId", filled},
	{"TurnCancelParams.turnId", filled},
	{"RunConfig.maxTurns", atLeast(1)},
	{"RunConfig.env", secret},
	{"RunConfig.apiKey", secret},
	{"MCPServer.env", secret},
	{"MCPServer.headers", secret},
	{"InputItem.text", filled},
	{"InputItem.data", filled},
	{"InputItem.url", filled},
	{"TextElement.byteRange", itemsAtLeast(0)},
	{"EventsReplayParams.fromSeq", atLeast(1)},
	{"EventsReplayParams.limit", atLeast(1)},
	{"EventsReplayResult.nextSeq", atLeast(1)},
	{"SessionListParams.limit", atLeast(1)},
	{"SessionEntry.latestSeq", atLeast(1)},
	{"SessionEntry.createdAt", atLeast(0)},
	{"SessionEntry.updatedAt", atLeast(0)},
	{"SessionEntry.queuedTurns", atLeast(0)},
	{"SessionEntry.pendingPermissions", atLeast(0)},
	{"SessionEntry.backgroundTasks", atLeast(0)},
	{"SessionSnapshotResult.seq", atLeast(0)},
	{"SessionSubscribeParams.afterSeq", atLeast(0)},
	{"SessionSubscribeResult.seq", atLeast(0)},
	{"EventsSynced.seq", atLeast(0)},
	{"EventsLagged.lastSeq", atLeast(0)},
	{"EventsLagged.firstAvailableSeq", atLeast(1)},
	{"EventsReplayResult.events", itemsOf("Envelope")},
	{"EventsReplayResult.firstAvailableSeq", orNull},
	{"EventsReplayResult.latestSeq", orNull},

	// The data of errors.
	{"VersionData.supported", itemsAtLeast(1)},
	{"OversizeData.limitBytes", atLeast(1)},
	{"OverloadedData.retryAfterMs", atLeast(0)},
}

// applyRules applies every rule; one that finds nothing is an error, since its
// member has been renamed or is gone.
func applyRules(all defs) error {
	for _, r := range rules {
		owner, name, _ := strings.Cut(r.at, ".")
		found := false
		for def, s := range all {
			if owner != "*" && owner != def {
				continue
			}
			if m, ok := s.Properties.Get(name); ok {
				r.apply(member{s, name, m})
				found = true
			}
		}
		if !found {
			return fmt.Errorf("there is no member %s", r.at)
		}
	}
	return nil
}

// meta: what an extension object may hold is said once.
func meta(m member) {
	*m.schema = jsonschema.Schema{Ref: refPrefix + "Meta", Description: m.schema.Description}
}

// objectOrIgnored: the base knows no such member, so that no value of it is wrong.
func objectOrIgnored(m member) {
	*m.schema = jsonschema.Schema{AnyOf: []*jsonschema.Schema{ref("Meta"), {}}, Description: m.schema.Description}
}

// falseNeeds: the member may be false only beside another that is true.
func falseNeeds(other string) func(member) {
	return func(m member) {
		m.owner.AnyOf = []*jsonschema.Schema{
			{Not: &jsonschema.Schema{Required: []string{m.name}}}, holds(m.name), holds(other),
		}
	}
}

// holds is an object in which a member is true.
func holds(name string) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties(), Required: []string{name}}
	s.Properties.Set(name, &jsonschema.Schema{Const: true})
	return s
}

// metaSchema is the extension object, with the keys that are known.
func metaSchema(src *sources) *jsonschema.Schema {
	keys := []string{"traceparent", "tracestate", "baggage"}
	for _, c := range src.constants {
		if strings.HasPrefix(c.name, "Meta") {
			keys = append(keys, c.value)
		}
	}
	return &jsonschema.Schema{
		Type: "object", Extras: map[string]any{"x-known": keys},
		Description: "An extension object. Keys are namespaced, but for those of W3C Trace Context; a reader passes on what it does not know.",
	}
}

// addStack adds the one member that is read and has no field: the base knows it, a
// reader of ours checks and drops it.
func addStack(all defs) {
	all["ErrorEvent"].Properties.Set("stack", &jsonschema.Schema{
		Type: "string", Deprecated: true, Description: "A stack trace of the base protocol. Never sent; a reader drops it.",
	})
}

// atLeast bounds an integer from below.
func atLeast(low int) func(member) {
	return func(m member) { m.schema.Minimum = number(low) }
}

// number is a bound as the library wants it.
func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// itemsAtLeast bounds the integers of an array.
func itemsAtLeast(low int) func(member) {
	return func(m member) { m.schema.Items.Minimum = number(low) }
}

// itemsOf says what the items of an array are, where Go keeps them encoded.
func itemsOf(def string) func(member) {
	return func(m member) { m.schema.Items = ref(def) }
}

// known makes a plain string a word of an open vocabulary.
func known(words ...string) func(member) {
	return func(m member) {
		open := openWord(words...)
		open.Description = m.schema.Description
		*m.schema = *open
	}
}

// oneWordOf makes a plain string a word of a closed vocabulary.
func oneWordOf(words ...string) func(member) {
	return func(m member) { m.schema.Enum = list(words) }
}

// words: the names of a map are words of an open vocabulary.
func words(m member) { m.schema.PropertyNames = &jsonschema.Schema{Pattern: pattern(notBlank)} }

// always fixes a value.
func always(value any) func(member) {
	return func(m member) {
		m.schema.Const = value
		m.schema.Minimum, m.schema.Maximum = "", ""
	}
}

// zeroWhenAbsent: a reader takes 0 for a count that was left out, so it is not required,
// though a server of ours always sends it.
func zeroWhenAbsent(m member) {
	m.schema.Default = 0
	m.owner.Required = slices.DeleteFunc(m.owner.Required, func(name string) bool { return name == m.name })
}

// filled: a string of at least one character.
func filled(m member) { m.schema.MinLength = new(uint64(1)) }

// secret: goes in, never comes out.
func secret(m member) { m.schema.WriteOnly = true }

// formatted notes a format; it binds nobody.
func formatted(format string) func(member) {
	return func(m member) { m.schema.Format = format }
}

// anything: any JSON value, null too.
func anything(m member) { m.schema.Type = "" }

// orNull: one of the few members that are null rather than absent.
func orNull(m member) {
	value := *m.schema
	value.Description = ""
	*m.schema = jsonschema.Schema{
		OneOf:       []*jsonschema.Schema{&value, {Type: "null"}},
		Description: m.schema.Description,
	}
}
