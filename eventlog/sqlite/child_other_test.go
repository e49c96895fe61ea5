//go:build !unix

package sqlite

// child: there is no test here that starts one.
func child() {}

// limited: nor one whose files may not grow.
func limited() {}
