package session

import (
	"slices"
	"strings"

	"agent-server/protocol"
)

// Every event must pass the strictest decoder, whatever a translator says: what
// it leaves blank is filled here, and what cannot be sent is held back.

// orWord is w, or what stands for it where it is blank.
func orWord[T ~string](w, blank T) T {
	if strings.TrimSpace(string(w)) == "" {
		return blank
	}
	return w
}

// kindUnknown is the kind of an option that its harness gave none.
const kindUnknown protocol.PermissionKind = "_unknown"

// worded are options whose kinds are words.
func worded(options []protocol.PermissionOption) []protocol.PermissionOption {
	options = slices.Clone(options)
	for i, o := range options {
		options[i].Kind = orWord(o.Kind, kindUnknown)
	}
	return options
}

// sendable says whether a part that is shown whole is one that readers take.
func sendable(p protocol.Part) bool {
	switch p := p.(type) {
	case *protocol.ImagePart:
		return (p.Data == nil) != (p.URL == nil)
	case *protocol.FilePart:
		return (p.Data == nil) != (p.URL == nil)
	case *protocol.UnknownPart:
		return orWord(p.Kind, "") != "" && !known(p.Kind) && object(p.Raw) != nil
	}
	return false
}

// known says whether parts of this type have a struct of their own.
func known(kind protocol.PartType) bool {
	switch kind {
	case protocol.PartText, protocol.PartReasoning, protocol.PartTool, protocol.PartImage, protocol.PartFile:
		return true
	}
	return false
}
