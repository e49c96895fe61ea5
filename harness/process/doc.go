// Package process runs one child process and carries its lines: what is written goes to its
// stdin, each line of its stdout goes to a [Sink], the end of its stderr is kept for the report,
// and when the child and everything it started are gone the sink hears so, once.
//
// It decides how a child is started, how its pipes are read and written without either side
// ever waiting for the other, how it is stopped (see [Ladder]) and which other processes belong
// to it. It refuses to know what a line means: it parses no JSON, knows no event, no turn and no
// harness, and does not choose the environment.
//
// # What belongs to a child
//
// A child leads its own session and process group. A process belongs to it that is in that
// session or group, that carries the marker variable ([MarkerEnv]) with the child's value, that
// descends from any of these, or that did so when the family was last looked at: a member stays
// known by pid and start time, so one that moved away and was given another parent is still
// found, and a number that the kernel has given to somebody else is never signalled. The family
// is looked at before each rung of the ladder and after the child's exit, not before CloseStdin.
// Out of reach is only a process that left session and group, dropped the environment and lost its parent, all of it
// between two looks.
//
// # Platforms
//
// On Linux all of that holds, and a child dies with this program (parent-death signal). Other
// Unix systems have the session and the group, but neither the marker, the walk over parents nor
// the parent-death signal. On the rest, Windows among them, only the child itself is ended, there
// is no polite rung between closing stdin and killing, and pipes have no deadlines, so a foreign
// process that keeps one open delays the report. Only Linux is tested.
//
// # Concurrency
//
// The methods of [Process] may be called from any goroutine and never block, Wait excepted. A
// process has four goroutines while it runs (stdout reader, stderr reader, exit watcher,
// supervisor) and a fifth while stdin has something to write. All have ended when Done is closed,
// the supervisor, which closes it, excepted; only a child that outlives SIGKILL keeps its watcher
// and one that will reap it. Two more exist at most once in a program and live as long as it does: spawnLoop,
// started by the first Start on Linux, and adoptLoop, started by [EnableSubreaper]. Leak checks
// have to ignore these by those names.
package process
