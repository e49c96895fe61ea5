// Package access decides who may speak to a listener: by the Host and Origin of a
// request (Gate), and by a token that only its owner's files hold (Passport).
//
// It refuses to know what is behind the door: it answers no request and ends no
// connection, but says what is to be done. Errors and texts hold nothing of a token
// or of a request. docs/security.md has the threats that it is for.
//
// A Gate is not changed once it is made. A Passport guards itself: any goroutine may
// use it.
package access
