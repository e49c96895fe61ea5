package protocol

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// plainString is a literal as the JSON package writes it.
func plainString(t failer, s string) string {
	t.Helper()
	b, err := json.Marshal(s, wireOptions)
	if err != nil {
		t.Fatalf("the plain encoder: %v", err)
	}
	return string(b)
}

// TestAppendStringEveryByte puts every byte at every place of a word of eight,
// where the fast way looks at them together.
func TestAppendStringEveryByte(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 9 {
			s := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("~", 9)
			if got, want := string(AppendString(nil, s)), plainString(t, s); got != want {
				t.Fatalf("byte %#x at %d: got %s, want %s", c, at, got, want)
			}
		}
	}
}

// TestAppendStringNeighbours puts two bytes beside each other: a borrow in the
// fast way must not hide one.
func TestAppendStringNeighbours(t *testing.T) {
	t.Parallel()
	for a := range 256 {
		for b := range 256 {
			s := "aaa" + string([]byte{byte(a), byte(b)}) + "aaaaaa"
			if got, want := string(AppendString(nil, s)), plainString(t, s); got != want {
				t.Fatalf("bytes %#x %#x: got %s, want %s", a, b, got, want)
			}
		}
	}
}

func TestAppendStringIsPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genString(t)
		if got, want := string(AppendString(nil, s)), plainString(t, s); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\u2028\r\n\"\\\x00\xff\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(AppendString(nil, s)), plainString(t, s); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

func TestAppendNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -1: "-1", 0.1: "0.1", -0.5: "-0.5", 1e15: "1000000000000000",
		1e20: "100000000000000000000", 1e21: "1e+21", 1e-6: "0.000001", 1e-7: "1e-7", 123456.75: "123456.75",
		MaxSafeInteger: "9007199254740991", 5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308",
		math.Inf(1): "1.7976931348623157e+308", math.Inf(-1): "-1.7976931348623157e+308",
	} {
		if got := string(AppendNumber(nil, n)); got != want {
			t.Errorf("%g is written %s, want %s", n, got, want)
		}
	}
	if got := string(AppendNumber(nil, math.NaN())); got != "0" {
		t.Errorf("no number is written %s", got)
	}
}

func TestAppendNumberReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := genNumber(t)
		got := string(AppendNumber(nil, n))
		if back, err := strconv.ParseFloat(got, 64); err != nil || back != n {
			t.Fatalf("%g is written %s, which is %g (%v)", n, got, back, err)
		}
		if want := string(jsontext.AppendFloat(nil, n, 64)); got != want {
			t.Fatalf("%g is written %s, want %s", n, got, want)
		}
	})
}

func TestAppendRaw(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"": "null",
		" { \"a\" :\r\n [ 1 , -0.0 , 1E5 ] , \"b\":\ttrue } ": `{"a":[1,-0.0,1E5],"b":true}`,
		`{"b":1,"a":2,"b":3}`:      `{"b":1,"a":2,"b":3}`,
		`"\/\u0041\ud83d \\"`:      `"\/\u0041\ud83d \\"`,
		"\"a \u2028\u2029 é😀\"":    `"a \u2028\u2029 é😀"`,
		"\"\xff\xed\xa0\x80x\"":    "\"\uFFFD\uFFFD\uFFFD\uFFFDx\"",
		"\"\uFFFD\"":               "\"\uFFFD\"",
		`"a\"b" `:                  `"a\"b"`,
		`12345678901234567890.000`: `12345678901234567890.000`,
	} {
		if got := string(AppendRaw([]byte("x"), []byte(raw))); got != "x"+want {
			t.Errorf("%q is written %q, want %q", raw, got, want)
		}
	}
}

// TestAppendRawIsPlain: what the JSON package makes of a free value, its
// spelling kept, is what we make of it.
func TestAppendRawIsPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := Object(genJSON(t, 3))
		loose := raw.Clone()
		if err := loose.Indent(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)); err != nil {
			t.Fatal(err)
		}
		if got := AppendRaw(nil, loose); string(got) != string(raw) {
			t.Fatalf("%s\nis written\n%s\nwant\n%s", loose, got, raw)
		}
	})
}

// TestRequiredObjectsAreThere: a free object that must be there and was left nil
// is written empty, so that what we write always decodes.
func TestRequiredObjectsAreThere(t *testing.T) {
	t.Parallel()
	for _, s := range stateTypes[1:] {
		p := &ToolPart{State: s}
		if _, err := DecodePart(AppendPart(nil, p)); err != nil {
			t.Errorf("%s with nothing set: %v", s.Status(), err)
		}
	}
	ev, err := DecodeEvent(AppendEvent(nil, &Raw{Harness: HarnessACP}))
	if err != nil || string(ev.(*Raw).Data) != "null" {
		t.Errorf("raw without data: %v, %v", ev, err)
	}
	if _, err := DecodeEvent(AppendEvent(nil, &PermissionRequested{})); err != nil {
		t.Errorf("a request without options: %v", err)
	}
}

// TestAppendPanicsOfNothing: an event that is none is a programmer's error.
func TestAppendPanicsOfNothing(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]Event{
		"event": nil, "part": &MessagePart{}, "delta": &MessagePartDelta{},
		"state":   &MessagePart{Part: &ToolPart{}},
		"content": &MessagePart{Part: &ToolPart{State: &CompletedState{Content: []ToolContent{nil}}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no %s: no panic", name)
				}
			}()
			AppendEvent(nil, broken)
		}()
	}
}
