package jinja

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type person struct {
	Name string
	Next *person
}

func (p *person) String() string          { return "P:" + p.Name }
func (p *person) Greet(who string) string { return "hello " + who + " from " + p.Name }
func (p *person) Panic() string           { panic("boom") }

const limit = 1 << 20

func render(text string, vars map[string]any) (string, error) {
	t, err := compile(text)
	if err != nil {
		return "", err
	}
	return t.Execute(vars, limit)
}

func variables() map[string]any {
	return map[string]any{
		"a": "x", "n": 3, "t": true, "f": 1.5, "two": 2.0, "nil": nil, "html": "<b>",
		"l": []string{"p", "q"}, "m": map[string]any{"k": 1, "z": []any{1, "a"}},
		"p": &person{Name: "ann"}, "docs": []map[string]any{{"id": 1}, {"id": 2}},
		"json": `{"k": [1, 2]}`,
	}
}

// Rule schema/F18.
func TestRender_FollowsJinja2(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"{{a}} {{ a }}", "x x"},
		{"{{missing}}|", "|"},
		{"{{t}} {{not t}} {{nil}} {{f}} {{two}}", "True False  1.5 2.0"},
		{"{{l}} {{m}} {{(1, 2)}} {{ {'a': 1} }}", "['p', 'q'] {'k': 1, 'z': [1, 'a']} [1, 2] {'a': 1}"},
		{"{{p}} {{p.Name}} {{p.Greet('bob')}} {{p.Next}}", "P:ann ann hello bob from ann "},
		{"a\n", "a\n"},
		{"{{a}}\r\nb\r\n", "x\r\nb\r\n"},
		{"{%- if t -%}\r\n x \r\n{%- endif -%}\r\n y", "xy"},
		{"{{ a }} {#- note -#} {{ a }}", "xx"},
		{"{{ a -}} {{- n }}", "x3"},
		{"{{ - n }} {{--n}} {{+n}}", "-3-3 3"},
		{"{{\na}} {{ a ~\n\tn }} {% if t\nand n %}y{% endif %}", "x x3 y"},
		{"{{ 'a\nb' }}", "a\nb"},
		{"{{ '}}' }} {{ \"%}\" }} }} %} {", "}} %} }} %} {"},
		{"{{ {'a': {'b': 1}}}}", "{'a': {'b': 1}}"},
		{"{% raw %}{{a}}{% if %}{% endraw %}{% raw %}{% endraw %}!", "{{a}}{% if %}!"},
		{"x {%- raw -%} {{a}} {%- endraw -%} y", "x{{a}}y"},
		{"{% for i in range(3) %}{{i}}:{{loop.index}} {% endfor %}", "0:1 1:2 2:3 "},
		{"{% for k, v in m %}{{k}}={{v}};{% endfor %}", "k=1;z=[1, 'a'];"},
		{"{% for k, v in m.items() %}{{k}}={{v}};{% endfor %}", "k=1;z=[1, 'a'];"},
		{"{% for d in docs if d.id > 1 %}{{d.id}}{% else %}none{% endfor %}", "2"},
		{"{% for d in missing %}x{% else %}none{% endfor %}", "none"},
		{"{% if a == 'x' and n > 2 %}1{% elif n %}2{% else %}3{% endif %}", "1"},
		{"{% set x = 1 if missing else 2 %}{{x}}{% set y %}<{{a}}>{% endset %}{{y}}", "2<x>"},
		{"{% set ns = namespace(v=0) %}{% for i in range(4) %}{% set ns.v = ns.v + i %}{% endfor %}{{ns.v}} {{ns}}",
			"6 <namespace v>"},
		{"{% macro f(x, y=2) %}[{{x}},{{y}}]{% endmacro %}{{ f(1) }}{{ f(3, y=4) }}", "[1,2][3,4]"},
		{"{% with x=1, y=2 %}{{x}}{{y}}{% endwith %}{{x}}", "12"},
		{"{% filter upper|replace('A', 'b') %}a{{a}}{% endfilter %}", "bX"},
		{"{% block b %}x{% endblock %}{{ self.b() }}", "xx"},
		{"{% autoescape true %}{{html}}{{html|safe}}{% endautoescape %}{{html}}{{html|e}}", "&lt;b&gt;<b><b>&lt;b&gt;"},
		{"{{ n / 2 }} {{ n // 2 }} {{ n ** 2 }} {{ 7 % 4 }} {{ n * 2 }} {{ 'ab' * 2 }} {{ n * 0.5 }}",
			"1.5 1 9.0 3 6 abab 1.5"},
		{"{{ 'p' in l }} {{ l + ['r'] }} {{ l[0] }} {{ l.1 }} {{ l[5] }} {{ l[:1] }} {{ a[0] }}",
			"True ['p', 'q', 'r'] p q  ['p'] x"},
		{"{{ l|join(',') }} {{ l|tojson }} {{ l|length }} {{ l|first }} {{ missing|default('d') }} {{ a|upper }}",
			`p,q ["p","q"] 2 p d X`},
		{"{{ docs|map(attribute='id')|join('+') }} {{ 'a-b'.split('-') }} {{ ' s '.strip() }}", "1+2 ['a', 'b'] s"},
		{"{{ a is defined }} {{ missing is undefined }} {{ n is odd }} {{ n is divisibleby 3 }} {{ a is string }}",
			"True True True True True"},
		{"{{ dict(b=1, a=2) }} {{ range(2) }} {{ range(5, 1, -2) }}", "{'a': 2, 'b': 1} [0, 1] [5, 3]"},
		{"{{ 1|bool }} {{ 'off'|bool }} {{ missing|ifelse('y', 'n') }} {{ m|get('no', default=8) }} {{ [1, 2]|flatten }}",
			"True False n 8 [1, 2]"},
		{"{{ 'a\nb'|indent(2) }} {{ 'x'|center(5) }}| {{ '%05.1f'|format(f) }} {{ [[1, 2], [3]]|batch(1)|length }}",
			"a\n  b   x  | 001.5 2"},
		{"{% set ns = namespace() %}{{ ns.x }}|", "|"},
		{"{{ 'yes'|bool }} {{ m|keys }} {{ m|values }} {{ 'a b'|split }} {{ 'a,b'|split(',') }}",
			"True ['k', 'z'] [1, [1, 'a']] ['a', 'b'] ['a', 'b']"},
		{"{{ (json|fromjson).k[1] }} {{ m|get('k') }} {{ m|get('no', 7) }} {{ t|ifelse('y', 'n') }} {{ a|match('^x') }}",
			"2.0 1 7 y True"},
		{"{{ [1]|append(2) }} {{ [1]|concat([2], [3]) }} {{ [1, [2, 3]]|flatten }} {{ 'd/f'|basename }} {{ 'd/f'|dir }}",
			"[1, 2] [1, 2, 3] [1, 2, 3] f d"},
		{"{{ joiner(',') is callable }} {{ gonja.version is string }} {{ lipsum(n=1, html=false)|length > 1 }}",
			"True True True"},
		{strings.Repeat("long text ", 100) + "{{a}}", strings.Repeat("long text ", 100) + "x"},
	} {
		got, err := render(tt.text, variables())
		require.NoError(t, err, tt.text)
		require.Equal(t, tt.want, got, tt.text)
	}
	got, err := render("{{a}}.", nil)
	require.NoError(t, err)
	require.Equal(t, ".", got)
}

