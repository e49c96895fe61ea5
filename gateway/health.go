package gateway

import (
	"io"
	"net/http"
)

// Health answers a probe that asks whether the process lives: it does. It is an
// http.HandlerFunc.
func (g *Gateway) Health(w http.ResponseWriter, _ *http.Request) { probe(w, http.StatusOK, "ok") }

// Ready answers a probe that asks whether turns are taken: not while the gateway
// shuts down, nor while the log of a session cannot be written, since the next one's
// most likely cannot be either. It is an http.HandlerFunc.
func (g *Gateway) Ready(w http.ResponseWriter, _ *http.Request) {
	switch {
	case g.stopping.Load():
		probe(w, http.StatusServiceUnavailable, "shutting down")
	case g.broken.Load() > 0:
		probe(w, http.StatusServiceUnavailable, "a log cannot be written")
	default:
		probe(w, http.StatusOK, "ok")
	}
}

// probe answers in a word: whoever asks was not asked who they are.
func probe(w http.ResponseWriter, status int, word string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, word+"\n")
}
