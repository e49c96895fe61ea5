package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// serverTLS loads the operator's certificate; nil: none was given.
func serverTLS(cert, key string) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, errors.New("a TLS certificate and its key are given together (--tls-cert, --tls-key)")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("loading the TLS certificate: %w", err)
	}
	// Not HTTP/2: a WebSocket takes over the whole connection.
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// bind opens the listening socket. An address that others can reach is refused,
// before anything is bound, unless what passes there is protected.
func bind(ctx context.Context, o ListenOptions) (net.Listener, error) {
	host, port, err := splitAddress(o.Address)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolving the address to listen on: %w", err)
	}
	// One of them is judged and bound: a name is not looked up twice.
	ip := ips[0].Unmap()
	if i := slices.IndexFunc(ips, func(a netip.Addr) bool { return a.Unmap().Is4() }); i >= 0 {
		ip = ips[i].Unmap()
	}
	if !ip.IsLoopback() {
		if err := o.exposable(); err != nil {
			return nil, fmt.Errorf("listening on %s: %w", ip, err)
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(ip.String(), port))
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return ln, nil
}

// exposable says what is missing before others may reach the listener.
func (o ListenOptions) exposable() error {
	if o.TLSCert == "" && !o.BehindProxy {
		return errors.New("beyond loopback TLS is needed (--tls-cert, --tls-key), or a proxy that brings it (--behind-proxy)")
	}
	if o.InsecureNoAuth {
		return errors.New("beyond loopback a token is needed (no --insecure-no-auth)")
	}
	return nil
}

// splitAddress takes [host:]port apart; without a host it is loopback.
func splitAddress(address string) (host, port string, err error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err = net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", "", fmt.Errorf("address %q: want [host:]port", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return host, port, nil
}
