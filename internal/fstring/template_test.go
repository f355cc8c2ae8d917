package fstring

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type point struct {
	X      int
	Y      float64
	Label  *string
	hidden string
	Next   *point
	*embedded
}

type embedded struct{ Deep string }

type named string

type stringer struct{ text string }

func (s *stringer) String() string { return "S(" + s.text + ")" }

type selfFormatting struct{}

func (selfFormatting) PyFormat(spec string) (string, error) {
	switch spec {
	case "fail":
		return "", errors.New("no such spec")
	case "panic":
		panic("boom")
	}
	return "<" + spec + ">", nil
}

const unlimited = 1 << 30

func render(text string, vars map[string]any) (string, error) {
	t, err := Compile(text)
	if err != nil {
		return "", err
	}
	return t.Execute(vars, unlimited)
}

func TestExecute(t *testing.T) {
	label := "top"
	vars := map[string]any{
		"a": "x", "n": 3, "neg": -7, "f": 1.5, "pi": 3.14159, "big": 1234567.0, "ok": true, "nil": nil,
		"answer": 42, "s": "abc", "list": []string{"p", "q"}, "bytes": []byte("hi"),
		"m":    map[string]any{"k": "v", "deep": map[string]int{"er": 9}},
		"nm":   map[named]int{"key": 1},
		"p":    &point{X: 1, Y: 2.5, Label: &label, hidden: "secret", Next: &point{X: 5}},
		"arr":  [2]int{7, 8},
		"str":  &stringer{"in"},
		"err":  errors.New("failed"),
		"self": selfFormatting{}, " a ": "spaces", "é": "accent",
	}
	for _, tt := range []struct{ rule, text, want string }{
		{"schema/F10", "", ""},
		{"schema/F10", "no fields", "no fields"},
		{"schema/F10", "{a}", "x"},
		{"schema/F10", "{a}{a} and {n}", "xx and 3"},
		{"schema/F10", "{ a }", "spaces"},
		{"schema/F10", "{é}", "accent"},
		{"schema/F10", "{{a}} {{{a}}} }}", "{a} {x} }"},
		{"schema/F10", `{{"k": {{"n": {n}}}}}`, `{"k": {"n": 3}}`},
		{"schema/F11", "{m[k]} {m.k} {m[deep][er]} {m.deep.er} {m[deep].er} {m.deep[er]}", "v v 9 9 9 9"},
		{"schema/F11", "{nm.key}", "1"},
		{"schema/F11", "{p.X} {p.Y} {p.hidden} {p[X]} {p.Next.X}", "1 2.5 secret 1 5"},
		{"schema/F11", "{list[1]} {list.0} {arr[0]} {arr.1}", "q p 7 8"},
		{"schema/F13", "{nil} {list} {bytes} {big} {ok} {str} {err}", "<nil> [p q] [104 105] 1.234567e+06 true S(in) failed"},
		{"schema/F14", "{n:05d}|{f:.2f}|{a:>5}|{pi:.1%}|{neg:=6d}|{neg:06d}|{answer:#x}",
			"00003|1.50|    x|314.2%|-    7|-00007|0x2a"},
		{"schema/F14", "{a:5}|{a:<5}|{a:^5}|{a:*^6}|{a:é<3}", "    x|x    |  x  |**x***|xéé"},
		{"schema/F14", "{n:b} {answer:o} {answer:x} {answer:X} {n:+d} {n: d} {n:-d}", "11 52 2a 2A +3  3 3"},
		{"schema/F14", "{f:e} {f:E} {f:F} {f:g} {f:G} {n:%}", "1.500000e+00 1.500000E+00 1.500000 1.5 1.5 300.000000%"},
		{"schema/F14", "{s:r} {n:t} {p.hidden:t} {m.deep:s}", `"abc" int string map[er:9]`},
		{"schema/F14", "{answer:#06x} {s:.2} {s:05} {n:<03d}", "0x002a ab 00abc 300"},
		{"schema/F14", "{a:}", "x"},
		{"schema/F16", "{self} {self:spec} {self:>5}", "<> <spec> <>5>"},
	} {
		got, err := render(tt.text, vars)
		require.NoError(t, err, "%s %q", tt.rule, tt.text)
		require.Equal(t, tt.want, got, "%s %q", tt.rule, tt.text)
	}
}

