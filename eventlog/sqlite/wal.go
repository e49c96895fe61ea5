package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The parts of a write-ahead log, as SQLite's file format has them.
const (
	walHeader   = 32
	frameHeader = 24
	walMagic    = 0x377f0682 // the lowest bit says in which order sums are taken
)

// checkWAL refuses a write-ahead log that is damaged before its tail. SQLite reads
// one up to the first frame that does not fit, and forgets what follows: right for
// a step that a crash has cut, silent loss for what was acknowledged behind it. A
// step is begun when the one before it was synced; so where two are whole behind
// the first bad frame, more than a crash was here.
//
// A header that is not whole may be a crash's, too: it is written anew over frames
// that the file itself holds by then. Where it does not hold them, they are lost.
func checkWAL(db, name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the write-ahead log: %w", err)
	}
	defer f.Close()
	w := wal{in: f, pages: map[uint32][sha256.Size]byte{}}
	whole, behind, err := w.scan()
	held := false
	if err == nil && w.headless {
		held, err = w.heldBy(db)
	}
	if err != nil {
		return fmt.Errorf("looking at the write-ahead log: %w", err)
	}
	if w.headless && !held || !w.headless && behind >= 2 {
		return &DamageError{What: fmt.Sprintf("its write-ahead log is not what was written behind frame %d, and %d whole steps follow", whole, behind)}
	}
	return nil
}

// wal reads a write-ahead log's frames.
type wal struct {
	in    io.Reader
	order binary.ByteOrder
	// salt is what the frames of this life of the file begin with.
	salt [8]byte
	// sum is the one that the next frame goes on from.
	sum [2]uint32
	// frame is the one that was read last, page and all.
	frame []byte
	// headless: the header is not whole. pages are then the sums of the pages in
	// frames that are, the last one of each page.
	headless bool
	pages    map[uint32][sha256.Size]byte
}

// scan counts the frames that are whole from the start on, and the steps that end
// behind the first one that is not.
//
// Behind the newest step stand frames of an earlier life of the file, which was
// written from its start anew: they bear another salt, and count for nothing.
func (w *wal) scan() (whole, behind int, err error) {
	ok, err := w.head()
	w.headless = !ok && err == nil
	for bad := !ok; err == nil; {
		if _, err = io.ReadFull(w.in, w.frame); err != nil {
			break
		}
		fits := w.fits()
		if fits && w.headless {
			w.pages[binary.BigEndian.Uint32(w.frame)] = sha256.Sum256(w.frame[frameHeader:])
		}
		switch {
		case !fits:
			bad = true
		case !bad:
			whole++
		case w.ends(): // whole by its own sum, behind one that is not
			behind++
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return whole, behind, err
}

// head reads the header; ok is false of one that is not whole. Its frames are
// looked at even so, as far as their size can be told.
func (w *wal) head() (ok bool, err error) {
	h := make([]byte, walHeader)
	if _, err := io.ReadFull(w.in, h); err != nil {
		return false, err
	}
	magic, size := binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[8:])
	w.order = binary.LittleEndian
	if magic&1 != 0 {
		w.order = binary.BigEndian
	}
	// SQLite's default, which is what this log has.
	if size < 512 || size > 64<<10 || size&(size-1) != 0 {
		size = 4096
	}
	w.frame = make([]byte, frameHeader+int(size))
	copy(w.salt[:], h[16:24])
	w.add(h[:24])
	return magic&^1 == walMagic && w.sum == stored(h[24:]), nil
}

// heldBy says whether the database file has every page that was seen.
func (w *wal) heldBy(db string) (bool, error) {
	f, err := os.Open(db)
	if err != nil {
		return len(w.pages) == 0, nil
	}
	defer f.Close()
	page := make([]byte, len(w.frame)-frameHeader)
	for n, sum := range w.pages {
		_, err := f.ReadAt(page, int64(n-1)*int64(len(page)))
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if err != nil || sha256.Sum256(page) != sum {
			return false, nil
		}
	}
	return true, nil
}

// fits says whether the frame is of this life of the file, and is what its own sum
// says, behind whatever sum the frame before it bears.
func (w *wal) fits() bool {
	mine := [8]byte(w.frame[8:16]) == w.salt
	w.add(w.frame[:8])
	w.add(w.frame[frameHeader:])
	said := stored(w.frame[16:])
	whole := w.sum == said
	w.sum = said
	return mine && whole
}

// ends says whether the frame is the last one of a step.
func (w *wal) ends() bool { return binary.BigEndian.Uint32(w.frame[4:]) != 0 }

// add takes bytes into the sum, as SQLite does: two running sums of 32 bits, each
// feeding the other, over eight bytes at a time.
func (w *wal) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		w.sum[0] += w.order.Uint32(b) + w.sum[1]
		w.sum[1] += w.order.Uint32(b[4:]) + w.sum[0]
	}
}

// stored reads a sum.
func stored(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}
