package main

import (
	"fmt"
	"net/url"
	"os"

	"go.uber.org/zap"
)

// notices are lines that whoever starts a gateway needs: where it listens, and
// where its token stands. They go to stderr at every log level, as lines for
// people, or as lines of the log where that is JSON: one format a stream.
type notices struct {
	// json is nil where lines are for people.
	json *zap.Logger
}

// say says one. The fields stand for it in JSON, for programs. Neither holds a
// secret.
func (n notices) say(text string, fields ...zap.Field) {
	if n.json != nil {
		n.json.Info(text, fields...)
		return
	}
	fmt.Fprintln(os.Stderr, "agent-server:", text)
}

// notices makes them; --log-format was looked at before.
func (s *setup) notices() notices {
	if s.logFormat != logJSON {
		return notices{}
	}
	return notices{json: zap.New(s.core(zap.InfoLevel))}
}

// bare is a URL without what may be a secret in it: user and query.
func bare(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "a URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