// Rule schema/B15.2.3.
func TestRender_NamesTheMistake(t *testing.T) {
	vars := variables()
	vars["err"] = errors.New("failed")
	vars["ch"] = make(chan int)
	for _, tt := range []struct{ text, want string }{
		{"{{ a", `line 1: tag is not closed, expected "}}"`},
		{"one\ntwo {% if", `line 2: tag is not closed, expected "%}"`},
		{"{{ a }", "unbalanced bracket '}'"},
		{"{{ (a }}", "unbalanced brackets"},
		{"{{ 'a }}", "string is not closed"},
		{"{{ $a }}", "unexpected character '$'"},
		{"{# c", "unclosed comment"},
		{"{% raw %}x", "raw block is not closed"},
		{"{% if a %}x", "Unexpected EOF"},
		{"{% nosuch %}", "'nosuch' not found"},
		{"{% for i in a %}{% endif %}", "not found"},
		{"{{ missing.x }}", "Can't use Getitem on None"},
		{"\n\n{{ missing.x }}", "line 3"},
		{"{{ err }}", "failed"},
		{"{{ a|nofilter }}", "filter 'nofilter' not found"},
		{"{{ a is notest }}", "test 'notest' not found"},
		{"{{ a() }}", "not callable"},
		{"{{ 1 % 0 }}", "divide by zero"},
		{"{{ p.Panic() }}", "boom"},
		{"{{ 'stop'|panic }}", "stop"},
		{"{{ 'stop'|fail }}", "stop"},
		{"{% for x in ch %}{% endfor %}", "templates cannot read channels"},
		{"{{ ch|list }}", "templates cannot read channels"},
		{"{{ a|append(1) }}", "append: not a list"},
		{"{{ l|concat(a) }}", "concat: not a list"},
		{"{{ a|flatten }}", "flatten: not a list"},
		{"{{ 'maybe'|bool }}", `bool: "maybe" is neither true nor false`},
		{"{{ '{'|fromjson }}", "fromjson: "},
		{"{{ a|keys }}", "keys: not a dict"},
		{"{{ a|values }}", "values: not a dict"},
		{"{{ a|match('(') }}", "match: "},
		{"{{ range() }}", "range: expected"},
		{"{{ range('x') }}", "range: arguments must be integers"},
		{"{{ range(1, 2, 0) }}", "range: step must not be 0"},
		{"{% set 1 %}", "Unexpected EOF"},
		{"{% set x = 1 2 %}", "Malformed statement"},
		{"{% set x = err %}", "failed"},
		{"{% set x %}y", "Unexpected EOF"},
		{"{% set x %}{{ err }}{% endset %}", "failed"},
		{"{% with x %}{% endwith %}", "Expected name=value"},
		{"{% with x = err %}{% endwith %}", "failed"},
		{"{% with x = 1 y = 2 %}{% endwith %}", "Malformed statement"},
		{"{% filter %}x{% endfilter %}", "filter name must be an identifier"},
		{"{% filter upper x %}x{% endfilter %}", "Malformed statement"},
		{"{% filter nofilter %}x{% endfilter %}", "filter 'nofilter' not found"},
		{"{% filter upper %}{{ err }}{% endfilter %}", "failed"},
		{"{{ {'a': 1}.update({'b': 2}) }}", "unknown method"},
		{"{% set m.k = 2 %}", "set can change variables and attributes of a namespace only"},
		{"{% set m['k'] = 2 %}", "set can change variables and attributes of a namespace only"},
		{"{% set p.Name = 'eve' %}", "set can change variables and attributes of a namespace only"},
	} {
		got, err := render(tt.text, vars)
		require.ErrorContains(t, err, tt.want, tt.text)
		require.NotContains(t, err.Error(), "\x00", tt.text)
		require.Empty(t, got)
	}
	require.Equal(t, "x", vars["a"])
	require.Equal(t, 1, vars["m"].(map[string]any)["k"])
	require.Equal(t, "ann", vars["p"].(*person).Name)
}

