package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"agent-server/internal/demoagent"
	"agent-server/protocol"
)

// version is set at build time with -ldflags "-X main.version=…".
var version = "dev"

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, protocol and toolchain",
		Example: "  agent-server version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			toolchain := "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				toolchain = info.GoVersion
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "agent-server %s (protocol %d, %s)\n", version, protocol.Version, toolchain)
			return err
		},
	}
}

// newDemoAgentCommand is the embedded agent behind harness id demo: this binary
// starts itself with it.
func newDemoAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:    demoCommand,
		Short:  "The built-in demo agent, an ACP agent on stdin and stdout",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demoagent.Run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), demoagent.Options{})
		},
	}
}
