// Command docgen writes docs/harnesses.md from what is there: the fixtures say
// which scenarios were recorded and with which CLI, the adapters say what becomes
// of each member of a config.
//
//	go run ./internal/docgen -fixtures DIR -o FILE
//
// It decides how that is found out (see probe) and how it is laid out. It refuses
// to know anything about a harness by itself: what is not in a fixture, an adapter
// or a recording is not in the page. It runs on one goroutine.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	dir := flag.String("fixtures", "fixtures", "where the fixtures are")
	out := flag.String("o", "docs/harnesses.md", "the page to write")
	flag.Parse()
	if err := write(*dir, *out); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func write(dir, out string) error {
	text, err := page(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, text, 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
