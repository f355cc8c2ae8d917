package format

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

type item struct{ Name string }

func (i *item) Hello(who string) string { return "hello " + who + " from " + i.Name }
func (i *item) Panic() string           { panic("boom") }

func TestRender_Languages(t *testing.T) {
	vars := map[string]any{"a": "x", "l": []int{1, 2}}
	for language, text := range map[Language]string{
		FString:    "{a} {l[1]}",
		GoTemplate: "{{.a}} {{index .l 1}}",
	} {
		for range 2 { // compiled, and from the cache
			got, err := Render(language, text, vars)
			require.NoError(t, err)
			require.Equal(t, "x 2", got)
		}
	}
}

// Text without markup must not pass through an engine, least of all megabytes of it.
// Rule schema/B15.2.1.
func TestRender_ReturnsPlainTextUnchanged(t *testing.T) {
	data := strings.Repeat("QUJD", 1<<20)
	for language, text := range map[Language]string{
		FString: data, GoTemplate: data + "{x}%}", Jinja2: data + "{x}}}%}",
	} {
		got, err := Render(language, text, nil)
		require.NoError(t, err)
		require.Same(t, unsafe.StringData(text), unsafe.StringData(got), "language %d", language)
	}
}

// engine takes texts for templates that render as themselves. It counts those that it compiled.
type engine struct{ compiled atomic.Int64 }

type itself string

func (t itself) Execute(map[string]any, int) (string, error) { return string(t), nil }

func (e *engine) compile(text string) (Template, error) {
	e.compiled.Add(1)
	return itself(text), nil
}

