package main

import "testing"

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1024": "1KiB", "1025": "1025", "64KiB": "64KiB", "65536": "64KiB", "1024KiB": "1MiB", "64MiB": "64MiB", "2GiB": "2GiB",
		"0": "", "1023": "", "-64KiB": "", "64": "", "64MB": "", "64 MiB": "", "MiB": "", "": "", "1.5MiB": "",
		"2000GiB": "", "9223372036854775807": "", "9223372036854775807GiB": "", "0x10000": "",
	} {
		var s size
		err := s.Set(text)
		if (err == nil) != (want != "") {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && s.String() != want {
			t.Errorf("%q is shown as %s, want %s", text, s.String(), want)
		}
		var again size
		if err == nil && (again.Set(s.String()) != nil || again != s) {
			t.Errorf("%q is shown as %s, which is %d, not %d", text, s.String(), again, s)
		}
	}
}
