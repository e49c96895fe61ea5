//go:build race

package sqlite

// The race detector makes SQLite, which is Go here, many times slower: sweeps are
// thinned by as much. What they try is no race.
func init() { slow = 12 }
