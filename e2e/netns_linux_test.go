package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideVar tells the second start of the test binary that it is in the namespace.
const insideVar = "AGENT_SERVER_E2E_INSIDE"

// isolated runs the tests in a network namespace of their own by starting this binary
// again. Where that is not allowed it runs them here and leaves the reason in isolation.
func isolated(run func() int) int {
	if os.Getenv(insideVar) != "" {
		os.Unsetenv(insideVar)
		isolation = raiseLoopback()
		return run()
	}
	code, err := again()
	if err != nil {
		isolation = err
		return run()
	}
	return code
}

// again starts this binary in a new network namespace and returns its exit code. Without
// root it needs a user namespace around it, which many kernels allow.
func again() (int, error) {
	// The kernel ties Pdeathsig to the thread that started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), insideVar+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		inUserNamespace(cmd.SysProcAttr)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("starting in a new network namespace: %w", err)
	}
	return exitCode(cmd.ProcessState), nil
}

// inUserNamespace keeps the user's own id: some CLIs behave differently as root.
func inUserNamespace(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	// A process that is not root in its namespace loses its rights there on exec;
	// raising loopback needs this one.
	attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
}

// exitCode is 1 for a child that a signal ended, which has no code of its own.
func exitCode(state *os.ProcessState) int {
	if state.ExitCode() < 0 {
		return 1
	}
	return state.ExitCode()
}

// raiseLoopback sets lo up, which a new network namespace has down.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raising loopback: %w", err)
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("raising loopback: %w", err)
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("raising loopback: %w", err)
	}
	return nil
}
