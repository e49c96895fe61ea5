package fakemodel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSmallEndpoints(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	for _, tc := range []struct {
		method, path string
		status       int
		state        State
		body         string
	}{
		{http.MethodPost, "/v1/messages/count_tokens?beta=true", 200, Done, `{"input_tokens":100}`},
		{http.MethodHead, "/api/hello", 200, Done, ""},
		{http.MethodGet, "/v1/models", 404, Failed, "no such address"},
		{http.MethodPost, "/v1/messages", 400, Failed, "reading the request"},
	} {
		resp := request(bounded(t), t, tc.method, srv.URL()+tc.path, []byte("not json"))
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != tc.status || !strings.Contains(string(body), tc.body) {
			t.Errorf("%s %s: %d %q %v", tc.method, tc.path, resp.StatusCode, body, err)
		}
		last := func(requests []Request) bool { return requests[len(requests)-1].State == tc.state }
		if err := srv.Wait(bounded(t), last); err != nil {
			t.Error(err)
		}
		got := srv.Requests()
		if r := got[len(got)-1]; r.Method != tc.method || r.Path != tc.path || string(r.Body) != "not json" {
			t.Errorf("recorded %s %s %q", r.Method, r.Path, r.Body)
		}
	}
}

// stalled sends a prompt whose answer says "a" and then stands at the gate g.
func stalled(ctx context.Context, t *testing.T, srv *Server, after string) *bufio.Reader {
	t.Helper()
	in := bufio.NewReader(post(ctx, t, srv, asks("[[text say=a]][[stall gate=g]]"+after)).Body)
	if err := srv.WaitStalled(bounded(t), "g"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"text":"a"`) {
			return in
		}
	}
}

// becomes waits for the state of the only request.
func becomes(t *testing.T, srv *Server, want State) {
	t.Helper()
	err := srv.Wait(bounded(t), func(requests []Request) bool {
		return len(requests) == 1 && requests[0].State == want && requests[0].Gate == ""
	})
	if err != nil {
		t.Errorf("want %s, have %+v: %v", want, srv.Requests(), err)
	}
}

func TestStallReleased(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	in := stalled(bounded(t), t, srv, "[[text say=b]]")
	srv.Release("g")
	srv.Release("g")
	rest, err := io.ReadAll(in)
	if err != nil || !strings.Contains(string(rest), `"text":"b"`) || !strings.Contains(string(rest), "message_stop") {
		t.Errorf("after the gate: %q, %v", rest, err)
	}
	becomes(t, srv, Done)
	if got := ask(t, srv, asks("[[stall gate=g]][[text say=c]]")); got.text != "c" {
		t.Errorf("a gate once released: %+v", got)
	}
}

func TestStallUntilTheClientHangsUp(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	ctx, cancel := context.WithCancel(bounded(t))
	stalled(ctx, t, srv, "")
	cancel()
	becomes(t, srv, Gone)
}

func TestStallLimit(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{StallLimit: time.Millisecond})
	if got := ask(t, srv, asks("[[text say=a]][[stall]]")); got.err == nil || got.text != "a" {
		t.Errorf("a stall past its limit: %+v", got)
	}
	becomes(t, srv, Cut)
}

func TestCut(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	c := asks("[[text say=a]][[cut times=1]][[text say=b]]")
	if got := ask(t, srv, c); !errors.Is(got.err, io.ErrUnexpectedEOF) || got.text != "a" {
		t.Errorf("a cut stream: %+v", got)
	}
	becomes(t, srv, Cut)
	if got := ask(t, srv, c); got.err != nil || got.text != "ab" {
		t.Errorf("the next attempt: %+v", got)
	}
}

// Close ends what is under way, answers nothing more, and may come twice.
func TestClose(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	in := stalled(bounded(t), t, srv, "")
	var closers sync.WaitGroup
	for range 2 {
		closers.Go(srv.Close)
	}
	closers.Wait()
	if rest, err := io.ReadAll(in); err == nil {
		t.Errorf("the stream went on after Close: %q", rest)
	}
	if got := srv.Requests()[0].State; got != Gone {
		t.Errorf("state %s", got)
	}
	if resp, err := client.Get(srv.URL()); err == nil {
		resp.Body.Close()
		t.Error("answered after Close")
	}
}

func TestWaitGivesUp(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.WaitStalled(ctx, "never"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestStartRefusesABadAddress(t *testing.T) {
	t.Parallel()
	if _, err := Start(Options{Addr: "nowhere"}); err == nil {
		t.Error("started on an address that is none")
	}
}

// Many clients at once get their own answers.
func TestConcurrentClients(t *testing.T) {
	t.Parallel()
	srv := startServer(t, Options{})
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			want := fmt.Sprintf("client%d", i)
			if got := ask(t, srv, asks("[[text say="+want+"]]")); got.text != want {
				t.Errorf("got %q, want %q", got.text, want)
			}
		})
	}
	clients.Wait()
	if got := len(srv.Requests()); got != 8 {
		t.Errorf("%d requests", got)
	}
}
