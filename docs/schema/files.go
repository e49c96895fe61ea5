// Package schema holds the machine-readable descriptions of the wire, so that the
// command carries what is published here. It decides nothing: the files are
// generated, see package internal/schema. What it holds is never changed; it is
// safe for concurrent use.
package schema

import "embed"

// Files are the descriptions, by file name.
//
//go:embed *.json
var Files embed.FS