// Nothing reaches a file or another template.
// Rule schema/F19.
func TestRender_ReachesNoFileAndNoOtherTemplate(t *testing.T) {
	for _, text := range []string{
		"{% include 'go.mod' %}", "{% extends 'go.mod' %}", "{% import 'go.mod' as m %}", "{% from 'go.mod' import m %}",
	} {
		_, err := compile(text)
		name := strings.Fields(text)[1]
		require.ErrorContains(t, err, `Unable to parse statement "`+name+`": keyword[`+name+"] has been disabled")
	}
	for _, name := range []string{"file", "fileset"} {
		_, err := render("{{ 'go.mod'|"+name+" }}", nil)
		require.ErrorContains(t, err, "keyword["+name+"] has been disabled")
	}
	_, err := source("x").Read("go.mod")
	require.Error(t, err)
	_, err = source("x").Resolve("go.mod")
	require.Error(t, err)
	_, err = source("x").Inherit("go.mod")
	require.Error(t, err)
}

// Whatever a template tries, it ends soon and with an error.
// Rule schema/B15.2.3.
func TestRender_BoundsHostileTemplates(t *testing.T) {
	vars := variables()
	vars["big"] = strings.Repeat("big ", limit/8)
	bomb := "a0: &a0 [x, x]\n" // each line is twice the one before, if it is written out
	for i := 1; i < 40; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	vars["bomb"] = bomb
	grow := func(body string) string {
		return "{% set ns = namespace(x='ab') %}{% for i in range(60) %}" + body + "{% endfor %}"
	}
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"range":      {"{% for i in range(1000000000000) %}x{% endfor %}", errTooLarge},
		"range back": {"{{ range(0, -1000000000000, -1) }}", errTooLarge},
		"nested loops": {strings.Repeat("{% for i in range(90000) %}", 5) + strings.Repeat("{% endfor %}", 5),
			errTooMuchWork},
		"loop condition":  {strings.Repeat("{% for i in range(90000) if not i %}{% for i in range(90000) if not i %}{% endfor %}", 6) + strings.Repeat("{% endfor %}", 6), errTooMuchWork},
		"repeat":          {"{{ 'a' * 1000000000 }}", errTooLarge},
		"repeat number":   {"{{ 'a' * 9000000000000000000 }}", errTooLarge},
		"double":          {grow("{% set ns.x = ns.x + ns.x %}"), errTooLarge},
		"double tilde":    {grow("{% set ns.x = ns.x ~ ns.x %}"), errTooLarge},
		"double list":     {grow("{% set ns.x = [ns.x, ns.x] %}") + "{{ ns.x }}", errTooLarge},
		"double dict":     {grow("{% set ns.x = {'a': ns.x, 'b': ns.x} %}") + "{{ ns.x }}", errTooLarge},
		"double replace":  {grow("{% set ns.x = ns.x|replace('b', 'bb' * 100) %}"), errTooLarge},
		"double join":     {grow("{% set ns.x = [ns.x, ns.x]|join(ns.x) %}"), errTooLarge},
		"deep list":       {"{% set ns = namespace(x=1) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}", errTooLarge},
		"center":          {"{{ 'a'|center(1000000000) }}", errTooLarge},
		"indent":          {"{{ 'a\n'|indent(1000000000, true) }}", errTooLarge},
		"indent by text":  {"{{ ('a\n' * 10000)|indent('x' * 10000) }}", errTooLarge},
		"join by name":    {"{{ range(10000)|join(d='x' * 10000) }}", errTooLarge},
		"replace by name": {"{{ big|replace(old='b', new='x' * 10000) }}", errTooLarge},
		"format":          {"{{ '%1000000d'|format(1) }}", errTooLarge},
		"format star":     {"{{ '%*d'|format(100000, 1) }}", errTooLarge},
		"wordwrap":        {"{{ big|wordwrap(1000000000) }}", errTooLarge},
		"batch":           {"{{ [1]|batch(1000000000, 'x') }}", errTooLarge},
		"slice":           {"{{ [1]|slice(1000000000) }}", errTooLarge},
		"tojson":          {"{{ [1]|tojson(indent=1000000000) }}", errTooLarge},
		"lipsum":          {"{{ lipsum(1000000000) }}", errTooLarge},
		"list":            {"{{ big|list }}", errTooLarge},
		"output":          {"{% for i in range(1000) %}{{ big }}{% endfor %}", errTooLong},
		"text":            {"{% for i in range(90000) %}" + strings.Repeat("text", 50) + "{% endfor %}", errTooLong},
		"captured":        {"{% set x %}{% for i in range(1000) %}{{ big }}{% endfor %}{% endset %}", errTooLong},
		"captured text": {"{% set x %}{% for i in range(90000) %}" + strings.Repeat("long",
			500) + "{% endfor %}{% endset %}", errTooLong},
		"macro": {"{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", errTooDeep},
		"macro, swallowed": {"{% macro f(x) %}{{ f(x)|default('') }}{{ f(x)|default('') }}{% endmacro %}{{ f(1) }}",
			errTooDeep},
		"recursive loop":    {"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", errTooDeep},
		"self":              {"{% block b %}{{ self.b() }}{{ self.b() }}{% endblock %}", errTooDeep},
		"yaml of itself":    {"{% set ns = namespace() %}{% set ns.ns = [ns] %}{{ [ns]|toyaml }}", nil},
		"yaml aliases":      {"{{ bomb|fromyaml }}", nil},
		"doubling add":      {grow("{% set ns.x = ns.x|add(ns.x) %}"), errTooLarge},
		"printed namespace": {"{% set ns = namespace() %}{% set ns.ns = [ns] %}{% for i in range(90000) %}{{ [ns, ns] }}{{ ns.ns == ns.ns }}{% endfor %}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := render(tt.text, vars)
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
			}
			require.Less(t, time.Since(start), 2*time.Minute)
		})
	}
}

