package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What a sweep waits for, at most.
const (
	sweepPolite = 2 * time.Second
	sweepBound  = 10 * time.Second
	sweepPause  = 10 * time.Millisecond
)

// Sweep ends every process whose marker begins with prefix, and their descendants: what somebody
// has started under such markers (Spec.Marker) and has not lived to end. They are asked first, and
// killed after 2 s. It returns how many there were, and an error that names who is left after 10 s.
// An empty prefix is refused: it would be everybody's.
func Sweep(prefix string) (found int, err error) {
	if prefix == "" {
		return 0, errors.New("sweeping: the prefix is empty")
	}
	began := time.Now()
	asked := map[int]uint64{}
	for {
		left := marked(processTable().procs, prefix)
		for _, p := range left {
			if asked[p.pid] != p.start {
				asked[p.pid] = p.start
				signalProc(p.pid, p.start, unix.SIGTERM)
			} else if time.Since(began) > sweepPolite {
				signalProc(p.pid, p.start, unix.SIGKILL)
			}
		}
		switch {
		case len(left) == 0:
			return len(asked), nil
		case time.Since(began) > sweepBound:
			return len(asked), fmt.Errorf("sweeping: %d processes will not end, the first is %d", len(left), left[0].pid)
		}
		time.Sleep(sweepPause)
	}
}

// marked are the living whose marker begins so, and who descends from them; never ourselves.
func marked(table []proc, prefix string) []proc {
	in := map[int]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.pid] && p.pid != os.Getpid() && (strings.HasPrefix(p.marker, prefix) || in[p.ppid]) {
				in[p.pid], grown = true, true
			}
		}
	}
	var living []proc
	for _, p := range table {
		if in[p.pid] && p.alive() {
			living = append(living, p)
		}
	}
	return living
}
