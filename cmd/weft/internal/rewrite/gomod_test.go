package rewrite

import (
	"strings"
	"testing"
)

func imports(paths ...string) map[string]bool {
	all := map[string]bool{"fmt": true}
	for _, p := range paths {
		all[p] = true
	}
	return all
}

func TestGoMod_RequiresWhatTheImportsNeed(t *testing.T) {
	cases := map[string]struct {
		before  string
		imports map[string]bool
		after   string
		notes   string
	}{
		"the core": {
			"module m\n\ngo 1.25.0\n\nrequire github.com/cloudwego/eino v0.7.36 // agents\n",
			imports(weftModule + "/adk"),
			"module m\n\ngo 1.25.0\n\nrequire github.com/weftgo/weft v0.3.0\n", "",
		},
		"the engine of Jinja2 templates": {
			"module m\n\ngo 1.25.0\n\nrequire github.com/cloudwego/eino v0.7.36\n",
			imports(weftModule+"/schema", jinjaModule),
			"module m\n\ngo 1.25.0\n\nrequire (\n\tgithub.com/weftgo/weft v0.3.0\n\tgithub.com/weftgo/weft/ext/jinja v0.3.0\n)\n", "",
		},
		"among others": {
			"module m\n\ngo 1.26\n\nrequire (\n\tgithub.com/acme/router v1.0.0\n\tgithub.com/cloudwego/eino v0.7.36\n" +
				"\tgithub.com/cloudwego/eino-ext/components/model/openai v0.1.7\n)\n\n" +
				"require github.com/acme/dep v1.0.0 // indirect\n",
			imports(weftModule+"/adk", weftModule+"/ext/model/openai"),
			"module m\n\ngo 1.26\n\nrequire (\n\tgithub.com/acme/router v1.0.0\n\tgithub.com/weftgo/weft v0.3.0\n" +
				"\tgithub.com/weftgo/weft/ext/model/openai v0.3.0\n)\n\nrequire github.com/acme/dep v1.0.0 // indirect\n", "",
		},
		"an extension module without counterpart": {
			"module m\n\ngo 1.25.0\n\nrequire (\n\tgithub.com/cloudwego/eino v0.7.36\n" +
				"\tgithub.com/cloudwego/eino-ext/callbacks/langfuse v0.1.1\n)\n",
			imports(weftModule+"/adk", extModule+"/callbacks/langfuse"),
			"module m\n\ngo 1.25.0\n\nrequire (\n\tgithub.com/cloudwego/eino v0.7.36\n" +
				"\tgithub.com/cloudwego/eino-ext/callbacks/langfuse v0.1.1\n\tgithub.com/weftgo/weft v0.3.0\n)\n\n" +
				"replace github.com/cloudwego/eino => github.com/weftgo/weft/compat/eino v0.3.0\n",
			"added: replace github.com/cloudwego/eino => github.com/weftgo/weft/compat/eino v0.3.0\n" +
				"these have no counterpart here and stay: github.com/cloudwego/eino-ext/callbacks/langfuse",
		},
		"a fork, and an old version of Go": {
			"module m\n\ngo 1.18\n\nrequire github.com/cloudwego/eino v0.7.36\n\nreplace github.com/cloudwego/eino => ../eino\n",
			imports(weftModule + "/adk"),
			"module m\n\ngo 1.25.0\n\nrequire github.com/weftgo/weft v0.3.0\n",
			"dropped: replace github.com/cloudwego/eino => ../eino\nraised: go 1.25.0, from 1.18",
		},
		"a dependency that needs Eino": {
			"module m\n\ngo 1.25.0\n\nrequire github.com/acme/agents v1.0.0\n\n" +
				"require github.com/cloudwego/eino v0.7.36 // indirect\n",
			imports("github.com/acme/agents"),
			"module m\n\ngo 1.25.0\n\nrequire github.com/acme/agents v1.0.0\n\n" +
				"require github.com/cloudwego/eino v0.7.36 // indirect\n",
			"a dependency needs github.com/cloudwego/eino: if its types meet yours, weft migrate eino -shim",
		},
		"nothing of Eino's": {"module  m\ngo 1.18\n", imports(weftModule + "/adk"), "module  m\ngo 1.18\n", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, notes, err := rewriteGoMod("go.mod", []byte(c.before), c.imports, "v0.3.0")
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.after || strings.Join(notes, "\n") != c.notes {
				t.Errorf("it became\n%s\nwith the notes\n%s", got, strings.Join(notes, "\n"))
			}
			again, _, err := rewriteGoMod("go.mod", got, c.imports, "v0.3.0")
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time changes it: %v\n%s", err, again)
			}
		})
	}
}

func TestGoMod_OfTheShimIsRefused(t *testing.T) {
	_, _, err := rewriteGoMod("go.mod", []byte("module github.com/cloudwego/eino\n"), imports(), "v0.3.0")
	if err == nil || !strings.Contains(err.Error(), "this is Eino itself") {
		t.Errorf("the error is %v", err)
	}
}

func TestShim_ChangesTheReplacementOnly(t *testing.T) {
	before := "module m\n\ngo 1.25.0\n\nrequire github.com/cloudwego/eino v0.7.36\n"
	want := before + "\nreplace github.com/cloudwego/eino => github.com/weftgo/weft/compat/eino v0.3.0\n"
	got, _, err := shimGoMod("go.mod", []byte(before), "v0.3.0")
	if err != nil || string(got) != want {
		t.Errorf("it became %v\n%s", err, got)
	}
	if again, _, err := shimGoMod("go.mod", got, "v0.4.0"); err != nil || string(again) != want {
		t.Errorf("a second time changes it: %v\n%s", err, again)
	}
}