// Everything of the language is there by its name. What a name does with these arguments does not matter here.
// Rule schema/F20.
func TestRender_KnowsEveryNameOfTheLanguage(t *testing.T) {
	for _, statement := range []string{
		"{% autoescape true %}{% endautoescape %}", "{% block b %}{% endblock %}", "{% filter upper %}{% endfilter %}",
		"{% for i in l %}{% endfor %}",
		"{% if a %}{% endif %}", "{% macro f() %}{% endmacro %}", "{% raw %}{% endraw %}", "{% set x = 1 %}",
		"{% with x=1 %}{% endwith %}",
	} {
		_, err := render(statement, variables())
		require.NoError(t, err, statement)
	}
	for _, global := range []string{"cycler", "dict", "joiner", "lipsum", "namespace", "range", "gonja.version"} {
		got, err := render("{{ "+global+" is defined }}", nil)
		require.NoError(t, err)
		require.Equal(t, "True", got, global)
	}
	classics := "abs attr batch capitalize center default d dictsort e escape filesizeformat first float forceescape format groupby indent int " +
		"items join last length count list lower map max min pprint random reject rejectattr replace reverse round safe select selectattr slice " +
		"sort string striptags sum title tojson trim truncate unique upper urlencode urlize wordcount wordwrap xmlattr "
	for _, filter := range strings.Fields(classics +
		"add append basename bool concat dir fail flatten fromjson fromyaml get ifelse " +
		"insert keys match panic split toyaml try unset values") {
		if _, err := render("{{ a|"+filter+" }}", variables()); err != nil {
			assert.NotContains(t, err.Error(), "not found", filter)
		}
	}
	for _, test := range strings.Fields("callable defined divisibleby eq equalto even ge gt in iterable le lower lt mapping ne none number odd " +
		"sameas sequence string undefined upper empty") {
		if _, err := render("{{ a is "+test+" 1 }}", variables()); err != nil {
			assert.NotContains(t, err.Error(), "not found", test)
		}
	}
	got, err := render("{{ 1 is == 1 }}", nil)
	require.NoError(t, err)
	require.Equal(t, "True", got)
}

