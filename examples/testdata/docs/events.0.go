package main

import (
	"net/http"
	"net/http/httptest"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	ctx := drive.Context()
	stored, err := runlog.NewFileStore("events")
	drive.Check(err)
	recorded := runlog.New(runlog.Config{Store: stored})
	defer recorded.Close(ctx)
	record(ctx, drive.Runner(drive.Agent(drive.Model(adktest.Says("Sunny.")))), recorded)
	mux := http.NewServeMux()
	mux.Handle("GET /runs/{run}/events", events(recorded))
	server := httptest.NewServer(mux)
	defer server.Close()
	drive.Contains(drive.Send("GET", server.URL+"/runs/r-1/events", ""), "Sunny.")
}
