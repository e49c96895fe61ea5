package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestCause: of a gateway that cannot be reached each thing is said once, and nothing
// is left out that the URL does not say.
func TestCause(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7777},
		Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
	for _, tc := range []struct {
		err       error
		url, want string
	}{
		{refused, "ws://127.0.0.1:7777/", syscall.ECONNREFUSED.Error()},
		{fmt.Errorf("around: %w", refused), "ws://box:7777/", "127.0.0.1:7777: " + syscall.ECONNREFUSED.Error()},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "box"}}, "ws://box/", "lookup box: no such host"},
		{&net.OpError{Op: "read", Net: "tcp", Err: errors.New("cut off")}, "ws://box/", "read tcp: cut off"},
	} {
		if got := cause(tc.err, tc.url); got.Error() != tc.want {
			t.Errorf("cause(%q, %s) = %q, want %q", tc.err, tc.url, got, tc.want)
		}
	}
}

// TestPlain: what can be copied out of a table stands there as it is.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"01a2-b": "01a2-b", "/tmp/new": "/tmp/new", "": `""`, "my session": `"my session"`, "a\x1b[2J": `"a\x1b[2J"`, `a"b`: `"a\"b"`, "näh": "näh",
	} {
		if got := plain(text); got != want {
			t.Errorf("plain(%q) = %s, want %s", text, got, want)
		}
	}
}
