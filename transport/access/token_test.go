package access

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const token = "0123456789abcdef-canary"

// tokenFile holds a text, for its owner alone.
func tokenFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReadToken: one line of visible ASCII, or an error that names the file and holds
// none of it.
func TestReadToken(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		token: true, token + "\n": true, token + "\r\n": true, strings.Repeat("x", 4096): true,
		"": false, "short-canary": false, strings.Repeat("x", 4097): false, token + " canary": false, token + "\n" + token: false,
		token + ",": false, token + `"`: false, token + "é": false, token + "\x00": false, "\t" + token: false,
	} {
		path := tokenFile(t, text)
		got, err := ReadToken(path)
		switch {
		case good && (err != nil || got != strings.TrimRight(text, "\r\n")):
			t.Errorf("%q: %q, %v", text, got, err)
		case !good && (err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "canary")):
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestOthersFile: a file that others may read, or that is none, is no token's.
func TestOthersFile(t *testing.T) {
	t.Parallel()
	if _, err := ReadToken(t.TempDir()); err == nil {
		t.Error("a folder is taken")
	}
	if runtime.GOOS == "windows" {
		return // its modes say nothing
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601} {
		path := tokenFile(t, token)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadToken(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

// TestValid: the token is shown in one of three forms, and nothing else is shown.
func TestValid(t *testing.T) {
	t.Parallel()
	p, err := OpenPassport(tokenFile(t, token), "")
	if err != nil {
		t.Fatal(err)
	}
	now, _, _ := p.Look(false)
	for name, tc := range map[string]struct {
		header []string // name, value …
		query  string
		good   bool
	}{
		"bearer":             {header: []string{"Authorization", "Bearer " + token}, good: true},
		"any case":           {header: []string{"Authorization", "bEARER  " + token}, good: true},
		"subprotocol":        {header: []string{"Sec-Websocket-Protocol", "x, bearer, " + token}, good: true},
		"two headers of it":  {header: []string{"Sec-Websocket-Protocol", "bearer", "Sec-Websocket-Protocol", token}, good: true},
		"query":              {query: "token=" + token, good: true},
		"twice":              {header: []string{"Authorization", "Bearer " + token}, query: "token=" + token, good: true},
		"nothing":            {},
		"another":            {header: []string{"Authorization", "Bearer " + token + "x"}},
		"a part":             {query: "token=" + token[:16]},
		"empty":              {query: "token="},
		"one right, one not": {header: []string{"Authorization", "Bearer " + token}, query: "token=x"},
		"two in the query":   {query: "token=x&token=" + token},
		"no scheme":          {header: []string{"Authorization", token}},
		"basic":              {header: []string{"Authorization", "Basic " + token}},
		"without bearer":     {header: []string{"Sec-Websocket-Protocol", token}},
	} {
		r, err := http.NewRequest(http.MethodGet, "http://localhost/?"+tc.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(tc.header); i += 2 {
			r.Header.Add(tc.header[i], tc.header[i+1])
		}
		if got := now.Valid(r); got != tc.good {
			t.Errorf("%s: valid is %v", name, got)
		}
		if (Digest{}).Valid(r) {
			t.Errorf("%s: the digest of no token lets it in", name)
		}
	}
}

// TestMade: a token is made where there is none, whole and for its owner alone; it is
// kept.
func TestMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "state")
	p, err := OpenPassport("", dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err := ReadToken(p.Path())
	if err != nil || len(first) != 43 || p.Path() != filepath.Join(dir, "token") {
		t.Errorf("%s: %d characters, want 43: 32 bytes (%v)", p.Path(), len(first), err)
	}
	if _, err := OpenPassport("", dir); err != nil {
		t.Fatal(err)
	}
	if again, _ := ReadToken(p.Path()); again != first {
		t.Error("the token was made again")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files in the state directory, want the token alone", len(left))
	}
}

// TestLook: a changed token holds at once; a file of no use lets nobody in, but those
// who are in stay until a second look finds it so.
func TestLook(t *testing.T) {
	t.Parallel()
	path := tokenFile(t, token)
	p, err := OpenPassport(path, "")
	if err != nil {
		t.Fatal(err)
	}
	first, changed, err := p.Look(true)
	if changed || err != nil || !p.Holds(first) {
		t.Fatalf("an unchanged file: %v, %v", changed, err)
	}
	rewrite := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(token + "-new")
	second, changed, err := p.Look(false)
	if !changed || err != nil || p.Holds(first) || !p.Holds(second) {
		t.Errorf("a changed file: %v, %v", changed, err)
	}
	rewrite("short")
	if now, changed, err := p.Look(true); now != (Digest{}) || changed || err == nil || !p.Holds(second) {
		t.Errorf("the first look at a bad file: %v, %v", changed, err)
	}
	if _, changed, err := p.Look(false); changed || err != nil {
		t.Errorf("a handshake at a bad file: %v, %v", changed, err)
	}
	if _, changed, err := p.Look(true); !changed || err != nil || p.Holds(second) {
		t.Errorf("the second look at a bad file: %v, %v", changed, err)
	}
	rewrite(token)
	if now, changed, err := p.Look(true); now != first || !changed || err != nil || !p.Holds(first) {
		t.Errorf("the file is good again: %v, %v", changed, err)
	}
}
