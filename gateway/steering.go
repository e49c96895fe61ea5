package gateway

import (
	"strings"

	"agent-server/harness"
)

// steering are the variables that decide what code a harness runs, or where it
// takes its login from and sends it to; a trailing * is a prefix match, a leading
// one a suffix match. They are of the loader, of the interpreters that harnesses
// are written in, of the shells and programs that they start by themselves, and of
// the harnesses. What a tool acts on that an agent runs is not here: who may
// prompt the agent may have it set there.
var steering = []string{
	// The loader, and the C library.
	"LD_*", "DYLD_*", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "HOSTALIASES", "RES_OPTIONS",
	// Which programs are found, and which shell runs a command, reading what first.
	"PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SHELL", "ENV", "BASH_*", "BASHOPTS", "SHELLOPTS", "ZDOTDIR", "IFS", "PS4", "PROMPT_COMMAND",
	// Interpreters and virtual machines.
	"NODE_*", "NPM_*", "BUN_*", "DENO_*", "PYTHON*", "VIRTUAL_ENV", "PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "LUA_*", "PHPRC", "PHP_*",
	"JAVA_*", "_JAVA_*", "JDK_*", "CLASSPATH", "DOTNET_*", "CORECLR_*", "COMPLUS_*",
	// Programs that harnesses start by themselves: git above all.
	"GIT_*", "SSH_*", "SUDO_*", "*EDITOR", "VISUAL", "*PAGER", "BROWSER", "LESS*", "TERMINFO*",
	// Where settings and logins lie: each harness has hooks there.
	"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_*",
	// Where traffic goes, and whom it trusts.
	"*_PROXY", "SSL_*", "SSLKEYLOGFILE", "OPENSSL_*", "CURL_*", "REQUESTS_CA_BUNDLE", "*_CA_BUNDLE",
	// The harnesses' own, and those of the clouds that they log in to.
	"CLAUDE*", "ANTHROPIC_*", "CODEX_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*", "CLOUD_ML_*", "VERTEX_*", "AWS_*", "AZURE_*",
	// Ours.
	own + "*",
}

// steers says whether a variable steers a launch: one of the list, or one that the
// harness documents as its own (its keys, endpoints and config directories; a key
// has config.apiKey). Names are compared as if in capitals: some systems and
// libraries do so too, and no harness needs the difference.
func steers(name string, info harness.Info) bool {
	name = strings.ToUpper(name)
	return matches(steering, name) || matches(info.PassEnv, name) || info.APIKeyEnv != "" && name == strings.ToUpper(info.APIKeyEnv)
}

// matches says whether one of the patterns names a name in capitals.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		p = strings.ToUpper(p)
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(name, prefix) {
			return true
		}
		if suffix, ok := strings.CutPrefix(p, "*"); ok && strings.HasSuffix(name, suffix) {
			return true
		}
		if p == name {
			return true
		}
	}
	return false
}
