package main

import (
	"strings"
	"testing"
)

func ownForTest(path string) bool {
	return path == "example.com/a" || strings.HasPrefix(path, "example.com/a/")
}

const goModForTest = `// A comment.
module example.com/a/ext/b

go 1.26.0

require (
	example.com/a v0.0.0
	example.com/other v1.2.3 // kept
)

require example.com/a/kit v0.0.0 // indirect

replace (
	example.com/a => ../..
	example.com/a/kit => ../kit
)
`

func TestReleasedMod_RequiresTheVersionAndReplacesNothing(t *testing.T) {
	have, err := releasedMod("go.mod", []byte(goModForTest), ownForTest, "v0.3.0")
	if err != nil {
		t.Fatal(err)
	}
	want := `// A comment.
module example.com/a/ext/b

go 1.26.0

require (
	example.com/a v0.3.0
	example.com/other v1.2.3 // kept
)

require example.com/a/kit v0.3.0 // indirect
`
	if string(have) != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, have)
	}
	for _, line := range []string{"replace example.com/other => ../x", "exclude example.com/other v1.0.0"} {
		if _, err := releasedMod("go.mod", []byte(goModForTest+line+"\n"), ownForTest, "v0.3.0"); err == nil {
			t.Errorf("a go.mod with %q was accepted", line)
		}
	}
}

func TestDevelopmentMod_KeepsTheReplaceLines(t *testing.T) {
	have, err := developmentMod("go.mod", []byte(goModForTest), ownForTest, "v0.3.0")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(goModForTest, " v0.0.0", " v0.3.0"); string(have) != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, have)
	}
}

func TestReleasedSum_HasTheHashesOfThisReleaseOnly(t *testing.T) {
	before := "example.com/a v0.2.0 h1:old=\nexample.com/a v0.2.0/go.mod h1:old=\nexample.com/z v1.0.0/go.mod h1:z=\n"
	have := releasedSum([]byte(before), ownForTest, "v0.3.0", map[string]sums{"example.com/a": {zip: "h1:zip=", mod: "h1:mod="}})
	want := "example.com/a v0.3.0 h1:zip=\nexample.com/a v0.3.0/go.mod h1:mod=\nexample.com/z v1.0.0/go.mod h1:z=\n"
	if string(have) != want {
		t.Errorf("want:\n%s\nhave:\n%s", want, have)
	}
}
