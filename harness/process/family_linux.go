package process

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// family is whoever a child started, found again however far they went; see the package's
// comment for who belongs. It never signals a number whose owner it has not just recognised by
// its start time. Any goroutine.
type family struct {
	child  int
	marker string

	mu     sync.Mutex
	known  map[int]uint64 // start time by pid: members not reaped yet, the child excluded
	seen   time.Time      // when the table that known is from began
	closed bool
}

// families are all that have not been closed, for the adopter.
var families sync.Map // *family → nothing

// newFamily begins with the child alone.
func newFamily(child int, marker string) *family {
	f := &family{child: child, marker: marker, known: map[int]uint64{}}
	families.Store(f, nil)
	return f
}

// close ends the search: once the child is reaped its number may be somebody else's.
func (f *family) close() {
	families.Delete(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// look finds the members there are now, remembers them, dead ones that are still to be reaped
// included, and reaps those that are ours to reap. It returns the living, in order of pid, the
// child excluded.
func (f *family) look() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	return f.lookIn(processTable())
}

// adopt looks as look does, in a table that serves every family; one that is older than what is
// known tells nothing.
func (f *family) adopt(t table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed && t.began.After(f.seen) {
		f.lookIn(t)
	}
}

// lookIn is the look, in a table. Called under mu.
func (f *family) lookIn(t table) []int {
	f.seen = t.began
	table := t.procs
	members := f.members(table)
	clear(f.known)
	var living []int
	for _, p := range table {
		if !members[p.pid] || p.pid == f.child {
			continue
		}
		f.known[p.pid] = p.start
		switch {
		case p.alive():
			living = append(living, p.pid)
		case p.ppid == os.Getpid():
			// Adopted by us, as subreaper or as the first process of a container. It is reaped by
			// its number alone: a wait for any child would take the exits of others' commands.
			unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}
	slices.Sort(living)
	return living
}

// members marks who belongs: the session, the group, the marker, the known ones, and whoever
// descends from any of these.
func (f *family) members(table []proc) map[int]bool {
	self := os.Getpid() // never, even where one of our ancestors is
	members := map[int]bool{}
	for _, p := range table {
		start, known := f.known[p.pid]
		if p.pid == f.child || p.session == f.child || p.pgrp == f.child ||
			p.marker == f.marker || known && start == p.start {
			members[p.pid] = true
		}
	}
	delete(members, self)
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if members[p.ppid] && !members[p.pid] && p.pid != self {
				members[p.pid], grown = true, true
			}
		}
	}
	return members
}

// left returns who is alive, the child excluded. While one of the known is, nobody else is
// looked for: a look costs a walk through /proc.
func (f *family) left() []int {
	f.mu.Lock()
	var alive []int
	for pid, start := range f.known {
		if p, ok := readProc(pid); ok && p.start == start && p.alive() {
			alive = append(alive, pid)
		}
	}
	f.mu.Unlock()
	if len(alive) > 0 {
		slices.Sort(alive)
		return alive
	}
	return f.look()
}

// term asks the group to end, and once the child is gone everybody else too: before that, its
// tools are the child's to end.
func (f *family) term(childGone bool) {
	f.look()
	unix.Kill(-f.child, unix.SIGTERM)
	if childGone {
		f.signalKnown(unix.SIGTERM)
	}
}

// kill ends the child, the group and every member.
func (f *family) kill() {
	f.look()
	unix.Kill(-f.child, unix.SIGKILL)
	f.signalKnown(unix.SIGKILL)
}

// signalKnown signals each known member, the group's excluded, who got it already. An error is
// not looked at: whoever is still there is found by the next look.
func (f *family) signalKnown(sig unix.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for pid, start := range f.known {
		if pgrp, err := unix.Getpgid(pid); err == nil && pgrp == f.child {
			continue
		}
		signalProc(pid, start, sig)
	}
}

// signalProc signals a process if it is still the one that started then. The descriptor is
// opened first: it stays with the process that is recognised after, so the number cannot change
// hands in between. Without such descriptors a moment is left in which it can.
func signalProc(pid int, start uint64, sig unix.Signal) {
	fd, fdErr := unix.PidfdOpen(pid, 0)
	if fdErr == nil {
		defer unix.Close(fd)
	}
	p, ok := readProc(pid)
	switch {
	case !ok || p.start != start:
	case fdErr == nil:
		unix.PidfdSendSignal(fd, sig, nil, 0)
	default:
		unix.Kill(pid, sig)
	}
}
