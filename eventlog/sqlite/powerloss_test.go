package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// disk is what a power cut leaves of files: what was synced, and of what was
// written since any part at all.
type disk struct {
	durable map[string][]byte
	pending map[string][]op
}

// take notes an operation.
func (d *disk) take(o op) {
	if o.kind == opSync {
		for _, p := range d.pending[o.file] {
			d.durable[o.file] = apply(d.durable[o.file], p)
		}
		d.pending[o.file] = nil
		return
	}
	o.data = bytes.Clone(o.data)
	d.pending[o.file] = append(d.pending[o.file], o)
}

// apply is a file after an operation.
func apply(file []byte, o op) []byte {
	if o.kind == opTruncate {
		return append([]byte(nil), file[:min(int(o.at), len(file))]...)
	}
	if end := int(o.at) + len(o.data); end > len(file) {
		file = append(file, make([]byte, end-len(file))...)
	}
	file = append([]byte(nil), file...)
	copy(file[o.at:], o.data)
	return file
}

// losses are ways in which a disk treats what was not synced.
var losses = map[string]func(i, n int, o op) (op, bool){
	"all lost":       func(_, _ int, o op) (op, bool) { return o, false },
	"all kept":       func(_, _ int, o op) (op, bool) { return o, true },
	"the last torn":  func(i, n int, o op) (op, bool) { return half(o, i == n-1), true },
	"out of order":   func(i, n int, o op) (op, bool) { return o, i >= n/2 },
	"every other":    func(i, _ int, o op) (op, bool) { return o, i%2 == 1 },
	"each one torn":  func(_, _ int, o op) (op, bool) { return half(o, true), true },
	"the first lost": func(i, _ int, o op) (op, bool) { return o, i > 0 },
}

// half is the first half of a write.
func half(o op, cut bool) op {
	if cut {
		o.data = o.data[:len(o.data)/2]
	}
	return o
}

// image writes what a loss leaves into a directory.
func (d *disk) image(t *testing.T, loss func(i, n int, o op) (op, bool)) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{dbName, dbName + "-wal"} {
		file := d.durable[name]
		for i, o := range d.pending[name] {
			if kept, ok := loss(i, len(d.pending[name]), o); ok {
				file = apply(file, kept)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLaw104_powerLoss: the power is cut at any operation, and the disk keeps of
// what was not synced whatever it likes: what was acknowledged is there.
func TestLaw104_powerLoss(t *testing.T) {
	t.Parallel()
	const n = 24
	steps := script(n)
	d := &disk{durable: map[string][]byte{}, pending: map[string][]op{}}
	acked, ops := 0, 0
	fs := newHookFS(t)
	fs.set(func(o op) verdict {
		// A log that is only being made holds nothing that could be lost.
		if ops++; acked > 0 && ops%thin() == 0 {
			for name, loss := range losses {
				survives(t, name, d.image(t, loss), steps, acked)
			}
		}
		d.take(o)
		return verdict{}
	})
	dir := t.TempDir()
	for half := range 2 { // a clean stop lies between
		l := open(t, dir, Options{vfs: fs.name})
		if err := frequent(l); err != nil {
			t.Fatal(err)
		}
		for _, s := range steps[half*n/2 : (half+1)*n/2] {
			if err := l.Append(s.session, s.batch); err != nil {
				t.Fatal(err)
			}
			acked++
		}
		shut(t, l)
	}
}

// survives opens what a power cut has left.
func survives(t *testing.T, name, dir string, steps []scripted, acked int) {
	t.Helper()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Errorf("%s, %d acked: %v", name, acked, err)
		return
	}
	defer shut(t, l)
	if err := hold(l, steps, acked, min(acked+1, len(steps))); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
