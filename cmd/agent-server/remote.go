package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"agent-server/client"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/transport"
)

// tokenFileEnv names the token's file where --token-file does not. It holds a path
// and never a token: environments are read by too many.
const tokenFileEnv = "AGENT_SERVER_TOKEN_FILE"

// remote is a gateway that runs elsewhere, as the command line names it.
type remote struct {
	// url is ws:// or wss://; "": there is none.
	url string
	// tokenFile holds the token that is shown; "": none is.
	tokenFile string
}

// flags declares them.
func (r *remote) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.url, "connect", "", "the ws:// or wss:// URL of a gateway that runs already")
	f.StringVar(&r.tokenFile, "token-file", "", "the token that is shown to it (default: $"+tokenFileEnv+")")
}

// check finds what is wrong before anything is begun, and completes what is missing.
func (r *remote) check() error {
	if r.url == "" && r.tokenFile != "" {
		return errors.New("--token-file is of use with --connect alone: add --connect URL, or leave it out")
	}
	if err := noSecret(r.url); err != nil {
		return fmt.Errorf("--connect: %w: put it into a file and give --token-file", err)
	}
	if r.tokenFile == "" {
		r.tokenFile = os.Getenv(tokenFileEnv)
	}
	return nil
}

// open connects, and goes on connecting whenever the line is lost; say is told of
// that, and must not wait. The first connection is not tried again: a typing error
// should not look like patience.
func (r *remote) open(ctx context.Context, say func(string)) (*host, error) {
	n := &news{say: say}
	c, err := client.Dial(ctx, r.url, client.Options{
		Name: "agent-server", Version: ownVersion(), OpenHarnesses: true,
		Connect: transport.ClientOptions{TokenFile: r.tokenFile},
		OnDown:  n.down, OnUp: n.up,
	})
	if err != nil {
		return nil, r.refusal(err)
	}
	h := elsewhere(c)
	h.close = func() error {
		n.over.Store(true) // that the line ends is no news
		return c.Close()
	}
	return h, nil
}

// news is what is said of a line that comes and goes. The client calls down and up
// one after another.
type news struct {
	say func(string)
	// over: nobody is told any more. lost: down was said, and up not yet.
	over atomic.Bool
	lost bool
}

// down says that the line was lost, once until it is there again: why each further
// try failed is mostly the same.
func (n *news) down(err error, _ time.Duration) {
	if n.lost || n.over.Load() {
		return
	}
	n.lost = true
	n.say(lostText(err))
}

// up tells of every connection but the first.
func (n *news) up(protocol.InitializeResult) {
	if n.lost && !n.over.Load() {
		n.say("connected again")
	}
	n.lost = false
}

// lostText says that a line was lost.
func lostText(err error) string {
	if errors.Is(err, io.EOF) {
		return "the gateway has closed the connection; trying again"
	}
	return fmt.Sprintf("the connection is lost: %v; trying again", err)
}

// refusal words why there is no connection. What a flag can mend is usage; a
// gateway that is not there may come, and is a failure that a script may try again.
func (r *remote) refusal(err error) error {
	var answer *transport.HandshakeError
	var option *transport.OptionError
	switch {
	case errors.As(err, &option):
		return usage("--connect %s: %w", bare(r.url), option.Err)
	case errors.As(err, &answer) && answer.Status == http.StatusUnauthorized && r.tokenFile == "":
		return usage("--connect %s: it wants a token: give its file with --token-file", bare(r.url))
	case errors.As(err, &answer) && answer.Status == http.StatusUnauthorized:
		return usage("--connect %s: it does not take the token in %s", bare(r.url), r.tokenFile)
	case errors.As(err, &answer) && !answer.Retryable():
		return usage("--connect %s: %w", bare(r.url), err)
	case errors.As(err, new(*client.VersionError)):
		return usage("--connect %s: %w", bare(r.url), err)
	}
	return &exitError{exitFailed, fmt.Errorf("connecting to %s: %w", bare(r.url), cause(err, r.url))}
}

// cause leaves out of an error what the line that it ends has said: that something
// was dialled, and which address, where the URL names it.
func cause(err error, url string) error {
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		return err
	}
	why := dial.Err
	var call *os.SyscallError
	if errors.As(why, &call) {
		why = call.Err
	}
	if dial.Addr == nil || strings.Contains(url, dial.Addr.String()) {
		return why
	}
	return fmt.Errorf("%s: %w", dial.Addr, why)
}

// orLocal connects to it, or opens a gateway of our own where none was named. What
// happens to the line is said on stderr.
func (r *remote) orLocal(ctx context.Context, o gateway.Options) (*host, error) {
	if r.url != "" {
		return r.open(ctx, func(text string) { fmt.Fprintln(os.Stderr, "agent-server:", text) })
	}
	adoptOrphans()
	h, err := openLocal(ctx, o)
	if err != nil {
		return nil, usage("%w", err)
	}
	return h, nil
}

// ownOnly are flags about a gateway of our own, with why one elsewhere cannot have
// them from here.
var ownOnly = []struct{ flag, why string }{
	{"record", "a recording is made of what the harness itself says, which only its own gateway hears"},
	{"config", "which executables are run is for the gateway's operator to say"},
	{"codex-path", "which executables are run is for the gateway's operator to say"},
	{"claude-path", "which executables are run is for the gateway's operator to say"},
	{"acp-agent", "which executables are run is for the gateway's operator to say"},
	{"acp-default", "which agents there are is for the gateway's operator to say"},
	{"pass-env", "what harnesses inherit is for the gateway's operator to say"},
	{"max-permission-mode", "the cap is for the gateway's operator to set"},
}

// beside checks what a command was told of a gateway elsewhere, and gives the options
// of one of our own.
func (s *setup) beside(cmd *cobra.Command, r *remote) (gateway.Options, error) {
	if err := r.check(); err != nil {
		return gateway.Options{}, err
	}
	for _, x := range ownOnly {
		if r.url != "" && cmd.Flags().Changed(x.flag) {
			return gateway.Options{}, fmt.Errorf("--%s and --connect exclude each other: %s", x.flag, x.why)
		}
	}
	if r.url != "" { // where nothing of our own is opened: not even its file is read
		_, err := s.logger()
		return gateway.Options{}, err
	}
	return s.options()
}
