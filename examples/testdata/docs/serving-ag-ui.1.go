package main

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/serve"
	"github.com/weftgo/weft/serve/agui"
)

func driver() {
	tool, err := utils.InferTool("write", "Writes a line.", func(ctx context.Context, in struct{ Line string }) (string, error) { return write(ctx, in.Line) })
	drive.Check(err)
	srv, err := serve.New(serve.Config{Agents: []adk.Agent{
		drive.Agent(drive.Model(adktest.Calls(adktest.Call("write", `{"Line":"Dear Ana"}`)), adktest.Says("Written.")), tool)}})
	drive.Check(err)
	mux := http.NewServeMux()
	mux.Handle("/agui/{agent}", agui.Handler(srv, agui.Config{}))
	web := httptest.NewServer(mux)
	defer web.Close()
	drive.Contains(drive.Send("POST", web.URL+"/agui/assistant",
		`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"Write."}],"tools":[],"context":[],"state":{"lines":["first"]}}`), "Dear Ana")
}
