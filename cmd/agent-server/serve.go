package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"agent-server/gateway"
	"agent-server/transport"
)

// serveFlags are what serve was called with.
type serveFlags struct {
	setup
	network
	limits
	consent
	store
	// stdio is served on where nothing else is, or where it was asked for.
	stdio bool
	// drain is how long running turns may go on; 0: not at all.
	drain time.Duration
}

// newServeCommand is the gateway: as a subprocess of its client, on the network,
// or both.
func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the protocol on stdin and stdout, or on the network",
		Long: `Serve protocol 2: JSON-RPC 2.0, one object a line. Without --listen and --dial it is
served on stdin and stdout: stdout then carries the wire and nothing else. The log
goes to stderr.

--listen serves WebSockets. A client shows a token, which is made at the first
start; its file's path is printed, and never the token. Beyond loopback it needs TLS
(--tls-cert, --tls-key) or a proxy that brings it (--behind-proxy), and the name that
clients use (--allowed-host). GET /healthz and /readyz answer everybody, GET
/metrics (Prometheus) who shows the token.
--dial connects to a client that cannot connect to us, again and again. All of them
may be given at once, and --stdio with them; they serve the same sessions, which are
kept in --state-dir then, and are there again after a restart.

It ends on SIGTERM, SIGINT or SIGHUP and when a client calls shutdown: running turns
may then go on for --drain-timeout and are cancelled after it. On --stdio it also ends
when stdin ends: what runs is cancelled. In each case every request that was read is
answered, every event is written, sockets are closed (1001), and no harness is left.
A second signal kills what is left.

Exit codes: 0 ended in order; 2 usage; 3 something was left unsaid or would not end;
130 killed by a second signal.`,
		Example: `  agent-server serve --stdio
  agent-server serve --listen 7777
  agent-server serve --listen 0.0.0.0:7777 --tls-cert cert.pem --tls-key key.pem --allowed-host box.example
  agent-server serve --dial wss://hub.example/agents --dial-token-file ~/hub-token
  agent-server serve --acp-agent gemini="gemini --experimental-acp"
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}' | agent-server serve --stdio`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	f.setup.flags(cmd)
	f.network.flags(cmd)
	f.limits.flags(cmd)
	f.consent.flags(cmd)
	f.store.flags(cmd)
	cmd.Flags().BoolVar(&f.stdio, "stdio", true, "serve on stdin and stdout (default: unless --listen or --dial is given)")
	cmd.Flags().Lookup("stdio").DefValue = "" // the text says it better than "true"
	cmd.Flags().DurationVar(&f.drain, "drain-timeout", gateway.DefaultDrainTimeout, "how long running turns may go on after a signal or shutdown")
	return cmd
}

// check finds what is wrong with the flags before anything is started.
func (f *serveFlags) check(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("stdio") {
		f.stdio = !f.used()
	}
	switch {
	case !f.stdio && !f.used():
		return errors.New("--stdio=false leaves nothing to serve on: add --listen or --dial")
	case f.drain < 0:
		return fmt.Errorf("--drain-timeout %s: want a time that is not negative", f.drain)
	}
	if err := f.network.check(cmd); err != nil {
		return err
	}
	if err := f.store.check(&f.network); err != nil {
		return err
	}
	return f.network.usable()
}

// serve joins gateway, transports and signals, and waits for the end.
func (f *serveFlags) serve(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return usage("%w", err)
	}
	o, err := f.options()
	if err == nil {
		err = errors.Join(f.limits.apply(&o), f.consent.apply(&o))
	}
	if err != nil {
		return usage("%w", err)
	}
	o.DrainTimeout = f.drain
	if f.drain == 0 {
		o.DrainTimeout = -1 // its zero is the default
	}
	signals, usual := stopSignals()
	defer usual()
	adoptOrphans()
	counts := newMeasured()
	o.Metrics = counts
	gw, err := f.newGateway(&f.network, o)
	if err != nil {
		return usage("%w", err)
	}
	s := &serving{gw: gw, signals: signals, drain: f.drain, log: o.Logger,
		notice: f.notices(), metrics: counts.handler()}
	if err := s.open(f); err != nil {
		return usage("%w", errors.Join(err, s.abandon()))
	}
	return s.exit(s.untilEnd())
}

// open starts every transport. The network comes before stdio: a client that has
// its answer from there finds the rest served.
func (s *serving) open(f *serveFlags) (err error) {
	connect := connector(s.gw)
	if f.listen != "" {
		if err := s.listen(f, connect); err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
	}
	for _, target := range f.dial {
		if err := s.dial(f, target, connect); err != nil {
			return fmt.Errorf("--dial: %w", err)
		}
	}
	if f.stdio {
		sub := s.gw.Connect(gateway.ConnectOptions{Pause: true, Name: "stdio", Reach: gateway.ReachHost})
		s.stream = transport.Open(transport.NDJSON(os.Stdin, os.Stdout, int64(f.message), 0, closeStdio), sub, sub, transport.Options{Logger: s.log})
	}
	return nil
}

// listen accepts WebSockets from now on, and says where. No context ends it: the
// end has an order, which untilEnd keeps.
func (s *serving) listen(f *serveFlags, connect transport.Connect) (err error) {
	o := f.listenOptions()
	o.Socket = f.socket()
	o.Logger = s.log
	o.Metrics = s.metrics
	o.Health, o.Ready = http.HandlerFunc(s.gw.Health), http.HandlerFunc(s.gw.Ready)
	if s.listener, err = transport.Listen(background, o, connect); err != nil {
		return err
	}
	s.notice.say("listening on "+s.listener.URL(), zap.String("url", s.listener.URL()), zap.String("address", s.listener.Addr().String()))
	if file := s.listener.TokenFile(); file != "" {
		s.notice.say("clients show the token in "+file, zap.String("tokenFile", file))
	} else {
		s.notice.say("every process of this machine is let in without a token (--insecure-no-auth)")
	}
	return nil
}

// dial dials out from now on.
func (s *serving) dial(f *serveFlags, target string, connect transport.Connect) error {
	o := f.dialOptions(target)
	o.Socket = f.socket()
	o.Logger = s.log
	d, err := transport.Dial(background, o, connect)
	if err != nil {
		return err
	}
	s.dialers = append(s.dialers, d)
	s.notice.say("dialling "+bare(target), zap.String("url", bare(target)))
	return nil
}
