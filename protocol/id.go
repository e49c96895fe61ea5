package protocol

import "encoding/hex"

// UUIDv7 builds an RFC 9562 version-7 UUID from a time in epoch milliseconds and
// ten random bytes, both given: a state machine that mints ids from a seeded
// stream can then be replayed exactly.
func UUIDv7(ms int64, random [10]byte) string {
	var u [16]byte
	for i := range 6 {
		u[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(u[6:], random[:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return format(u)
}

// format spells 16 bytes as 8-4-4-4-12 lower-case hex.
func format(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}