// The filters and tests that other engines do not have.
// Rule schema/F20.
func TestRender_KnowsFiltersAndTestsBeyondJinja2(t *testing.T) {
	for text, want := range map[string]string{
		"{{ 1|add(2) }} {{ 1|add(0.5) }} {{ a|add('y') }}":                          "3 1.5 xy",
		"{{ {'k': 1}|insert('q', 2) }} {{ {'k': 1}|insert('k', 2) }}":               "{'k': 1, 'q': 2} {'k': 2}",
		"{{ {'k': 1, 'q': 2}|unset('k') }} {{ {'k': 1}|unset('no') }}":              "{'q': 2} {'k': 1}",
		"{{ m|insert('q', 2)|unset('k') }}":                                         "{'z': [1, 'a'], 'q': 2}",
		"{{ ('k: [1, two]'|fromyaml).k[1] }}":                                       "two",
		"{{ {'k': [1, 'two']}|toyaml }}":                                            "k:\n    - 1\n    - two\n",
		"{{ ('['|fromjson)|try is none }} {{ a|try }}":                              "True x",
		"{{ '' is empty }} {{ [] is empty }} {{ {} is empty }} {{ none is empty }}": "True True True True",
		"{{ a is empty }} {{ l is empty }} {{ 0 is empty }}":                        "False False False",
	} {
		got, err := render(text, variables())
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"{{ a|insert('k', 1) }}": "insert: not a dict", "{{ l|unset('k') }}": "unset: not a dict",
		"{{ '['|fromyaml }}": "fromyaml: ",
	} {
		_, err := render(text, variables())
		require.ErrorContains(t, err, want)
	}
}

