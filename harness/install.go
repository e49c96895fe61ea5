package harness

// Install says how an installed CLI tells of itself without a network. It is data:
// who runs and looks is somebody else. The zero value: nothing is known.
type Install struct {
	// Version are the arguments with which the CLI prints its version and ends; nil:
	// it has none, and is not asked.
	Version []string
	// Env is added to the environment of that process, KEY=VALUE. Never a secret.
	Env []string
	// Tested is the version that was driven when its fixtures were made; "": none was.
	Tested string
	// Login is how its login is found.
	Login Login
}

// Login says where a CLI keeps what it is let in with. Whether that still holds,
// only a network tells.
type Login struct {
	// Needless: it needs none, and the rest says nothing.
	Needless bool
	// Env names variables each of which is a login by itself.
	Env []string
	// Files are those one of which holds a login; none: it cannot be looked for.
	Files []File
	// Hint is what a person does to log in, as half a sentence; "": nobody knows.
	Hint string
}

// File is a file of a user, whose directory a variable may move.
type File struct {
	// Var names the variable that holds the directory; "": there is none.
	Var string
	// Home is the directory below the user's own where Var is not set.
	Home string
	// Name is the file, below either.
	Name string
}
