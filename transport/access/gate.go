package access

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Rules are what the operator of a listener has said of who may speak to it.
type Rules struct {
	// Hosts are names and addresses, without a port, that a Host header may have
	// beside loopback ones.
	Hosts []string
	// Origins are origins of pages, scheme://host[:port], that may connect beside
	// the listener's own.
	Origins []string
	// TLS: the listener itself speaks it.
	TLS bool
	// BehindProxy: what a page sees is spoken by a proxy before the listener.
	BehindProxy bool
}

// Gate judges by Host and Origin who may speak to the listener at all. It is what
// keeps web pages out: a page of any site can make a browser on this machine open
// a WebSocket to a loopback address, and with a name that it re-points there even
// as its own origin. See docs/security.md.
type Gate struct {
	// hosts are names and addresses, without a port, beside the loopback ones.
	hosts []string
	// origins are scheme://host[:port] in the spelling of canonicalOrigin.
	origins []string
	// schemes are those that a page served by this very listener would have.
	schemes []string
}

// NewGate checks what the operator listed; an error quotes what is no host or no
// origin.
func NewGate(r Rules) (*Gate, error) {
	g := &Gate{schemes: []string{"http"}}
	switch {
	case r.TLS:
		g.schemes = []string{"https"}
	case r.BehindProxy:
		// What the proxy speaks outward is not known here.
		g.schemes = []string{"http", "https"}
	}
	for _, h := range r.Hosts {
		name, err := listedHost(h)
		if err != nil {
			return nil, err
		}
		g.hosts = append(g.hosts, name)
	}
	for _, text := range r.Origins {
		origin, ok := canonicalOrigin(text)
		if !ok {
			return nil, fmt.Errorf("allowed origin %q: want scheme://host[:port]", text)
		}
		g.origins = append(g.origins, origin)
	}
	return g, nil
}

// listedHost checks one allowed host: a name or an address, without a port.
func listedHost(h string) (string, error) {
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")); err == nil {
		return a.String(), nil
	}
	name, ok := hostName(h)
	if !ok || !strings.EqualFold(name, h) || strings.Contains(h, "*") {
		return "", fmt.Errorf("allowed host %q: want a name or an address, without a port", h)
	}
	return name, nil
}

// What a gate refuses for. The texts go to the peer: they hold nothing of its own.
var (
	errHost   = errors.New("this Host is neither loopback nor listed (--allowed-host)")
	errOrigin = errors.New("this Origin is neither the server's own nor listed (--allowed-origin)")
)

// Admit judges a request by its headers. What it refuses it says why, for the peer
// too.
func (g *Gate) Admit(r *http.Request) error {
	host, ok := hostName(r.Host)
	if !ok || !(isLoopback(host) || slices.Contains(g.hosts, host)) {
		return errHost
	}
	// Own is what a page would have that came from this Host: of a Host that was
	// just found good, so that a rebound name is no origin of ours.
	if !g.originOK(r.Header.Values("Origin"), r.Host) {
		return errOrigin
	}
	return nil
}

// originOK: absent, same-origin, or listed. What no browser sends (two of them, an
// empty one) is refused.
func (g *Gate) originOK(origins []string, host string) bool {
	if len(origins) == 0 {
		return true
	}
	origin, ok := canonicalOrigin(origins[0])
	if !ok || len(origins) > 1 {
		return false
	}
	if slices.Contains(g.origins, origin) {
		return true
	}
	return slices.ContainsFunc(g.schemes, func(scheme string) bool {
		own, ok := canonicalOrigin(scheme + "://" + host)
		return ok && own == origin
	})
}

// hostName takes the port off a Host and gives the name in lower case, an address
// in its usual spelling. Not ok: it is no host at all.
func hostName(host string) (string, bool) {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if !isPort(port) {
			return "", false
		}
		name = h
	} else if inner, ok := strings.CutPrefix(name, "["); ok && strings.HasSuffix(inner, "]") {
		name = strings.TrimSuffix(inner, "]")
	}
	// Only the spellings of RFC 4291 and dotted quads are addresses: 127.1 and
	// 2130706433, which some resolvers take too, stay names, and are not listed.
	if a, err := netip.ParseAddr(name); err == nil {
		return a.String(), true
	}
	// A colon is left only where the brackets or the port were malformed.
	return strings.ToLower(name), name != "" && !strings.ContainsAny(name, ":[]/@ ")
}

// isPort says whether a port is a number, or was left empty.
func isPort(port string) bool {
	return len(port) <= 5 && strings.Trim(port, "0123456789") == ""
}

// isLoopback says whether a name means this machine, whatever a name server says:
// localhost by its very name, or an address. 0.0.0.0, which also gets here, is
// none.
func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Zone() == "" && a.Unmap().IsLoopback()
}

// canonicalOrigin gives an origin in one spelling: lower case, no default port.
// The opaque "null" of sandboxed pages is none.
func canonicalOrigin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return "", false
	}
	name, ok := hostName(u.Host)
	if !ok {
		return "", false
	}
	port := u.Port()
	if (u.Scheme == "http" && port == "80") || (u.Scheme == "https" && port == "443") {
		port = ""
	}
	if port != "" {
		return u.Scheme + "://" + net.JoinHostPort(name, port), true
	}
	return u.Scheme + "://" + name, true
}
