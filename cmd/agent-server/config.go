package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/protocol"
)

const (
	// noConfig is what --config says where no file is to be read, the usual one neither.
	noConfig = "none"
	// maxConfig bounds the file, in bytes.
	maxConfig = 1 << 20
)

// config is what the operator's file says. It holds no secret: it names variables,
// whose values stay in the environment.
type config struct {
	// Agents are ACP agents by their harness id.
	Agents map[string]agentConfig `json:"agents"`
	// ACPDefault is the agent that plain acp means; "": the file does not say.
	ACPDefault string `json:"acpDefault"`
	// ClaudePath and CodexPath are executables; "": those on PATH.
	ClaudePath string `json:"claudePath"`
	CodexPath  string `json:"codexPath"`

	// path is the file, "" where there is none, and text what it holds.
	path string
	text []byte
}

// agentConfig is one agent.
type agentConfig struct {
	// Command is the executable and what always follows it; nil: the known agent's.
	Command []string `json:"command"`
	// Args are what makes it speak ACP; nil: the known agent's.
	Args []string `json:"args"`
	// Like is the known agent whose quirks and defaults it has; "": that of its name.
	Like string `json:"like"`
	// PassEnv names variables that it inherits beside the known agent's; a trailing
	// * is a prefix match.
	PassEnv []string `json:"passEnv"`
}

// configText is configPath's rule in a help text.
const configText = "agent-server/config.json in $XDG_CONFIG_HOME, or where the system keeps such things"

// configPath is where the file is looked for that nobody names; "": nowhere.
func configPath() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return ""
		}
	}
	return filepath.Join(dir, "agent-server", "config.json")
}

// readConfig reads the file that --config names, or the usual one where there is one.
func readConfig(flag string) (*config, error) {
	path := flag
	if path == "" {
		path = configPath()
	}
	if path == noConfig || path == "" {
		return &config{}, nil
	}
	f, err := os.Open(path)
	switch {
	case flag == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		return &config{}, nil // a service's home is often /dev/null
	case err != nil:
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer f.Close()
	text, err := readOwn(f)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	return parseConfig(path, text)
}

// readOwn reads an open file, which nobody else may have written: what is looked at is
// what is read.
func readOwn(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return nil, errors.New("everybody may write it, and it names what is run: chmod o-w")
	}
	return readBounded(f, maxConfig)
}

// parseConfig takes nothing that it does not know: a member that is misspelled would
// otherwise be one that was never there.
func parseConfig(path string, text []byte) (*config, error) {
	c := &config{path: path, text: text}
	if err := json.Unmarshal(text, c, json.RejectUnknownMembers(true)); err != nil {
		return nil, c.misread(err)
	}
	return c, c.check()
}

// misread words what the codec says. It quotes no value: somebody may have put a
// secret there all the same.
func (c *config) misread(err error) error {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("--config %s: %s: is not JSON: %w", c.place(syntax.ByteOffset), member(syntax.JSONPointer), syntax.Err)
	case errors.As(err, &meaning) && errors.Is(err, json.ErrUnknownName):
		return c.wrong(meaning.JSONPointer, "unknown member; here may stand %s", strings.Join(membersOf(meaning.JSONPointer), ", "))
	case errors.As(err, &meaning):
		return c.wrong(meaning.JSONPointer, "want %s", wanted(meaning.GoType))
	}
	return fmt.Errorf("--config %s: %w", c.path, err)
}

