//go:build !unix

package process

import "os"

// family is the child alone: there are no groups here, and nobody it started is found.
type family struct {
	child int
}

// newFamily begins with the child alone.
func newFamily(child int, _ string) *family {
	return &family{child: child}
}

// close has nothing to let go.
func (f *family) close() {}

// look cannot learn anything.
func (f *family) look() {}

// left returns nobody.
func (f *family) left() []int { return nil }

// term does nothing: there is no polite signal here.
func (f *family) term(bool) {}

// kill ends the child.
func (f *family) kill() {
	if p, err := os.FindProcess(f.child); err == nil {
		p.Kill()
		p.Release()
	}
}
