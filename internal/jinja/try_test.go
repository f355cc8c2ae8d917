package jinja

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/exec"
)
type S struct{ Name string; n int }
func (s *S) String() string { return "S:"+s.Name }
func (s *S) Hello(x string) string { return "hello "+x }
var _ = bytes.NewBuffer
func TestTry(t *testing.T) {
	vs := map[string]any{"a":"x","n":3,"t":true,"l":[]string{"p","q"},"m":map[string]any{"k":1,"z":[]any{1,"a"}},"err":errors.New("bad"),"s":&S{Name:"n"},"f":1.5,"f1":2.0,"nil":nil, "sv": S{Name:"v"}, "docs": []map[string]any{{"id":1},{"id":2}}}
	for _, text := range []string{"{{missing}}|","{{missing.x}}|","{{t}} {{not t}}","{{l}}","{{m}}","{{s}} {{s.Name}} {{s.Hello('x')}}","{{sv}}","a\n","a{{a}}\r\nb\r\n","{{err}}","{{f}} {{f1}} {{nil}}",
	"{{ a }", "{{ a", "{% if", "{% if a %}x", "{# c", "{{ a\n }}", "{{ a +\n a }}", "{{\na}}", "{% if a\n and n %}y{% endif %}", "{{ 'x' if t }}", "{{ 'a' 'b' }}", "{{ a b }}", "{% for i in range(3) %}{{i}}{{loop.index}}{% endfor %}", "{% for k,v in m %}{{k}}={{v}};{% endfor %}", "{% for k,v in m.items() %}{{k}}={{v}};{% endfor %}","{% for d in docs %}{{d.id}}{% endfor %}",
	"{% set x = 1 %}{{x}}", "{{ m.k }}{{m['k']}}{{m.zz}}", "{% include 'x' %}", "{{ 'a'|file }}", "{{ l|join(',') }}", "{{ l|tojson }}", "{{ n / 2 }} {{ n // 2 }} {{ n ** 2 }} {{ 7 % 2 }}", "{% macro f(x) %}[{{x}}]{% endmacro %}{{ f(1) }}", "{% raw %}{{a}}{% endraw %}", "{{ a|upper|lower }}", "{{ a ~ n }}", "{{ [1,2] + [3] }}", "{{ 'x' in l }} {{ 'p' in l }}", "{{ a is defined }} {{ zz is defined }} {{ zz is undefined }}", "{{ {'a': 1} }}", "{{ (1,2) }}", "{{ zz|default('d') }}", "{{ m|length }}", "{{ \"é\"|upper }}", "{{ '<b>' }}{{'<b>'|e}}", "{%- if t -%} x {%- endif -%} y", "{{ gonja.version }}", "{{ a and zz }}", "{{ 'a\\nb' }}", "{{ a.b.c }}", "{{ a[0] }}", "{{ l[5] }}", "{{ not a }}", "{% with x=1 %}{{x}}{% endwith %}", "{% filter upper %}abc{% endfilter %}","{% block b %}x{% endblock %}{{ self.b() }}", "{% if a == 'x' and n > 2 %}1{% elif 1 %}2{% else %}3{% endif %}", "{{ nope() }}", "{{ a() }}", "{{ 1 if zz else 2 }}", "{{ a|nofilter }}", "{% nosuch %}", "{{ n is even }} {{ n is divisibleby 3 }}", "{{ 1 == 1.0 }}", "}}", "%}", "{{ '}}' }}", "{{ n.x }}", "{{ s.zz }}", "{{ l.0 }}", "{% for x in missing %}a{% else %}b{% endfor %}", "{% for x in n %}a{% else %}b{% endfor %}", "{{ n|string + 'a' }}", "{{ \"a\" \n}}", "{{ {} }}", "{{ -n }} {{ +n }}","{% set ns = namespace(v=0) %}{% for i in range(3) %}{% set ns.v = ns.v + i %}{% endfor %}{{ ns.v }}", "{% for i in range(3) %}{% set q = i %}{% endfor %}{{ q }}", "{% if t %}{% set w = 1 %}{% endif %}{{ w }}", "{{ l|first }}{{ l|last }}", "{{ 'a,b'.split(',') }}", "{{ (a) }}", "{{ a | default(b, true) }}", "{{ a|replace('x','y') }}", "{{ 10 }}{{ 1e3 }}", "{{ 3.0 }}{{ true }}{{ None }}{{none}}{{ null }}",
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { if r := recover(); r != nil { fmt.Printf("%-40q PANIC %v\n", text, r) } }()
			tm, err := gonja.FromString(text)
			if err != nil { fmt.Printf("%-40q PARSE ERR %v\n", text, err); return }
			out, err := tm.ExecuteToString(exec.NewContext(vs))
			fmt.Printf("%-40q -> %q %v\n", text, out, err)
		}()
		select { case <-done: case <-time.After(2*time.Second): fmt.Printf("%-40q HANG\n", text) }
	}
}
