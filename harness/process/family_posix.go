//go:build unix && !linux

package process

import "syscall"

// family is the child's process group: here nobody who left it is found.
type family struct {
	child int
}

// newFamily begins with the child alone; the marker cannot be looked for here.
func newFamily(child int, _ string) *family {
	return &family{child: child}
}

// close has nothing to let go.
func (f *family) close() {}

// look cannot learn anything before the group is signalled.
func (f *family) look() {}

// left returns the group's number while it has a member. The child must have been reaped.
func (f *family) left() []int {
	if syscall.Kill(-f.child, 0) == syscall.ESRCH {
		return nil
	}
	return []int{f.child}
}

// term asks the group to end.
func (f *family) term(bool) {
	syscall.Kill(-f.child, syscall.SIGTERM)
}

// kill ends the group.
func (f *family) kill() {
	syscall.Kill(-f.child, syscall.SIGKILL)
}
