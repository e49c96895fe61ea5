// Command generate writes the descriptions of the wire into a directory:
//
//	go run ./generate ROOT DIR
//
// ROOT is the root of the module, a relative path. It decides nothing: package
// compose says what is written. It runs on one goroutine.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"agent-server/internal/schema/compose"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate ROOT DIR")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate writes every document; a file that stands there is replaced.
func generate(root, dir string) error {
	documents, err := compose.Documents(root)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := os.WriteFile(filepath.Join(dir, d.Name), d.Body, 0o644); err != nil {
			return fmt.Errorf("writing a document: %w", err)
		}
	}
	return nil
}
