package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agent-server/internal/schema"
)

// descriptions are what the schema command prints, by name.
var descriptions = map[string]func() []byte{
	"events":  schema.Events,
	"methods": schema.Methods,
	"openrpc": schema.OpenRPC,
}

// newSchemaCommand prints how the wire is described for machines: the files of
// docs/schema, of this very version.
func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [events|methods|openrpc]",
		Short: "Print the JSON Schema or the OpenRPC document of the wire",
		Long: `Print how this version's wire is described for machines:

  events    JSON Schema (2020-12) of an envelope and its event; the default
  methods   JSON Schema (2020-12) of every message
  openrpc   OpenRPC document: methods, params, results, errors, examples`,
		Example: `  agent-server schema > events.schema.json
  agent-server schema openrpc > openrpc.json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"events", "methods", "openrpc"},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "events"
			if len(args) == 1 {
				name = args[0]
			}
			body, ok := descriptions[name]
			if !ok {
				return usage("schema: %q is none of events, methods, openrpc", name)
			}
			if _, err := cmd.OutOrStdout().Write(body()); err != nil {
				return &exitError{exitFailed, fmt.Errorf("printing the schema: %w", err)}
			}
			return nil
		},
	}
}
