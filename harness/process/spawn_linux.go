package process

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// sysProcAttr gives the child its own session, hence its own group and no terminal, and has the
// kernel kill it when the thread that started it ends.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// spawnRequest asks the spawner to start a command; result takes one error.
type spawnRequest struct {
	cmd    *exec.Cmd
	result chan<- error
}

// spawner is the way to the one spawnLoop, which the first use starts.
var spawner = sync.OnceValue(func() chan<- spawnRequest {
	requests := make(chan spawnRequest)
	go spawnLoop(requests)
	return requests
})

// spawnLoop starts every child of this program. The parent-death signal comes when the thread
// that forked ends, not when the program does, and the runtime ends threads as it likes: so this
// one is locked and never let go.
func spawnLoop(requests <-chan spawnRequest) {
	runtime.LockOSThread()
	for r := range requests {
		r.result <- r.cmd.Start()
	}
}

// spawn starts the command on the spawner's thread.
func spawn(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	spawner() <- spawnRequest{cmd, result}
	return <-result
}
