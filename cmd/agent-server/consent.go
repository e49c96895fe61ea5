package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agent-server/broker"
	"agent-server/gateway"
)

// maxPolicy bounds a policy's file, in bytes.
const maxPolicy = 1 << 20

// consent is what the operator decides of permissions, before anybody is asked and
// where nobody answers.
type consent struct {
	// policy is a file; "": everything is asked.
	policy bound
	// timeout rejects what nobody has answered; 0: never.
	timeout time.Duration
	// nobody is what becomes of a request while no client is there: wait or deny.
	nobody string
}

// flags declares them.
func (c *consent) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&c.policy, "policy", "a file of rules that allow, deny or ask before anyone is asked")
	f.StringVar(&c.nobody, "on-no-client", "wait", "what becomes of a permission request when no client has been there for 10s: wait, deny")
	f.DurationVar(&c.timeout, "permission-timeout", 0, "reject a permission request that nobody has answered for so long; 0: never")
}

// apply checks them and hands them to the gateway.
func (c *consent) apply(o *gateway.Options) error {
	if c.timeout < 0 || c.timeout > 0 && c.timeout < time.Millisecond {
		return fmt.Errorf("--permission-timeout %s: want 0, or at least 1ms", c.timeout)
	}
	if c.nobody != "wait" && c.nobody != "deny" {
		return fmt.Errorf("--on-no-client: %q is none of wait, deny", c.nobody)
	}
	o.PermissionTimeout, o.DenyWithoutClient = c.timeout, c.nobody == "deny"
	if c.policy == "" {
		return nil
	}
	rules, err := readPolicy(string(c.policy))
	if err != nil {
		return fmt.Errorf("--policy %s: %w", c.policy, err)
	}
	o.Policy = rules
	return nil
}

// readPolicy reads a policy's file.
func readPolicy(name string) (broker.ToolPolicy, error) {
	f, err := os.Open(name)
	if err != nil {
		return broker.ToolPolicy{}, err
	}
	defer f.Close()
	text, err := readBounded(f, maxPolicy)
	if err != nil {
		return broker.ToolPolicy{}, err
	}
	return broker.ParsePolicy(text)
}

// readBounded reads a file up to its bound in bytes. It may be a pipe or a device,
// whose size nobody knows before.
func readBounded(f io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it is longer than %d bytes", most)
	}
	return text, err
}

// bound is the value of a flag that limits what is allowed. It is never empty where
// it is given: an unset variable in a script must not take the limit away.
type bound string

func (b *bound) String() string { return string(*b) }
func (b *bound) Type() string   { return "string" }

// Set implements pflag.Value.
func (b *bound) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("it is empty; leave the flag out for no limit")
	}
	*b = bound(s)
	return nil
}
