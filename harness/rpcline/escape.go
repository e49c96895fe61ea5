package rpcline

// escapeLength is the length of the terminal escape sequence that b begins with:
// at least 1, at most all of b. b begins with ESC.
func escapeLength(b []byte) int {
	if len(b) == 1 {
		return 1
	}
	switch b[1] {
	case '[':
		return controlLength(b)
	case ']', 'P', 'X', '^', '_':
		return stringLength(b)
	}
	return 2
}

// controlLength is the length of a control sequence (colours, cursor): ESC [,
// parameters, one final byte.
func controlLength(b []byte) int {
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1
		}
	}
	return len(b)
}

// stringLength is the length of a control string (a window title): it ends in
// BEL or in ESC \.
func stringLength(b []byte) int {
	for i := 2; i < len(b); i++ {
		if b[i] == '\a' {
			return i + 1
		}
		if b[i] == '\x1b' && i+1 < len(b) && b[i+1] == '\\' {
			return i + 2
		}
	}
	return len(b)
}
