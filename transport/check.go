package transport

import (
	"fmt"
	"net/netip"

	"agent-server/transport/access"
)

// OptionError is returned when what a caller has given cannot be used: a URL, or the
// file of a token. Trying again changes nothing; the file may be mended.
type OptionError struct {
	// Err says what is wrong.
	Err error
}

// Error is what is wrong.
func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap gives what is wrong.
func (e *OptionError) Unwrap() error { return e.Err }

// Check says what Listen would refuse of the options. It looks no name up, listens on
// nothing and makes no token: whoever opens something else before may ask it first.
func (o ListenOptions) Check() error {
	if err := o.validate(); err != nil {
		return err
	}
	if _, err := access.NewGate(o.rules()); err != nil {
		return err
	}
	if _, err := serverTLS(o.TLSCert, o.TLSKey); err != nil {
		return err
	}
	host, _, err := splitAddress(o.Address)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil && !ip.Unmap().IsLoopback() {
		if err := o.exposable(); err != nil {
			return fmt.Errorf("listening on %s: %w", ip, err)
		}
	}
	if o.TokenFile != "" {
		_, err = access.ReadToken(o.TokenFile)
	}
	return err
}

// rules say who is let through the gate.
func (o ListenOptions) rules() access.Rules {
	return access.Rules{Hosts: o.AllowedHosts, Origins: o.AllowedOrigins, TLS: o.TLSCert != "", BehindProxy: o.BehindProxy}
}

// Check says what Dial would refuse of the options; it dials nobody.
func (o DialOptions) Check() error {
	if _, err := parseTarget(o.URL); err != nil {
		return err
	}
	if o.TokenFile == "" {
		return nil
	}
	_, err := access.ReadToken(o.TokenFile)
	return err
}
