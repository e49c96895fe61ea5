package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/protocol"
)

// wire is a serve that a test speaks to line by line.
type wire struct {
	t     *testing.T
	stdin interface{ Write([]byte) (int, error) }
	out   heard
	// tmp stands for /tmp on the page.
	tmp string
}

// serveWire starts one; it is ended, and held to leaving nothing, at the end.
func serveWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{t: t, tmp: t.TempDir()}
	cmd := exec.Command("agent-server", "serve", "--stdio", "--claude-path", "/no/such/cli")
	cmd.Env = append(os.Environ(), "AGENT_SERVER_DEMO_SEED=x", tempDirEnv+"="+w.tmp)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.stdin, cmd.Stdout, cmd.Stderr = stdin, &w.out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
		if left := carrying(w.tmp); len(left) > 0 {
			t.Errorf("left processes: %q", left)
		}
	})
	return w
}

// send writes a line of a page.
func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := fmt.Fprintln(w.stdin, strings.ReplaceAll(line, `"/tmp"`, quoted(w.tmp))); err != nil {
		w.t.Fatal(err)
	}
}

// await waits for a line that holds this text, and gives it as the page has it.
func (w *wire) await(text string) string {
	w.t.Helper()
	line := regexp.MustCompile(`(?m)^.*` + regexp.QuoteMeta(text) + `.*$`)
	if !w.out.await(line) {
		w.t.Fatalf("%s never came:\n%s", text, w.out.String())
	}
	return strings.ReplaceAll(string(line.Find(w.out.bytes())), quoted(w.tmp), `"/tmp"`)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// blocks gives the lines of a page's fenced blocks of these languages, in order.
func blocks(t *testing.T, page, languages string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```(?:"+languages+")\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range bytes.Lines(m[1]) {
			lines = append(lines, strings.TrimRight(string(line), "\n"))
		}
	}
	return lines
}

// wireLine is a line of the page, as far as it says what it is.
type wireLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Seq    int64           `json:"seq"`
	Params struct {
		TurnID    string `json:"turnId"`
		RequestID string `json:"requestId"`
		Seq       int64  `json:"seq"`
	} `json:"params"`
}

// TestPageIsTrue plays docs/protocol.md from top to bottom: its requests are
// sent, and everything else that it shows must come.
func TestPageIsTrue(t *testing.T) {
	t.Parallel()
	w := serveWire(t)
	same := agreement{names: map[string]string{}, taken: map[string]string{}}
	requests, seen := 0, 0
	turn := ""
	for _, text := range blocks(t, "../../docs/protocol.md", "jsonc?") {
		var line wireLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if line.Method == "" || line.Method == protocol.NotificationEvent {
			seen++
			if err := same.lines(text, w.await(whatFor(line))); err != nil {
				t.Errorf("%s\n%v", text, err)
			}
			continue
		}
		requests++
		switch line.Method {
		case protocol.MethodTurnStart:
			if turn != "" {
				w.await(`"turn.ended","sessionId":"s","turnId":"` + turn + `"`)
			}
			turn = line.Params.TurnID
		case protocol.MethodTurnCancel:
			w.await("until cancelled")
		case protocol.MethodEventsReplay:
			w.await(`"turn.ended","sessionId":"s","turnId":"` + turn + `"`)
		case protocol.MethodPermissionRespond:
			w.await(`"permission.requested"`)
			text = strings.Replace(text, quoted(line.Params.RequestID), quoted(same.names[line.Params.RequestID]), 1)
		}
		w.send(text)
	}
	if requests < 9 || seen < 20 {
		t.Errorf("the page has %d requests and %d other lines", requests, seen)
	}
}

// whatFor is a text that only the line meant holds.
func whatFor(line wireLine) string {
	switch seq := max(line.Seq, line.Params.Seq); {
	case seq > 0:
		return fmt.Sprintf(`"params":{"sessionId":"s","seq":%d,`, seq)
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,`, line.ID)
	}
}

// agreement compares what a page shows with what came. An id that was minted has
// a name on the page, the same each time.
type agreement struct {
	// names maps the page's names to ids, taken ids to names.
	names, taken map[string]string
}

var minted = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// lines compares two lines; an envelope on the page is a notification's.
func (a agreement) lines(page, came string) error {
	var want, got any
	if err := json.Unmarshal([]byte(page), &want); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(came), &got); err != nil {
		return err
	}
	if params, ok := got.(map[string]any)["params"]; ok && want.(map[string]any)["params"] == nil {
		got = params
	}
	got = a.named(want, got, "")
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s", diff)
	}
	return nil
}

// named gives got with the page's names for minted ids and its times.
func (a agreement) named(want, got any, key string) any {
	switch g := got.(type) {
	case map[string]any:
		w, _ := want.(map[string]any)
		for k, v := range g {
			g[k] = a.named(w[k], v, k)
		}
	case []any:
		w, _ := want.([]any)
		for i := range min(len(g), len(w)) {
			g[i] = a.named(w[i], g[i], key)
		}
	case float64:
		if key == "timestamp" || key == "start" || key == "end" {
			return want
		}
	case string:
		return a.name(want, g, key)
	}
	return got
}

func (a agreement) name(want any, got, key string) any {
	w, ok := want.(string)
	if !ok || !minted.MatchString(got) {
		if key == "version" {
			return want
		}
		return got
	}
	if _, ok := a.names[w]; !ok && a.taken[got] == "" {
		a.names[w], a.taken[got] = got, w
	}
	if a.names[w] == got {
		return w
	}
	return got
}

// TestReadmeWire plays the README's turn: what it shows, comes, in that order.
// "…" stands for anything.
func TestReadmeWire(t *testing.T) {
	t.Parallel()
	w := serveWire(t)
	at, sent := 0, 0
	for _, line := range blocks(t, "../../README.md", "text") {
		if request, ok := strings.CutPrefix(line, "→ "); ok {
			sent++
			w.send(request)
		}
		answer, ok := strings.CutPrefix(line, "← ")
		if !ok {
			continue
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(answer), "…", ".*")
		re := regexp.MustCompile(`(?m)^` + pattern + `$`)
		if !w.out.await(re) {
			t.Fatalf("%s never came:\n%s", answer, w.out.String())
		}
		found := re.FindIndex(w.out.bytes())
		if found[0] < at {
			t.Errorf("%s came earlier", answer)
		}
		at = found[1]
	}
	if sent < 2 {
		t.Errorf("the README sends %d lines", sent)
	}
}
