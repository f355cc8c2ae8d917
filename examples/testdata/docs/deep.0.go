package main

import (
	"os"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	ctx := drive.Context()
	drive.Check(os.WriteFile("login.go", []byte("package login\n"), 0o600))
	root, err := os.Getwd()
	drive.Check(err)
	agent, err := newAgent(ctx, drive.Model(
		adktest.Calls(adktest.Call("read_file", `{"file_path":"`+root+`/login.go"}`)), adktest.Says("A missing test.")), ".")
	drive.Check(err)
	drive.Equal(drive.Text(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true}).Query(ctx, "Why?")), "A missing test.")
}
