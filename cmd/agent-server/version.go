package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"agent-server/internal/demoagent"
	"agent-server/protocol"
)

// version is set at build time with -ldflags "-X main.version=…".
var version = ""

// ownVersion is what was built in, else the module's own (go install …@v1), else
// "dev". It is also what initialize tells.
func ownVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// newVersionCommand says what a report of a fault needs.
func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print version, protocol and toolchain",
		Example: "  agent-server version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			toolchain := "an unknown toolchain"
			if info, ok := debug.ReadBuildInfo(); ok {
				toolchain = info.GoVersion
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "agent-server %s (protocol %d, %s)\n", ownVersion(), protocol.Version, toolchain)
			if err != nil {
				return &exitError{exitFailed, err}
			}
			return nil
		},
	}
}

// newDemoAgentCommand is the embedded agent behind harness id demo: this binary
// starts itself with it. It handles no signal: whoever started it may end it.
func newDemoAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:    demoCommand,
		Short:  "The built-in demo agent, an ACP agent on stdin and stdout",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := demoagent.Options{Version: ownVersion()}
			if err := demoagent.Run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o); err != nil {
				return &exitError{exitFailed, err}
			}
			return nil
		},
	}
}
