package process

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// adoptEvery is how often living adopted descendants are looked for: nothing tells a subreaper
// that it has become a parent.
const adoptEvery = 10 * time.Second

// enableSubreaper does the work once and keeps its error.
var enableSubreaper = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	go adoptLoop(died)
	return nil
})

// EnableSubreaper makes this program the parent of descendants whose own parent died, and reaps
// them when they end. It is for a program of ours, never for a library inside somebody else's:
// it changes whose children they are. Only members of a running process's family are reaped, by
// number, so the exits of other commands are nobody's but their starter's; a descendant that left
// session and group and was adopted and died between two looks stays a zombie. On other systems
// it fails with errors.ErrUnsupported.
func EnableSubreaper() error {
	return enableSubreaper()
}

// adoptLoop looks at every family when a child of ours has died, and now and then. It lives as
// long as the program.
func adoptLoop(died <-chan os.Signal) {
	now := time.NewTicker(adoptEvery)
	for {
		select {
		case <-died:
		case <-now.C:
		}
		adoptAll()
	}
}

// adoptAll looks at every family in one table: where a hundred children have as many tools that
// end, a walk for each of them would be ten thousand.
func adoptAll() {
	now := processTable()
	families.Range(func(f, _ any) bool {
		f.(*family).adopt(now)
		return true
	})
}