// membersOf are those that may stand where an unknown one does.
func membersOf(at jsontext.Pointer) []string {
	of := reflect.TypeFor[config]()
	if strings.Count(string(at), "/") > 1 {
		of = reflect.TypeFor[agentConfig]()
	}
	var names []string
	for i := range of.NumField() {
		if name := of.Field(i).Tag.Get("json"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// wanted is a type in JSON's words.
func wanted(t reflect.Type) string {
	switch {
	case t == nil:
		return "something else"
	case t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Slice:
		return "an array of strings"
	}
	return "an object"
}

// member is a place in the file as people read it.
func member(at jsontext.Pointer) string {
	if at == "" {
		return "the file"
	}
	return string(at)
}

// wrong says what is wrong with a member, and where that stands.
func (c *config) wrong(at jsontext.Pointer, format string, args ...any) error {
	return fmt.Errorf("--config %s: %s: %w", c.place(c.offset(at)), member(at), fmt.Errorf(format, args...))
}

// place is path:line:column of a byte.
func (c *config) place(offset int64) string {
	before := c.text[:min(int(offset), len(c.text))]
	return fmt.Sprintf("%s:%d:%d", c.path, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// offset is where a member stands, with its name; the beginning where it does not.
func (c *config) offset(at jsontext.Pointer) int64 {
	d := jsontext.NewDecoder(bytes.NewReader(c.text))
	for {
		begin := d.InputOffset()
		if _, err := d.ReadToken(); err != nil {
			return 0
		}
		if d.StackPointer() == at {
			rest := c.text[begin:]
			return begin + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n,:")))
		}
	}
}

// check finds what is JSON of the right form, and says nothing that can be meant.
func (c *config) check() error {
	for _, x := range []struct{ name, path string }{{"claudePath", c.ClaudePath}, {"codexPath", c.CodexPath}} {
		if err := runnable(x.path); err != nil && x.path != "" {
			return c.wrong(jsontext.Pointer("").AppendToken(x.name), "%w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if at, err := c.Agents[name].check(name); err != nil {
			base := jsontext.Pointer("/agents").AppendToken(name)
			for _, token := range at {
				base = base.AppendToken(token)
			}
			return c.wrong(base, "%w", err)
		}
	}
	return nil
}

// builtIn are harnesses of their own, which no agent can stand in for.
var builtIn = []protocol.HarnessID{protocol.HarnessDemo, protocol.HarnessClaudeCode, protocol.HarnessCodexAppServer, protocol.HarnessCodexSDK}

// check says what is wrong with an agent, and at which member of it.
func (a agentConfig) check(name string) (at []string, err error) {
	switch {
	case agentName(name) != nil:
		return nil, agentName(name)
	case slices.Contains(builtIn, protocol.HarnessID(name)):
		return nil, errors.New("is built in, and no ACP agent: choose another name")
	case a.Like != "" && !isKnown(a.Like):
		return []string{"like"}, fmt.Errorf("%q is none of %s", a.Like, strings.Join(knownAgents(), ", "))
	case len(a.Command) == 0 && (a.Command != nil || a.Like == "" && !isKnown(name)):
		return nil, errors.New(`want a "command": an array of the executable and its arguments`)
	}
	if len(a.Command) > 0 {
		if err := runnable(a.Command[0]); err != nil {
			return []string{"command", "0"}, err
		}
	}
	if at := argument("command", a.Command); at != nil {
		return at, errNUL
	}
	if at := argument("args", a.Args); at != nil {
		return at, errNUL
	}
	for i, pattern := range a.PassEnv {
		if err := variable(pattern); err != nil {
			return []string{"passEnv", fmt.Sprint(i)}, err
		}
	}
	return nil, nil
}

// agentName refuses what no list could show, and no client could write: a harness id
// is a word of the wire.
func agentName(name string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || strings.TrimSpace(name) != name || strings.ContainsFunc(name, hidden) || !utf8.ValidString(name) {
		return errors.New("want a name of characters that can be seen, without blanks at its ends")
	}
	return nil
}

// errNUL is returned for what no program can be given.
var errNUL = errors.New("holds a NUL character, which no argument can")

// argument is the place of one that holds such; nil: there is none.
func argument(member string, args []string) []string {
	if i := slices.IndexFunc(args, func(arg string) bool { return strings.ContainsRune(arg, 0) }); i >= 0 {
		return []string{member, fmt.Sprint(i)}
	}
	return nil
}

// runnable refuses a command that means something else in each directory.
func runnable(command string) error {
	switch {
	case command == "":
		return errors.New("want an executable: a name that is on PATH, or a whole path")
	case command != filepath.Base(command) && !filepath.IsAbs(command):
		return errors.New("is a relative path: give the whole one, or a name that is on PATH")
	}
	return nil
}

// variable refuses what names no variable. What it says holds no value.
func variable(pattern string) error {
	name := strings.TrimSuffix(pattern, "*")
	switch {
	case strings.Contains(name, "="):
		return errors.New("want the name alone: a value stays in the environment, and never stands here")
	case pattern == "" || strings.ContainsAny(name, "* \t\r\n\x00"):
		return errors.New("want the name of a variable, or a prefix and *")
	case strings.HasPrefix(name, "AGENT_SERVER_"):
		return errors.New("is ours, and never reaches a harness")
	}
	return nil
}

// knownAgents are the agents that are configured by name.
func knownAgents() (names []string) {
	for _, a := range acp.Known() {
		names = append(names, string(a.ID))
	}
	return names
}

func isKnown(name string) bool { return slices.Contains(knownAgents(), name) }

// registrations are the file's agents, in order of their names, but those that a flag
// names.
func (c *config) registrations(flagged func(protocol.HarnessID) bool) (out []gateway.Registration) {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if id := protocol.HarnessID(name); !flagged(id) {
			out = append(out, c.Agents[name].registration(id))
		}
	}
	return out
}

// registration joins an agent with the known one that it is like.
func (a agentConfig) registration(id protocol.HarnessID) gateway.Registration {
	agent := acp.Agent{ID: id, Like: protocol.HarnessID(a.Like), Args: a.Args}
	if len(a.PassEnv) > 0 {
		agent.PassEnv = append(acp.New(agent).Info().PassEnv, a.PassEnv...)
	}
	reg := gateway.Registration{Harness: acp.New(agent)}
	if len(a.Command) > 0 {
		reg.Path, reg.Args = a.Command[0], a.Command[1:]
	}
	return reg
}
