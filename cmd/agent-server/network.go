package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/spf13/cobra"

	"agent-server/gateway"
	"agent-server/transport"
)

// network is where serve is reached beside stdio, and by whom.
//
// Package transport judges most of it; here stands what a command line alone can
// get wrong.
type network struct {
	// listen is [host:]port; "": nothing is listened on. dial are URLs.
	listen string
	dial   []string
	// tokenFile lets clients in; dialTokenFile is shown where we dial; stateDir is
	// where a token is made if there is no file.
	tokenFile, dialTokenFile, stateDir string
	// noAuth lets in who has no token.
	noAuth bool
	// hosts and origins are allowed beside loopback and the server's own.
	hosts, origins []string
	// cert and key are PEM files.
	cert, key string
	// behindProxy: TLS ends before us.
	behindProxy bool
}

// listenOnly are flags that say nothing without --listen. Who gives one has
// forgotten it, and would take a gateway for guarded that nobody can reach.
var listenOnly = []string{"token-file", "insecure-no-auth", "allowed-host", "allowed-origin", "tls-cert", "tls-key", "behind-proxy"}

// flags declares them.
func (n *network) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&n.listen, "listen", "", "serve WebSockets on [host:]port; without a host on 127.0.0.1, port 0 takes a free one")
	f.StringArrayVar(&n.dial, "dial", nil, "dial out to this ws:// or wss:// URL, for as long as we live (repeatable)")
	f.StringVar(&n.tokenFile, "token-file", "", "the token that clients of --listen show, mode 0600 (default: one is made in --state-dir)")
	f.StringVar(&n.dialTokenFile, "dial-token-file", "", "the token that is shown where --dial connects, mode 0600")
	f.StringVar(&n.stateDir, "state-dir", "", "where what outlives the process is kept (default: "+stateDirText+")")
	f.BoolVar(&n.noAuth, "insecure-no-auth", false, "let every process of this machine in without a token")
	f.StringArrayVar(&n.hosts, "allowed-host", nil, "a further name or address that a Host header may have (repeatable)")
	f.StringArrayVar(&n.origins, "allowed-origin", nil, "a further origin of web pages, scheme://host[:port] (repeatable)")
	f.StringVar(&n.cert, "tls-cert", "", "certificate chain, PEM")
	f.StringVar(&n.key, "tls-key", "", "its private key, PEM")
	f.BoolVar(&n.behindProxy, "behind-proxy", false, "a proxy before us brings TLS")
}

// used says whether there is anything but stdio.
func (n *network) used() bool { return n.listen != "" || len(n.dial) > 0 }

// check finds what contradicts itself, and fills in the state directory.
func (n *network) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("listen") && n.listen == "" {
		return errors.New("--listen: want [host:]port")
	}
	for _, name := range listenOnly {
		if n.listen == "" && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is of use with --listen alone: add --listen [host:]port, or leave it out", name)
		}
	}
	if len(n.dial) == 0 && n.dialTokenFile != "" {
		return errors.New("--dial-token-file is of use with --dial alone: add --dial URL, or leave it out")
	}
	if n.noAuth && n.tokenFile != "" {
		return errors.New("--insecure-no-auth and --token-file exclude each other: leave one of them out")
	}
	if (n.cert == "") != (n.key == "") {
		return errors.New("--tls-cert and --tls-key are given together: add the one that is missing")
	}
	for _, target := range n.dial {
		if err := noSecret(target); err != nil {
			return fmt.Errorf("--dial: %w: put it into a file and give --dial-token-file", err)
		}
	}
	return n.findState()
}

// findState fills in the state directory where something is kept in it.
func (n *network) findState() (err error) {
	if n.stateDir == "" && n.listen != "" && n.tokenFile == "" && !n.noAuth {
		n.stateDir, err = stateDir()
	}
	return err
}

// noSecret refuses a token in a URL that was typed: every user of the machine can
// read it among the arguments. Its text is in no error.
func noSecret(target string) error {
	u, err := url.Parse(target)
	if err == nil && (u.Query().Has("token") || u.User != nil) {
		return errors.New("the URL holds a secret, which all users of this machine can read among the arguments")
	}
	return nil
}

// stateDirText is stateDir's rule in a help text.
const stateDirText = "agent-server in $XDG_STATE_HOME, or where the system keeps such things"

// stateDir is where programs of this user keep what is theirs: by the XDG rule,
// and where there is none, as on macOS and Windows, in the system's own place.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agent-server"), nil
	}
	dir, err := os.UserHomeDir()
	switch runtime.GOOS {
	case "darwin":
		dir, err = os.UserConfigDir()
	case "windows":
		dir, err = os.UserCacheDir() // %LocalAppData%: it does not roam
	default:
		dir = filepath.Join(dir, ".local", "state")
	}
	if err != nil {
		return "", fmt.Errorf("--state-dir: give one, since none can be found: %w", err)
	}
	return filepath.Join(dir, "agent-server"), nil
}

// listenOptions are what transport needs of it.
func (n *network) listenOptions() transport.ListenOptions {
	return transport.ListenOptions{Address: n.listen, TokenFile: n.tokenFile, StateDir: n.stateDir,
		InsecureNoAuth: n.noAuth, AllowedHosts: n.hosts, AllowedOrigins: n.origins,
		TLSCert: n.cert, TLSKey: n.key, BehindProxy: n.behindProxy}
}

// dialOptions are the same for one --dial.
func (n *network) dialOptions(target string) transport.DialOptions {
	return transport.DialOptions{URL: target, TokenFile: n.dialTokenFile}
}

// usable finds what the transports would refuse, before the log is opened: nothing is
// made on disk for a slip in a flag.
func (n *network) usable() error {
	if n.listen != "" {
		if err := n.listenOptions().Check(); err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
	}
	for _, target := range n.dial {
		if err := n.dialOptions(target).Check(); err != nil {
			return fmt.Errorf("--dial %s: %w", bare(target), err)
		}
	}
	return nil
}

// connector gives every new connection its view of the gateway. What a client may
// ask for depends on where it is: who can only be a process of this machine may
// more than who may be anybody.
func connector(gw *gateway.Gateway) transport.Connect {
	return func(p transport.Peer) (jsonrpc2.Handler, transport.Source) {
		reach := gateway.ReachNetwork
		if p.Local {
			reach = gateway.ReachLoopback
		}
		sub := gw.Connect(gateway.ConnectOptions{Name: p.Name, Reach: reach})
		return sub, sub
	}
}
