package main

import (
	"context"
	"time"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	pause, running := make(chan struct{}), make(chan struct{})
	tool := drive.Tool("dig", adktest.Does(func(context.Context, string) (string, error) {
		close(running)
		<-pause
		time.Sleep(50 * time.Millisecond) // for the request, which takes another goroutine
		return "dug", nil
	}))
	runner := drive.Runner(drive.Agent(drive.Model(adktest.Calls(adktest.Call("dig", "{}")), adktest.Says("Done.")), tool))
	go func() {
		<-running
		close(pause)
	}()
	drive.Check(work(drive.Context(), runner, "r-1", "Dig.", pause))
	events, err := runner.Resume(drive.Context(), "r-1")
	drive.Check(err)
	drive.Equal(drive.Text(events), "Done.")
}