// What is nested deeply is refused before the engine recurses over it.
func TestCompile_Hostile(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s, 100_000) }
	for name, text := range map[string]string{
		"parentheses": "{{ " + many("(") + "1" + many(")") + " }}",
		"lists":       "{{ " + many("[") + many("]") + " }}",
		"operators":   "{{ 1" + many(" + 1") + " }}",
		"not":         "{{ " + many("not ") + "1 }}",
		"minus":       "{{ " + many("- ") + "1 }}",
		"attributes":  "{{ a" + many(".a") + " }}",
		"items":       "{{ a" + many("[0]") + " }}",
		"calls":       "{{ a" + many("()") + " }}",
		"filters":     "{{ a" + many("|upper") + " }}",
		"blocks":      many("{% if a %}") + many("{% endif %}"),
		"unclosed":    many("{{ "),
		"comments":    many("{# "),
		"elifs":       "{% if a %}" + many("{% elif a %}"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compile(text)
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

func TestExecute_Limit(t *testing.T) {
	tmpl, err := compile("{{ a }}{# #}text")
	require.NoError(t, err)
	_, err = tmpl.Execute(map[string]any{"a": "1234"}, 7)
	require.ErrorIs(t, err, errTooLong)
	got, err := tmpl.Execute(map[string]any{"a": "1234"}, 8)
	require.NoError(t, err)
	require.Equal(t, "1234text", got)
}

func TestExecute_Concurrent(t *testing.T) {
	tmpl, err := compile("{% macro f(x) %}{{x}}{% endmacro %}{% for i in l %}{% set q = i %}{{ f(q) }}{{ m.k }}{% endfor %}")
	require.NoError(t, err)
	vars := variables()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 20 {
				if got, err := tmpl.Execute(vars, limit); err != nil || got != "p1q1" {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		"{{ a }}", "{% if a %}x{% else %}y{% endif %}", "{% for i in range(3) %}{{ i }}{% endfor %}", "{{ a|upper }}",
		"{% set x = [1, {'a': 2}] %}{{ x[0] }}", "{# c #}", "{% raw %}{{{% endraw %}", "{{ a",
		"{% macro f(x) %}{{x}}{% endmacro %}{{f(1)}}",
		"{{ 1 if a else 2 }}", "{{ l[1:2] }}", "{{ 'a' ~ 1 ** 2 }}", "{% filter upper %}x{% endfilter %}", "{{- a -}}",
		"{% block b %}{{ self.b() }}{% endblock %}", "{% with a=1 %}{% endwith %}", "{{ x is not defined }}",
		"{% autoescape true %}{{ '<' }}{% endautoescape %}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if got, err := render(text, variables()); err != nil && got != "" {
				t.Errorf("%q gave both %q and %v", text, got, err)
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			panic("template hangs: " + text)
		}
	})
}

func BenchmarkExecute(b *testing.B) {
	text := strings.Repeat("some text with a {{ name }} and {% if n > 1 %}{{ n }}{% endif %} in it\n", 10)
	tmpl, err := compile(text)
	require.NoError(b, err)
	vars := map[string]any{"name": "variable", "n": 12}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Execute(vars, limit); err != nil {
			b.Fatal(err)
		}
	}
}
