package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"agent-server/harness/process"
)

// stopSignals hears what asks us to end, from now on instead of ending us. The
// function gives the signals their usual effect back.
//
// A hang-up that was ignored when we began (nohup) stays ignored.
func stopSignals() (<-chan os.Signal, func()) {
	// Room for a few: a person who presses twice must be heard twice.
	heard := make(chan os.Signal, 4)
	signal.Notify(heard, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(heard, syscall.SIGHUP)
	}
	// A reader that has gone away is then an error of the write, and not our
	// sudden end with children running. Notify, not Ignore: what is ignored
	// would be ignored in the children too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return heard, func() { signal.Stop(heard) }
}

// adoptOrphans lets what harnesses leave behind come to us, so that it is found
// and ended. Only for commands that start harnesses; where the system cannot do
// it, descendants are looked for by their marker alone, and that is said, since
// one may then get away.
func adoptOrphans() {
	if err := process.EnableSubreaper(); err != nil {
		fmt.Fprintln(os.Stderr, "agent-server: orphans of harnesses cannot be adopted:", err)
	}
}
