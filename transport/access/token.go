package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	// generatedName is the token's file in the state directory.
	generatedName = "token"
	// minToken and maxToken bound a token, in bytes.
	minToken, maxToken = 16, 4096
	// lostLooks is at how many looks in a row a file must be of no use before it
	// is taken for revoked.
	lostLooks = 2
)

// BearerProtocol is the subprotocol before a token, for browsers, which can set no
// other header; it is what the handshake answers.
const BearerProtocol = "bearer"

// Digest stands for a token: what is compared has one length, whatever was sent. The
// zero one stands for no token at all: nobody gets in.
type Digest [sha256.Size]byte

// Passport is the one token that lets peers in, as its file has it now.
//
// The file is read, not watched for changes: it is small, and what a rename, a
// mount or a copy tells a watcher differs from system to system.
type Passport struct {
	path string

	// mu guards what follows.
	mu      sync.Mutex
	current Digest
	// lost counts the looks in a row at which the file could not be used.
	lost int
}

// OpenPassport reads the token's file. With no path given it is made in the state
// directory, where there is none yet. An error says which file, and holds none of it.
func OpenPassport(path, stateDir string) (*Passport, error) {
	if path == "" {
		path = filepath.Join(stateDir, generatedName)
		if err := generateToken(path); err != nil {
			return nil, err
		}
	}
	token, err := ReadToken(path)
	if err != nil {
		return nil, err
	}
	return &Passport{path: path, current: sha256.Sum256([]byte(token))}, nil
}

// generateToken makes a token's file, unless there is one.
func generateToken(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // reading it says what may be wrong with it
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	var entropy [32]byte
	_, _ = rand.Read(entropy[:])                                    // it does not fail
	f, err := os.CreateTemp(filepath.Dir(path), generatedName+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("making a token: %w", err)
	}
	_, err = io.WriteString(f, base64.RawURLEncoding.EncodeToString(entropy[:])+"\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		// Whole or not at all: who reads it meanwhile finds no half of one.
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("making a token: %w", err)
	}
	return nil
}

// ReadToken reads a token's file, which must be nobody else's to read. No error
// holds any of its bytes.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	if err := private(info); err != nil {
		return "", fmt.Errorf("reading the token: %s: %w", path, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimRight(string(b), "\r\n")
	if len(token) < minToken || len(token) > maxToken || strings.ContainsFunc(token, unfit) {
		return "", fmt.Errorf("reading the token: %s: want one line of %d to %d visible ASCII characters", path, minToken, maxToken)
	}
	return token, nil
}

// unfit says whether a character cannot stand in every form in which a token is
// sent.
func unfit(r rune) bool { return r <= ' ' || r > '~' || r == ',' || r == '"' }

// Path is the token's file.
func (p *Passport) Path() string { return p.path }

// Look reads the file again and gives the token's digest as it is now. changed:
// whoever came in under another one is to go. A file that cannot be used lets
// nobody in at once; those who are in go when a watch finds it so twice in a row,
// since a file that is being rewritten is not revoked. err is given once, at the
// first of them.
func (p *Passport) Look(watch bool) (now Digest, changed bool, err error) {
	token, err := ReadToken(p.path)
	p.mu.Lock()
	defer p.mu.Unlock()
	bad := err != nil
	switch {
	case !bad:
		p.lost = 0
		now = sha256.Sum256([]byte(token))
	case watch:
		p.lost++
	}
	if !bad || p.lost >= lostLooks {
		changed = now != p.current
		p.current = now
	}
	if !watch || p.lost != 1 {
		err = nil
	}
	return now, changed, err
}

// Holds says whether a connection may stay.
func (p *Passport) Holds(pass Digest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pass == p.current
}

// Valid says whether a request shows the token, and nothing but the token: of
// several forms none may be wrong. Each is compared in constant time, as digests,
// so that not even a length is told.
func (d Digest) Valid(r *http.Request) bool {
	shown := credentials(r)
	right := 1
	for _, c := range shown {
		sum := sha256.Sum256([]byte(c))
		right &= subtle.ConstantTimeCompare(sum[:], d[:])
	}
	return right == 1 && len(shown) > 0 && d != Digest{}
}

// credentials are all tokens that a request shows, in whatever form.
func credentials(r *http.Request) []string {
	var out []string
	for _, v := range r.Header.Values("Authorization") {
		if scheme, token, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
			out = append(out, strings.TrimSpace(token))
		}
	}
	offered := strings.Split(strings.Join(r.Header.Values("Sec-Websocket-Protocol"), ","), ",")
	for i, name := range offered[1:] {
		if strings.TrimSpace(offered[i]) == BearerProtocol {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return append(out, r.URL.Query()["token"]...)
}
