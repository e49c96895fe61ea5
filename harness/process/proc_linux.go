package process

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// proc is one process as /proc shows it.
type proc struct {
	pid, ppid, pgrp, session int
	start                    uint64 // in clock ticks since boot: with the pid, who it is
	state                    byte
	threads                  int
	flags                    int    // the kernel's
	marker                   string // the value of the marker variable; "" where there is none to see
}

// alive is whether it still runs. A zombie whose other threads go on does.
func (p proc) alive() bool {
	return p.state != 'Z' && p.state != 'X' || p.threads > 1
}

// table is one walk through /proc, and when it began.
type table struct {
	began time.Time
	procs []proc
}

// exiting is the kernel's flag of a thread that ends.
const exiting = 0x4

// dying is whether no instruction of the program is run any more: SIGKILL waits for it, or it
// ends, or is over. They are asked in this order, in which they come to be.
func dying(pid int) bool {
	if killPending(readFile("/proc/"+strconv.Itoa(pid)+"/status", make([]byte, 4<<10))) {
		return true
	}
	p, ok := readProc(pid)
	return !ok || !p.alive() || p.flags&exiting != 0
}

// killPending reads /proc/<pid>/status: SIGKILL stays in the signals that wait for the process
// until that is over.
func killPending(status []byte) bool {
	const name = "\nShdPnd:\t"
	at := bytes.Index(status, []byte(name))
	if at < 0 {
		return false
	}
	set, _, _ := bytes.Cut(status[at+len(name):], []byte{'\n'})
	mask, err := strconv.ParseUint(string(set), 16, 64)
	return err == nil && mask&(1<<(unix.SIGKILL-1)) != 0
}

// lastTable is the last walk, shared by all who asked before it began: when many children end
// at once, each would else walk for itself.
var lastTable struct {
	mu sync.Mutex
	table
}

// processTable returns all processes, as they were at some moment after the call. The result is
// shared and must not be changed.
func processTable() table {
	asked := time.Now()
	lastTable.mu.Lock()
	defer lastTable.mu.Unlock()
	if !lastTable.began.After(asked) {
		began := time.Now()
		lastTable.table = table{began, walkProc()}
	}
	return lastTable.table
}

// walkProc reads /proc. Who ends while it does is left out.
func walkProc() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var procs []proc
	buf := make([]byte, 16<<10)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, ok := parseStat(pid, readFile("/proc/"+name+"/stat", buf))
		if !ok {
			continue
		}
		p.marker, buf = readMarker(name, buf)
		procs = append(procs, p)
	}
	return procs
}

// readProc reads what there is about one process, the marker excluded.
func readProc(pid int) (proc, bool) {
	return parseStat(pid, readFile("/proc/"+strconv.Itoa(pid)+"/stat", make([]byte, 1<<10)))
}

// parseStat reads a line of /proc/<pid>/stat. The second field is the program's own name, which
// may hold blanks and brackets: the others are counted from its last bracket.
func parseStat(pid int, stat []byte) (proc, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return proc{}, false
	}
	number := func(field int) int { // its number in proc(5), where the first here is 3
		n, _ := strconv.Atoi(string(fields[field-3]))
		return n
	}
	return proc{
		pid:     pid,
		state:   fields[0][0],
		ppid:    number(4),
		pgrp:    number(5),
		session: number(6),
		threads: number(20),
		flags:   number(9),
		start:   uint64(number(22)),
	}, true
}

// readMarker returns the marker that a process carries, "" where it has none or may not be looked
// at, and the buffer, grown to what it took.
func readMarker(pid string, buf []byte) (string, []byte) {
	environ := readFile("/proc/"+pid+"/environ", buf)
	return findMarker(environ), environ[:cap(environ)]
}

// findMarker finds the marker's value in an environment of NUL-terminated strings.
func findMarker(environ []byte) string {
	const name = MarkerEnv + "="
	for from := 0; ; {
		at := bytes.Index(environ[from:], []byte(name))
		if at < 0 {
			return ""
		}
		at += from
		from = at + len(name)
		if at == 0 || environ[at-1] == 0 {
			value, _, _ := bytes.Cut(environ[from:], []byte{0})
			return string(value)
		}
	}
}

// readFile reads a file of /proc into buf, which grows where it is too small; on a fault it
// returns what came before it. It does without os.File, whose set-up costs more than the read.
func readFile(path string, buf []byte) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return buf[:0]
	}
	defer unix.Close(fd)
	size := 0
	for {
		if size == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := unix.Read(fd, buf[size:])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return buf[:size]
		}
		size += n
	}
}
