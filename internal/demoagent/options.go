package demoagent

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// SeedEnv is the environment variable that [Options.Seed] falls back to. With
// the same seed every process makes the same ids, which recordings want.
const SeedEnv = "AGENT_SERVER_DEMO_SEED"

// Options configure [Run]. The zero value is what the command uses.
type Options struct {
	// Version is told to the client as agentInfo.version. Default "dev".
	Version string
	// Seed goes into each id that the agent makes and keeps the ids of two
	// processes apart. 1 to 32 of a-z and 0-9; default the environment variable
	// [SeedEnv], else 16 random hex digits.
	Seed string
	// Exit ends the process for the crash script. Default [os.Exit]. If it
	// returns, the prompt stays unanswered, as after a real exit.
	Exit func(code int)
	// IgnoreSignals makes the process deaf to the signals that ask it to end,
	// for hang hard. Default [signal.Ignore] of the four that a terminal, a
	// shell or a supervisor sends.
	IgnoreSignals func()
}

var seedPattern = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// withDefaults fills what is empty. The error says what is wrong with the seed.
func (o Options) withDefaults() (Options, error) {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Seed == "" {
		o.Seed = os.Getenv(SeedEnv)
	}
	if o.Seed == "" {
		o.Seed = randomSeed()
	}
	if !seedPattern.MatchString(o.Seed) {
		return o, fmt.Errorf("demo agent: seed %q does not match %s", o.Seed, seedPattern)
	}
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	if o.IgnoreSignals == nil {
		o.IgnoreSignals = ignoreSignals
	}
	return o, nil
}

// randomSeed relies on crypto/rand never failing, which it promises.
func randomSeed() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// ignoreSignals also undoes every earlier signal.Notify for these signals.
func ignoreSignals() {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
}
