package main

import (
	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	ask, err := newHandler(drive.Context())
	drive.Check(err)
	mail := drive.Tool("send_mail", adktest.Says("sent"))
	agent, err := adk.NewChatModelAgent(drive.Context(), &adk.ChatModelAgentConfig{Name: "clerk",
		Model:       drive.Model(adktest.Calls(adktest.Call("send_mail", `{"to":"all"}`), adktest.Call("delete_file", `{}`)), adktest.Says("Done.")),
		ToolsConfig: drive.Tools(mail, drive.Tool("delete_file")), Handlers: []adk.ChatModelAgentMiddleware{ask}})
	drive.Check(err)
	runner := drive.Runner(agent)
	events, err := decide(drive.Context(), runner, "r-1", drive.Question(runner.Query(drive.Context(), "Go.", adk.WithCheckPointID("r-1"))))
	drive.Check(err)
	drive.Equal(drive.Text(events), "Done.")
	drive.Equal(mail.Arguments(), []string{`{"to":"me@example.com"}`})
}