// Rule schema/F12.
func TestExecute_RendersTheWholeMap(t *testing.T) {
	vars := map[string]any{"n": 1, "s": "x"}
	whole := fmt.Sprint(vars)
	for text, want := range map[string]string{
		"{}": whole, "{0}": whole, "{0[n]}": "1", "{[n]}": "1", "{0.s}": "x", "{} {s}": whole + " x",
	} {
		got, err := render(text, vars)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestExecute_Errors(t *testing.T) {
	vars := map[string]any{
		"a": "x", "l": []int{1}, "m": map[int]string{1: "a"}, "s": point{}, "p": (*point)(nil), "nil": nil,
		"self": selfFormatting{}, "a.b": 1,
	}
	for _, tt := range []struct{ rule, text, want string }{
		{"schema/F10", "{missing}", "could not find key: missing"},
		{"schema/F10", `{"k":1}`, `could not find key: "k"`},
		{"schema/F10", `{"k": "v"}`, `could not find key: "k"`},
		{"schema/F10", "{ a }", "could not find key:  a "},
		{"schema/F11", "{l[9]}", "index out of bounds: 9"},
		{"schema/F11", "{l[-1]}", "index out of bounds: -1"},
		{"schema/F11", "{l[x]}", "could not look up index x from []int"},
		{"schema/F11", "{m[1]}", "could not look up key 1 from map "},
		{"schema/F11", "{p.X}", "attempted to dereference nil pointer X"},
		{"schema/F11", "{nil.X}", "attempted to dereference nil pointer X"},
		{"schema/F11", "{s.Next.X}", "attempted to dereference nil pointer X"},
		{"schema/F11", "{s.Deep}", "attempted to dereference nil pointer Deep"},
		{"schema/F11", "{s.None}", "could not find field: None"},
		{"schema/F11", "{a.x}", "could not find field: x"},
		{"schema/F11", "{a.b}", "could not find field: b"},
		{"schema/F11", "{l[0}", "malformed field name: l[0"},
		{"schema/F11", "{l[0]x}", "malformed field name: l[0]x"},
		{"schema/F12", "{} {0}", "cannot switch from automatic field numbering to manual field specification"},
		{"schema/F12", "{0} {}", "cannot switch from manual field specification to automatic field numbering"},
		{"schema/F12", "{} {}", "index out of bounds: 1"},
		{"schema/F12", "{3}", "index out of bounds: 3"},
		{"schema/F14", "{a:q}", "Invalid flag pattern: q"},
		{"schema/F14", "{a:5.}", "Invalid flag pattern: 5."},
		{"schema/F14", "{a:,d}", "Invalid flag pattern: ,d"},
		{"schema/F14", "{a:dd}", "Invalid flag pattern: dd"},
		{"schema/F14", "{a:999999999999}", "Invalid flag pattern: 999999999999"},
		{"schema/F14", "{a:.99999999}", "Invalid flag pattern: .99999999"},
		{"schema/F14", "{a!r}", "could not find key: a!r"},
		{"schema/F14", "{a:%}", "cannot format string as a percentage"},
		{"schema/F15", "{", "Single '{' encountered in format string"},
		{"schema/F15", "a { b", "Single '{' encountered in format string"},
		{"schema/F15", "}", "Single '}' encountered in format string"},
		{"schema/F15", "{a}} }", "Single '}' encountered in format string"},
		{"schema/F16", "{self:fail}", "no such spec"},
		{"schema/F16", "{self:panic}", "panic error: boom"},
	} {
		got, err := render(tt.text, vars)
		require.ErrorContains(t, err, tt.want, "%s %q", tt.rule, tt.text)
		require.Empty(t, got)
	}
	_, err := render("{a}", nil)
	require.EqualError(t, err, "could not find key: a")
}

// For JSON in a prompt the error says where it is and what to do.
// Rule schema/B15.2.4.
func TestExecute_SaysThatBracesMustBeDoubled(t *testing.T) {
	_, err := render(`Answer like {"name": "x"}.`, nil)
	require.ErrorContains(t, err, "offset 12")
	require.ErrorContains(t, err, "must be doubled: {{ }}")
	_, err = render(`Answer like {"list": [1, 2`, nil)
	require.ErrorContains(t, err, "offset 12")
}

func TestExecute_Limit(t *testing.T) {
	tmpl, err := Compile(strings.Repeat("{x:65536}", 100))
	require.NoError(t, err)
	_, err = tmpl.Execute(map[string]any{"x": 1}, 1<<20)
	require.ErrorIs(t, err, ErrTooLong)
	tmpl, err = Compile("literal {{")
	require.NoError(t, err)
	_, err = tmpl.Execute(nil, 3)
	require.ErrorIs(t, err, ErrTooLong)
	tmpl, err = Compile("{x}")
	require.NoError(t, err)
	_, err = tmpl.Execute(map[string]any{"x": "1234"}, 3)
	require.ErrorIs(t, err, ErrTooLong)
}

func FuzzExecute(f *testing.F) {
	for _, seed := range []string{"{a}", "{m[k]:>5}", "{{}}", "{", "}", `{"k":1}`, "{0[m].k:é^9.3f}", "{[a]}", "{:%}",
		"{l[0]}"} {
		f.Add(seed)
	}
	vars := map[string]any{"a": 1.5, "m": map[string]any{"k": "v"}, "l": []any{nil, 1}, "p": &point{}}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := render(text, vars)
		if err != nil && got != "" {
			t.Errorf("%q gave both %q and %v", text, got, err)
		}
		if escaped, err := render(strings.NewReplacer("{", "{{", "}", "}}").Replace(text),
			nil); err != nil || escaped != text {
			t.Errorf("escaped %q rendered as %q, %v", text, escaped, err)
		}
	})
}

func BenchmarkExecute(b *testing.B) {
	tmpl, err := Compile(strings.Repeat("some text with a {name} and {count:5d} in it\n", 20))
	require.NoError(b, err)
	vars := map[string]any{"name": "variable", "count": 12}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Execute(vars, unlimited); err != nil {
			b.Fatal(err)
		}
	}
}
