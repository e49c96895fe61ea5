package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"agent-server/client"
	"agent-server/protocol"
)

// seat is the session that attach sits in, and the config of turns typed there, as
// far as it is known: the wire tells what a session was created with, not all that
// it was last asked with.
type seat struct {
	session string
	// config's harness and cwd are "" until they are known.
	config protocol.RunConfig
}

// choose finds the session: the one that was named, else the one that the gateway
// lists first, which was updated last, else the first to speak.
func (f *attachFlags) choose(ctx context.Context, c *client.Client, named string, say func(string)) (seat, error) {
	s := seat{session: named}
	if lists(c) {
		entries, err := c.Sessions(ctx)
		if err != nil {
			return s, fmt.Errorf("asking for the sessions: %w", err)
		}
		if err := s.among(entries, bare(f.url), say); err != nil {
			return s, err
		}
	}
	if s.session == "" {
		say("no open session is listed there; waiting for one to speak")
		if err := s.first(ctx, c); err != nil {
			return s, err
		}
	}
	return s, f.override(&s.config)
}

// lists says whether a gateway can be asked for its sessions.
func lists(c *client.Client) bool {
	caps := c.Server().Capabilities
	return caps != nil && slices.Contains(caps.Methods, protocol.MethodSessionList)
}

// among takes a session out of a list, with what the list says of it; none, where
// none is named and none is listed.
func (s *seat) among(entries []protocol.SessionEntry, where string, say func(string)) error {
	if s.session == "" { // one that is closed says nothing more, but may be named
		entries = slices.DeleteFunc(slices.Clone(entries), func(e protocol.SessionEntry) bool { return e.Status == protocol.SessionClosed })
	}
	i := slices.IndexFunc(entries, func(e protocol.SessionEntry) bool { return s.session == "" || e.SessionID == s.session })
	switch {
	case s.session == "" && i < 0:
		return nil
	case i < 0:
		return usage("there is no session %q at %s", s.session, where)
	case s.session == "" && len(entries) > 1:
		say(fmt.Sprintf("%d sessions are open; this one was active last", len(entries)))
	}
	s.session = entries[i].SessionID
	s.config.Harness, s.config.Cwd = entries[i].Harness, entries[i].Cwd
	return nil
}

// first waits for any session to speak.
func (s *seat) first(ctx context.Context, c *client.Client) error {
	feed := c.Follow("")
	defer feed.Close()
	for {
		env, err := feed.Next(ctx)
		switch {
		case errors.As(err, new(*client.GapError)), errors.As(err, new(*client.HostLostError)):
		case err != nil:
			return fmt.Errorf("waiting for a session: %w", err)
		default:
			s.session = env.SessionID
			return nil
		}
	}
}

// override lets flags win.
func (f *attachFlags) override(cfg *protocol.RunConfig) error {
	if f.harness != "" {
		cfg.Harness = protocol.HarnessID(f.harness)
	}
	if f.model != "" {
		cfg.Model = &f.model
	}
	cfg.PermissionMode = protocol.PermissionMode(f.mode)
	if f.cwd != "" {
		cfg.Cwd = f.cwd
	}
	if cfg.Cwd != "" {
		return nil
	}
	cwd, err := os.Getwd()
	if err != nil {
		return usage("--cwd: give one, since ours cannot be found: %w", err)
	}
	cfg.Cwd = cwd
	return nil
}

// learn takes from an event what turns typed here should be run with, unless flags
// say otherwise.
func (s *seat) learn(ev protocol.Event, f *attachFlags) {
	created, ok := ev.(*protocol.SessionCreated)
	if !ok {
		return
	}
	if f.harness == "" {
		s.config.Harness = created.Harness
	}
	if f.model == "" {
		s.config.Model = created.Model
	}
}
