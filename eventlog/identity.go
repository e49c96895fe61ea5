package eventlog

import (
	"crypto/rand"
	"time"

	"agent-server/protocol"
)

// NewIdentity mints what a new log is known by: its id, and 32 bytes of key for
// its admissions' hashes.
func NewIdentity() (id string, hashKey []byte) {
	var random [10]byte
	_, _ = rand.Read(random[:]) // it never fails: it ends the process instead
	hashKey = make([]byte, 32)
	_, _ = rand.Read(hashKey)
	return protocol.UUIDv7(time.Now().UnixMilli(), random), hashKey
}
