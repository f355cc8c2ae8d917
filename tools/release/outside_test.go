package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestFirstProgram_IsWhatAReaderCopies(t *testing.T) {
	get, program, err := firstProgram("# A\n\n    go get example.com/a example.com/b@latest\n\n```go\npackage main\n```\n\n" +
		"```go\npackage other\n```\n")
	if err != nil || program != "package main\n" || !slices.Equal(get, []string{"example.com/a", "example.com/b"}) {
		t.Errorf("have %q %q %v", get, program, err)
	}
}

// TestScriptedModel_TakesThePlaceOfEveryHost: a program that knows nothing of the model reaches it by its proxy.
func TestScriptedModel_TakesThePlaceOfEveryHost(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	dir := t.TempDir()
	m, err := startModel(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	env := append(os.Environ(), m.environment()...)
	for stream, want := range map[string]string{"false": `"message":`, "true": "data: [DONE]"} {
		out, err := command(context.Background(), dir, env, curl, "--silent", "--fail", "--cacert", m.authorityFile(),
			"--data", `{"stream":`+stream+`}`, "https://api.example.com/v1/chat/completions")
		if err != nil || !strings.Contains(out, want) || !strings.Contains(out, modelAnswer) {
			t.Errorf("have %s %v", out, err)
		}
	}
}
