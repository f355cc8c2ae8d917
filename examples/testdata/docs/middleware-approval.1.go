package main

import (
	"encoding/json"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	file := drive.Tool("delete_file", adktest.Says("deleted"))
	runner := func(script ...adktest.Answer) *adk.Runner {
		r, err := newRunner(drive.Context(), "shared", func(ask adk.ChatModelAgentMiddleware) (adk.Agent, error) {
			return adk.NewChatModelAgent(drive.Context(), &adk.ChatModelAgentConfig{Name: "clerk", Model: drive.Model(script...),
				ToolsConfig: drive.Tools(file), Handlers: []adk.ChatModelAgentMiddleware{ask}})
		})
		drive.Check(err)
		return r
	}
	asked := questions("r-1", drive.Question(runner(adktest.Calls(adktest.Call("delete_file", "{}"))).Query(drive.Context(), "Delete.", adk.WithCheckPointID("r-1"))))
	drive.Equal(len(asked), 1)
	stored, err := json.Marshal(asked[0])
	drive.Check(err)
	events, err := approve(drive.Context(), runner(adktest.Says("Done.")), stored)
	drive.Check(err)
	drive.Equal(drive.Text(events), "Done.")
	drive.Equal(len(file.Calls()), 1)
}
