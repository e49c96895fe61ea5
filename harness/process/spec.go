package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"go.uber.org/zap"
)

// MarkerEnv is the environment variable that marks a child and, by inheritance, its descendants.
const MarkerEnv = "AGENT_SERVER_CHILD"

// Defaults of the fields of [Spec] and [Ladder] that are zero.
const (
	// DefaultMaxLineBytes is 64 MiB: CLIs put whole files and images on one line.
	DefaultMaxLineBytes = 64 << 20
	// DefaultMaxQueuedStdin is 256 MiB: a few prompts of the largest size a client may send.
	DefaultMaxQueuedStdin = 256 << 20

	// DefaultAfterClose is enough for a CLI that ends when its input does, as all of them should.
	DefaultAfterClose = 2 * time.Second
	// DefaultAfterTerm lets a CLI end its own tools and write its transcript.
	DefaultAfterTerm = 5 * time.Second
	// DefaultAfterKill is far more than a process needs that can be killed at all.
	DefaultAfterKill = 5 * time.Second
	// DefaultAfterExit is what a turn waits at most, after a crash, for well-behaved leftovers.
	DefaultAfterExit = 1 * time.Second
	// DefaultAfterEOF lets a CLI end by itself that has closed its stdout, which is how most end.
	DefaultAfterEOF = 2 * time.Second
	// DefaultStall is longer than any pause of a CLI that still reads its input.
	DefaultStall = 30 * time.Second
)

// Spec says what to run and how its pipes are read.
type Spec struct {
	// Path is the executable, as exec.LookPath returns it; it is not searched again.
	Path string
	// Args is argv without its first element, which is Path.
	Args []string
	// Env is the whole environment, KEY=VALUE, the last of equal keys wins; the caller has
	// applied its allow-list. Nothing is inherited, only the marker is added.
	Env []string
	// Dir is the working directory; "" is this program's own.
	Dir string
	// Marker is the value of the marker variable; "" is a random one. It must be this child's
	// alone: whatever carries it is ended with the child.
	Marker string
	// MaxLineBytes bounds a line of stdout, its '\n' not counted; 0 is DefaultMaxLineBytes.
	MaxLineBytes int
	// MaxQueuedStdin bounds what Write has accepted and the child has not; 0 is
	// DefaultMaxQueuedStdin.
	MaxQueuedStdin int64
	// Ladder holds the waits of the way down.
	Ladder Ladder
	// Log hears what goes wrong without being an error of a call; nil is silent. Neither
	// arguments, environment nor lines are ever logged.
	Log *zap.Logger
}

// Ladder holds the waits on the way from a running child to none. Its rungs: stdin is closed;
// SIGTERM to the group (and, once the child is gone, to each process it left); SIGKILL to the
// group and to every member of the family, again and again until none is left; giving up, with
// what is left named in [Status].Err. A zero wait is its default.
type Ladder struct {
	// AfterClose is how long a child may take to end by itself once stdin is closed.
	AfterClose time.Duration
	// AfterTerm is how long the family may take to end after SIGTERM.
	AfterTerm time.Duration
	// AfterKill is how long the family may outlive SIGKILL before it is given up.
	AfterKill time.Duration
	// AfterExit is how long the others may go on, and keep stdout open, after the child itself
	// has exited and before SIGTERM.
	AfterExit time.Duration
	// AfterEOF is how long the child may go on once its stdout has ended, by itself: nothing it
	// says can be heard any more. It is then stopped, and the report's Err says why.
	AfterEOF time.Duration
	// Stall is how long the child may accept no byte of what is being written to its stdin
	// before it counts as dead and is stopped.
	Stall time.Duration
}

// Sink receives what a process gives. Line and Dropped are called from one goroutine, in the
// order of the stream. It must not call Wait.
type Sink interface {
	// Line takes one line of stdout without its terminator ("\n" or "\r\n"): valid UTF-8, never
	// empty, the bytes valid during the call. While it blocks, stdout is not read, and Exited waits.
	Line(line []byte)
	// Dropped says that a line over the budget, of so many bytes, was read and thrown away.
	Dropped(bytes int64)
	// Exited is called exactly once, after the last Line, when the child and its descendants are
	// gone and no pipe is read or written any more.
	Exited(Status)
}

// withDefaults returns the spec with every zero replaced by what it stands for.
func (s Spec) withDefaults() Spec {
	s.MaxLineBytes = or(s.MaxLineBytes, DefaultMaxLineBytes)
	s.MaxQueuedStdin = or(s.MaxQueuedStdin, DefaultMaxQueuedStdin)
	s.Ladder.AfterClose = or(s.Ladder.AfterClose, DefaultAfterClose)
	s.Ladder.AfterTerm = or(s.Ladder.AfterTerm, DefaultAfterTerm)
	s.Ladder.AfterKill = or(s.Ladder.AfterKill, DefaultAfterKill)
	s.Ladder.AfterExit = or(s.Ladder.AfterExit, DefaultAfterExit)
	s.Ladder.AfterEOF = or(s.Ladder.AfterEOF, DefaultAfterEOF)
	s.Ladder.Stall = or(s.Ladder.Stall, DefaultStall)
	if s.Marker == "" {
		s.Marker = rand.Text()
	}
	if s.Log == nil {
		s.Log = zap.NewNop()
	}
	return s
}

// or returns v, or def where v is not a positive number.
func or[N int | int64 | time.Duration](v, def N) N {
	if v <= 0 {
		return def
	}
	return v
}

// command builds the child, the marker in its environment, its three files the given ones.
func (s Spec) command(p *pipes) *exec.Cmd {
	return &exec.Cmd{
		Path:        s.Path,
		Args:        append([]string{s.Path}, s.Args...),
		Env:         append(append([]string(nil), s.Env...), MarkerEnv+"="+s.Marker),
		Dir:         s.Dir,
		Stdin:       p.child[0],
		Stdout:      p.child[1],
		Stderr:      p.child[2],
		SysProcAttr: sysProcAttr(),
	}
}

// startError says what could not be started and why. The kernel gives one ENOENT for three
// causes, so that the directory and the interpreter are looked at here.
func (s Spec) startError(err error) error {
	if dirErr := checkDir(s.Dir); dirErr != nil {
		return fmt.Errorf("starting %s: working directory: %w", s.Path, dirErr)
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err // the path is named below
	}
	if _, statErr := os.Stat(s.Path); statErr == nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("starting %s: its interpreter or loader is missing: %w", s.Path, err)
	}
	return fmt.Errorf("starting %s: %w", s.Path, err)
}

// checkDir reports why a working directory cannot be one; "" always can.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s: not a directory", dir)
	}
	return err
}
