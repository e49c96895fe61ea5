package gateway

import (
	"slices"
	"sort"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// inherited is what every child may see of the gateway's own environment; a
// trailing * is a prefix match. Keys, endpoints and config directories come from
// the harness itself (Info.PassEnv), so that a login works as in a terminal.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "LC_*", "TZ", "TERM", "TMPDIR", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	// What a process needs on Windows to start at all.
	"SYSTEMROOT", "SystemRoot", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "TEMP", "TMP", "COMSPEC",
}

// own is the prefix of our own variables: the gateway's tokens never reach a
// harness, whatever an operator lets through. Only an adapter may name one, whole,
// that is meant for its child.
const own = "AGENT_SERVER_"

// environment composes a child's environment: allow-listed, then the adapter's,
// then config.env, then config.apiKey in the harness's own variable. The last
// one wins. Nothing else is inherited: what happens to stand in the gateway's own
// environment, another service's key for instance, is none of a child's business.
func environment(environ, pass []string, info harness.Info, adapter []string, cfg protocol.RunConfig) []string {
	allow := slices.Concat(inherited, info.PassEnv, pass)
	env := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && (allowed(allow, name) || slices.Contains(info.PassEnv, name)) {
			env[name] = value
		}
	}
	for _, kv := range adapter {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	for name, value := range cfg.Env {
		env[name] = value
	}
	if cfg.APIKey != nil && info.APIKeyEnv != "" {
		env[info.APIKeyEnv] = *cfg.APIKey
	}
	return flatten(env)
}

// allowed says whether one of the patterns lets a name through; none lets ours,
// not even "*".
func allowed(patterns []string, name string) bool {
	if strings.HasPrefix(name, own) {
		return false
	}
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(name, prefix) || p == name {
			return true
		}
	}
	return false
}

// flatten sorts: one environment has one spelling.
func flatten(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out
}
