package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/transport"
)

// limits are what serve's operator bounds: where agents work, and how much of
// everything there may be. The defaults are the gateway's own, repeated here only
// because a help text shows them.
type limits struct {
	// roots are directories; none: agents may work anywhere.
	roots []string
	// mcpStdio: clients beyond this machine may name commands as MCP servers.
	mcpStdio bool
	// line bounds a harness's line, message a client's, lag what stdio may be
	// behind.
	line, message, lag size
	// event bounds what of an event may be cut.
	event size
	// sessions bounds those that are open.
	sessions int64
	// idle is how long a harness is kept without a turn; 0: for ever.
	idle time.Duration
}

// Defaults that packages below have, but do not name.
const (
	defaultLine  = 64 << 20
	defaultEvent = 8 << 20
	defaultIdle  = 5 * time.Minute
)

// flags declares them.
func (l *limits) flags(cmd *cobra.Command) {
	l.line, l.message, l.lag, l.event = defaultLine, protocol.DefaultMaxMessageBytes, gateway.DefaultMaxLagBytes, defaultEvent
	f := cmd.Flags()
	f.StringArrayVar(&l.roots, "workspace-root", nil, "agents may work only in and below this directory (repeatable; default: anywhere)")
	f.BoolVar(&l.mcpStdio, "allow-mcp-stdio", false, "let clients beyond this machine name commands as MCP servers")
	f.Var(&l.line, "max-line-bytes", "the longest line of a harness; a longer one is dropped, with a remark in the log")
	f.Var(&l.message, "max-message-bytes", "the longest line of a client; a longer one is refused")
	f.Var(&l.event, "max-event-bytes", "what is kept of a tool's output; the rest is cut, and that is marked")
	f.Var(&l.lag, "max-lag-bytes", "how far the reader of --stdio may be behind before its harnesses wait for it")
	f.Int64Var(&l.sessions, "max-sessions", gateway.DefaultMaxSessions, "how many sessions may be open at once")
	f.DurationVar(&l.idle, "idle-timeout", defaultIdle, "how long a harness's process is kept without a turn; 0: for ever")
}

// apply checks them and hands them to the gateway.
func (l *limits) apply(o *gateway.Options) error {
	switch {
	case l.sessions < 1:
		return fmt.Errorf("--max-sessions %d: want at least 1", l.sessions)
	case l.idle < 0 || l.idle > 0 && l.idle < time.Millisecond:
		return fmt.Errorf("--idle-timeout %s: want 0, or at least 1ms", l.idle)
	}
	for _, root := range l.roots {
		dir, err := filepath.Abs(root)
		if err != nil {
			return fmt.Errorf("--workspace-root %s: %w", root, err)
		}
		if err := isDir(dir); err != nil {
			return fmt.Errorf("--workspace-root %w", err)
		}
		o.WorkspaceRoots = append(o.WorkspaceRoots, dir)
	}
	o.AllowMCPStdio = l.mcpStdio
	o.MaxLineBytes, o.MaxMessageBytes, o.MaxLagBytes, o.MaxSessions = int(l.line), int64(l.message), int64(l.lag), l.sessions
	o.MaxEventBytes, o.IdleTimeout = int(l.event), l.idle
	if l.idle == 0 {
		o.IdleTimeout = -time.Millisecond // its zero is the default
	}
	return nil
}

// isDir says why a path is no directory that can be used.
func isDir(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory", path)
	}
	return nil
}

// socket bounds a WebSocket's lines like stdio's.
func (l *limits) socket() transport.SocketOptions {
	return transport.SocketOptions{MaxMessageBytes: int64(l.message)}
}

// size is a number of bytes on a command line: 1048576, 1024KiB or 1MiB.
type size int64

// minSize is the least that makes sense: less takes no message at all.
const minSize = 1 << 10

// units are tried in this order.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}

// Set reads one.
func (s *size) Set(text string) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 32+8) // a TiB at most: no product overflows
		if err != nil || n*u.bytes < minSize || n > (1<<40)/u.bytes {
			break
		}
		*s = size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("want a number of bytes of at least %d, such as 65536, 64KiB or 64MiB", minSize)
}

// String is the shortest spelling that Set reads.
func (s *size) String() string {
	for i := len(units) - 2; i >= 0; i-- {
		if u := units[i]; int64(*s)%u.bytes == 0 && *s != 0 {
			return strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Type names it in a help text.
func (s *size) Type() string { return "bytes" }
