package echo

import (
	"strconv"
	"strings"
)

// prefix marks the ids of the echo. They are the one exception to the rule
// that ids are opaque and minted: derived, so that a client knows them before
// its turn is acknowledged.
const prefix = "echo-"

// MessageID is the id of the turn's echo.
func MessageID(turnID string) string { return prefix + turnID }

// PartID is the id of the echo's i-th part, counted from 0.
func PartID(turnID string, i int) string {
	return prefix + turnID + "-" + strconv.Itoa(i)
}

// TurnOf is the turn of which messageID is the echo; false where it is no echo.
// It reads the id alone: that such a turn exists is for the caller to know.
func TurnOf(messageID string) (turnID string, ok bool) {
	turnID, ok = strings.CutPrefix(messageID, prefix)
	if !ok || turnID == "" {
		return "", false
	}
	return turnID, true
}