// Rule schema/B15.2.6.
func TestRegister_GivesJinja2AnEngineOnce(t *testing.T) {
	t.Cleanup(func() { jinja2.Store(nil) })
	text := fmt.Sprintf("{{ %p }}", t) // in no cache yet
	for range 2 {                      // the error is not kept
		_, err := Render(Jinja2, text, nil)
		require.ErrorContains(t, err, `import _ "github.com/weftgo/weft/ext/jinja"`)
	}
	var engines [8]engine
	var taken atomic.Int64
	var wg sync.WaitGroup
	for i := range engines {
		wg.Go(func() {
			if Register(engines[i].compile) {
				taken.Add(1)
			}
			got, err := Render(Jinja2, text, nil)
			if err != nil || got != text {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, taken.Load())
	used := 0
	for i := range engines {
		if engines[i].compiled.Load() > 0 {
			used++
		}
	}
	require.Equal(t, 1, used)
}

// Rule schema/F17.
func TestRender_GoTemplateRefusesMissingKeys(t *testing.T) {
	vars := map[string]any{
		"a": "<x>", "nil": nil, "m": map[string]any{"k": 1}, "i": &item{"ann"}, "l": []string{"p", "q"},
	}
	for text, want := range map[string]string{
		"{{.a}}":                                          "<x>",
		"{{.nil}}":                                        "<no value>",
		"{{.m.k}} {{.i.Name}}":                            "1 ann",
		`{{.i.Hello "bob"}}`:                              "hello bob from ann",
		"{{range .l}}{{.}},{{end}}":                       "p,q,",
		"{{range 3}}{{.}}{{end}}":                         "012",
		`{{if eq .a "y"}}1{{else}}2{{end}}`:               "2",
		"{{with .m}}{{.k}}{{end}}":                        "1",
		`{{printf "%03d" .m.k}}`:                          "001",
		"{{html .a}} {{print 1 2}}":                       "&lt;x&gt; 1 2",
		`{{define "t"}}[{{.}}]{{end}}{{template "t" .a}}`: "[<x>]",
		"{{- .a -}} y":                                    "<x>y",
	} {
		got, err := Render(GoTemplate, text, vars)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"{{.missing}}":   `map has no entry for key "missing"`,
		"{{.m.missing}}": `map has no entry for key "missing"`,
		"{{.a":           "unclosed action",
		"{{nofunc}}":     `function "nofunc" not defined`,
		"{{.i.Panic}}":   "boom",
	} {
		got, err := Render(GoTemplate, text, vars)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "template: template:", text)
		require.Empty(t, got)
	}
	_, err := Render(GoTemplate, "{{.a}}", nil)
	require.ErrorContains(t, err, `map has no entry for key "a"`)
}

// Whatever a template tries, it ends soon and with an error.
func TestExecute_Hostile(t *testing.T) {
	const limit = 1 << 20
	vars := map[string]any{"big": strings.Repeat("big ", 1<<14)}
	for name, tt := range map[string]struct {
		language Language
		text     string
		want     string
	}{
		"loop": {GoTemplate, "{{range 9223372036854775807}}{{end}}", "too many steps"},
		"nested loops": {GoTemplate, "{{range 100000}}{{range 100000}}{{if false}}x{{end}}{{end}}{{end}}",
			"too many steps"},
		"loop, else": {GoTemplate, "{{range 0}}{{else}}{{range 9223372036854775807}}{{end}}{{end}}", "too many steps"},
		"recursion": {GoTemplate, `{{define "t"}}{{template "t"}}{{end}}{{template "t"}}`,
			"exceeded maximum template depth"},
		"wide recursion": {GoTemplate,
			`{{define "t"}}{{if lt (len .) 40}}{{template "t" (print . "x")}}{{template "t" (print . "x")}}{{end}}{{end}}{{template "t" "x"}}`, "too many steps"},
		"doubling":        {GoTemplate, `{{$x := "ab"}}{{range 60}}{{$x = print $x $x}}{{end}}`, "too long"},
		"doubling printf": {GoTemplate, `{{$x := "ab"}}{{range 60}}{{$x = printf "%s%s" $x $x}}{{end}}`, "too long"},
		"escaping":        {GoTemplate, `{{$x := "\\"}}{{range 60}}{{$x = js $x}}{{end}}`, "too long"},
		"output":          {GoTemplate, "{{range 100}}{{$.big}}{{end}}", "too long"},
		"f-string output": {FString, strings.Repeat("{big}", 100), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := compile(tt.language, tt.text)
			if tt.language == GoTemplate {
				tmpl, err = compileGo(tt.text, limit)
			}
			require.NoError(t, err)
			_, err = tmpl.Execute(vars, limit)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestRender_Limit(t *testing.T) {
	vars := map[string]any{"big": strings.Repeat("big ", 1<<22)}
	for language, text := range map[Language]string{FString: "{big}", GoTemplate: "{{.big}}"} {
		_, err := Render(language, strings.Repeat(text, 4), vars)
		require.NoError(t, err)
		_, err = Render(language, strings.Repeat(text, 5), vars)
		require.ErrorContains(t, err, "too long")
	}
}

// Rule schema/B15.2.1.
func TestCache_KeepsWhatIsUsedAndStaysBounded(t *testing.T) {
	var c cache
	first, err := c.get(FString, "{a}")
	require.NoError(t, err)
	again, err := c.get(FString, "{a}")
	require.NoError(t, err)
	require.Same(t, first, again)
	other, err := c.get(GoTemplate, "{{.a}}")
	require.NoError(t, err)
	require.NotEqual(t, first, other)

	for i := range 10 * maxCached {
		_, err := c.get(FString, fmt.Sprintf("{a%d}", i))
		require.NoError(t, err)
		_, err = c.get(FString, "{a}") // in use, so it stays
		require.NoError(t, err)
		require.LessOrEqual(t, len(c.young)+len(c.old), 2*maxCached)
	}
	again, err = c.get(FString, "{a}")
	require.NoError(t, err)
	require.Same(t, first, again)

	_, err = c.get(FString, "{")
	require.Error(t, err)
	long := strings.Repeat("x", maxCachedText) + "{a}"
	one, err := c.get(FString, long)
	require.NoError(t, err)
	two, err := c.get(FString, long)
	require.NoError(t, err)
	require.NotSame(t, one, two)
}

func TestRender_Concurrent(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for k := range 50 {
				n := (i + k) % 7
				vars := map[string]any{"a": k}
				want := fmt.Sprint(k, " ", n)
				for language, text := range map[Language]string{FString: "{a} ", GoTemplate: "{{.a}} "} {
					if got, err := Render(language, text+fmt.Sprint(n), vars); err != nil || got != want {
						t.Errorf("got %q, %v; want %q", got, err, want)
					}
				}
			}
		})
	}
	wg.Wait()
}

func FuzzRender_GoTemplate(f *testing.F) {
	for _, seed := range []string{
		"{{.a}}", "{{range .l}}{{.}}{{else}}x{{end}}", `{{define "t"}}{{end}}{{template "t"}}`,
		"{{if .a}}{{else if .b}}{{end}}",
		"{{with $x := .a}}{{$x}}{{end}}", `{{printf "%d" 1}}`, "{{/* c */}}", "{{range 10}}{{break}}{{end}}", "{{- .a -}}",
	} {
		f.Add(seed)
	}
	vars := map[string]any{"a": "x", "l": []int{1, 2}, "m": map[string]any{"k": nil}}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Render(GoTemplate, text, vars); err != nil && got != "" {
			t.Errorf("%q gave both %q and %v", text, got, err)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	vars := map[string]any{"name": "variable", "n": 12}
	for _, bb := range []struct {
		name     string
		language Language
		line     string
	}{
		{"Plain", FString, "some text without any markup\n"},
		{"FString", FString, "some text with a {name} and {n} in it\n"},
		{"GoTemplate", GoTemplate, "some text with a {{.name}} and {{.n}} in it\n"},
	} {
		text := strings.Repeat(bb.line, 1000/len(bb.line)) // about 1 KB
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Render(bb.language, text, vars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
