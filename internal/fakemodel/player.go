package fakemodel

import "errors"

// What ends a reply before its last step.
var (
	// errCut is returned by a cut, and by a stall past its limit; the connection is dropped.
	errCut = errors.New("the script cuts the stream")
	// errFailed is returned by a failure that was sent.
	errFailed = errors.New("the script fails")
	// errGone is returned by a stall whose client hung up.
	errGone = errors.New("the client hung up")
)

// voice is how one API says things to one client. Blocks are numbered from 0 in the order
// they are opened; at most one is open. An error means the client cannot be reached.
type voice interface {
	// open begins a block; name is that of the tool, for a tool call.
	open(kind kind, name string) error
	// write adds to the open block: text, reasoning or raw JSON of a tool's input.
	write(piece string) error
	// close ends the open block.
	close() error
	// event sends a raw stream event.
	event(event) error
	// finish ends the message, or ends it as failed when the failure is not nil.
	finish(stop string, failed *failure) error
}

// player runs the steps of one reply for one request.
type player struct {
	voice
	wait    func(gate string) error // nil when released; errGone or errCut when not
	attempt int                     // how many earlier requests got this very reply
	current kind                    // of the open block
	called  bool                    // a tool was called in this reply
}

// play runs the reply and tells how it ended. An error that is none of the script's own
// is a write that failed, and writes fail when the client is gone.
func (p *player) play(r reply) State {
	err := p.run(r)
	switch {
	case err == nil:
		return Done
	case errors.Is(err, errCut):
		return Cut
	case errors.Is(err, errFailed):
		return Failed
	}
	return Gone
}

// run plays the steps, closes what is open and ends the message.
func (p *player) run(r reply) error {
	for _, s := range r.steps {
		if err := s.play(p); err != nil {
			return err
		}
	}
	if err := p.seal(); err != nil {
		return err
	}
	return p.finish(p.stop(r), nil)
}

// stop is the reason to end with: the script's own, or what fits what was said.
func (p *player) stop(r reply) string {
	switch {
	case r.stop != "":
		return r.stop
	case p.called:
		return "tool_use"
	}
	return "end_turn"
}

// seal closes the open block, if there is one.
func (p *player) seal() error {
	if p.current == noBlock {
		return nil
	}
	p.current = noBlock
	return p.close()
}

// enter makes a block the open one, closing another.
func (p *player) enter(kind kind, name string) error {
	if err := p.seal(); err != nil {
		return err
	}
	p.current = kind
	return p.open(kind, name)
}

// pieces writes text into the open block.
func (p *player) pieces(text string, n int) error {
	for _, piece := range split(text, n) {
		if err := p.write(piece); err != nil {
			return err
		}
	}
	return nil
}

// play continues the open block when it is of the same kind.
func (s speech) play(p *player) error {
	if p.current != s.kind {
		if err := p.enter(s.kind, ""); err != nil {
			return err
		}
	}
	return p.pieces(s.say, s.pieces)
}

// play always opens a block: two calls in a row are two calls.
func (s call) play(p *player) error {
	p.called = true
	if err := p.enter(toolBlock, s.tool); err != nil {
		return err
	}
	return p.pieces(s.raw, s.pieces)
}

// play finds a call open: the builder refuses more where there is none.
func (s more) play(p *player) error { return p.pieces(s.raw, s.pieces) }

func (seal) play(p *player) error { return p.seal() }

func (s stall) play(p *player) error { return p.wait(s.gate) }

func (s event) play(p *player) error { return p.event(s) }

func (s cut) play(p *player) error {
	if spent(s.times, p.attempt) {
		return nil
	}
	return errCut
}

// play sends the failure, and nothing after it.
func (s failure) play(p *player) error {
	if spent(s.times, p.attempt) {
		return nil
	}
	if err := p.finish("", &s); err != nil {
		return err
	}
	return errFailed
}

// spent reports whether a step limited to times attempts is over at this one; 0 is no limit.
func spent(times, attempt int) bool { return times > 0 && attempt >= times }
