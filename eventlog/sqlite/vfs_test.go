package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	zombiezen "zombiezen.com/go/sqlite"
)

// This file puts a SQLite file system of our own under a log: the system's, with
// every change of a file shown to a hook first, which may refuse it, cut it short
// or end the process. It is how faults are brought about at the Nth operation of
// the real engine.

// opKind is what changes a file.
type opKind string

const (
	opWrite    opKind = "write"
	opSync     opKind = "sync"
	opTruncate opKind = "truncate"
)

// op is one change of one file, before it happens.
type op struct {
	kind opKind
	// file is its base name.
	file string
	// at is where data is written, or the size to cut to.
	at int64
	// data is valid during the call.
	data []byte
}

// verdict is what becomes of an operation.
type verdict struct {
	// code is what SQLite is told; 0: it happens.
	code int32
	// half of a refused write happens.
	half bool
}

// hookFS is such a file system.
type hookFS struct {
	name string
	real uintptr
	hook atomic.Pointer[func(op) verdict]
}

// hooked are all of them, by the address of their sqlite3_vfs, and their open
// files, by the address of the sqlite3_file.
var (
	hookMu    sync.Mutex
	hooked    = map[uintptr]*hookFS{}
	hookFiles = map[uintptr]hookFile{}
	tables    = map[uintptr]uintptr{}
)

// hookFile is an open file; real is its true table of methods.
type hookFile struct {
	fs   *hookFS
	name string
	real uintptr
}

// at turns an address outside of Go's memory into a pointer.
func at(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// cfunc gives a package-level function as SQLite calls it; gofunc calls one of
// SQLite's.
func cfunc(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

func gofunc[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

// newHookFS registers a file system that changes nothing yet.
func newHookFS(t testing.TB) *hookFS {
	t.Helper()
	fs, err := registerHookFS()
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func registerHookFS() (*hookFS, error) {
	// The driver must have set SQLite up before anything else speaks to it.
	conn, err := zombiezen.OpenConn(":memory:", zombiezen.OpenReadWrite|zombiezen.OpenCreate)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	tls := libc.NewTLS()
	defer tls.Close()
	hookMu.Lock()
	defer hookMu.Unlock()
	fs := &hookFS{name: fmt.Sprintf("hooked%d", len(hooked)), real: lib.Xsqlite3_vfs_find(tls, 0)}
	size := unsafe.Sizeof(lib.Tsqlite3_vfs{})
	mine := libc.Xmalloc(tls, lib.Tsize_t(size))
	name, err := libc.CString(fs.name)
	if err != nil || mine == 0 {
		return nil, errors.New("no memory")
	}
	vfs := (*lib.Tsqlite3_vfs)(at(mine))
	*vfs = *(*lib.Tsqlite3_vfs)(at(fs.real))
	vfs.FpNext, vfs.FzName, vfs.FxOpen = 0, name, cfunc(hookOpen)
	if rc := lib.Xsqlite3_vfs_register(tls, mine, 0); rc != 0 {
		return nil, fmt.Errorf("registering the file system: %d", rc)
	}
	hooked[mine] = fs
	return fs, nil
}

// set puts a hook in place; nil: none.
func (fs *hookFS) set(hook func(op) verdict) {
	if hook == nil {
		fs.hook.Store(nil)
		return
	}
	fs.hook.Store(&hook)
}

// judge asks the hook.
func (f hookFile) judge(o op) verdict {
	hook := f.fs.hook.Load()
	if hook == nil {
		return verdict{}
	}
	o.file = f.name
	return (*hook)(o)
}

// lookup gives an open file.
func lookup(file uintptr) hookFile {
	hookMu.Lock()
	defer hookMu.Unlock()
	return hookFiles[file]
}

func hookOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	hookMu.Lock()
	fs := hooked[vfs]
	hookMu.Unlock()
	real := (*lib.Tsqlite3_vfs)(at(fs.real))
	rc := gofunc[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](real.FxOpen)(tls, fs.real, name, file, flags, out)
	methods := (*uintptr)(at(file))
	if rc != 0 || *methods == 0 {
		return rc
	}
	hookMu.Lock()
	defer hookMu.Unlock()
	base := ""
	if name != 0 {
		base = filepath.Base(libc.GoString(name))
	}
	hookFiles[file] = hookFile{fs: fs, name: base, real: *methods}
	*methods = hookTable(tls, *methods)
	return rc
}

// hookTable gives a table of methods with ours in it. The caller holds hookMu.
func hookTable(tls *libc.TLS, real uintptr) uintptr {
	if mine := tables[real]; mine != 0 {
		return mine
	}
	mine := libc.Xmalloc(tls, lib.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	t := (*lib.Tsqlite3_io_methods)(at(mine))
	*t = *(*lib.Tsqlite3_io_methods)(at(real))
	t.FxWrite, t.FxSync, t.FxTruncate, t.FxClose = cfunc(hookWrite), cfunc(hookSync), cfunc(hookTruncate), cfunc(hookClose)
	tables[real] = mine
	return mine
}

// methods is the file's true table.
func (f hookFile) methods() *lib.Tsqlite3_io_methods { return (*lib.Tsqlite3_io_methods)(at(f.real)) }

func hookWrite(tls *libc.TLS, file, buf uintptr, n int32, where int64) int32 {
	f := lookup(file)
	write := gofunc[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.methods().FxWrite)
	v := f.judge(op{kind: opWrite, at: where, data: unsafe.Slice((*byte)(at(buf)), n)})
	if v.half {
		write(tls, file, buf, n/2, where)
	}
	if v.code != 0 {
		return v.code
	}
	return write(tls, file, buf, n, where)
}

func hookSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	f := lookup(file)
	if v := f.judge(op{kind: opSync}); v.code != 0 {
		return v.code
	}
	return gofunc[func(*libc.TLS, uintptr, int32) int32](f.methods().FxSync)(tls, file, flags)
}

func hookTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	f := lookup(file)
	if v := f.judge(op{kind: opTruncate, at: size}); v.code != 0 {
		return v.code
	}
	return gofunc[func(*libc.TLS, uintptr, int64) int32](f.methods().FxTruncate)(tls, file, size)
}

func hookClose(tls *libc.TLS, file uintptr) int32 {
	f := lookup(file)
	hookMu.Lock()
	delete(hookFiles, file)
	hookMu.Unlock()
	*(*uintptr)(at(file)) = f.real
	return gofunc[func(*libc.TLS, uintptr) int32](f.methods().FxClose)(tls, file)
}

// TestHookFS: the file system shows what happens, and refuses what it is told to.
func TestHookFS(t *testing.T) {
	t.Parallel()
	fs := newHookFS(t)
	l := open(t, t.TempDir(), Options{vfs: fs.name})
	seen := map[opKind]int{}
	fs.set(func(o op) verdict { seen[o.kind]++; return verdict{} })
	push(t, l, "s", 1, 1)
	if seen[opWrite] == 0 || seen[opSync] != 1 {
		t.Errorf("an append was %v: one sync is expected", seen)
	}
	fs.set(func(op) verdict { return verdict{code: lib.SQLITE_FULL} })
	if err := l.Append("s", batch("s", 2, 1)); zombiezen.ErrCode(err).ToPrimary() != zombiezen.ResultFull {
		t.Errorf("on a full disk: %v", err)
	}
	fs.set(nil)
}
