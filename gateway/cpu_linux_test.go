package gateway

import (
	"syscall"
	"testing"
)

// reportCPU adds what the process has spent for each operation: on a busy machine
// that says more than the clock.
func reportCPU(b *testing.B, run func()) {
	b.Helper()
	before := cpuNanos(b)
	run()
	b.ReportMetric(float64(cpuNanos(b)-before)/float64(b.N), "cpu-ns/op")
}

func cpuNanos(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
