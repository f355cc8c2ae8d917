package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	slack := drive.Tool("slack_send", adktest.Says("sent"))
	assistant, err := newAssistant(drive.Context(), drive.Model(
		adktest.Calls(adktest.Call("tool_search", `{"query":"select:slack_send"}`)), adktest.Calls(adktest.Call("slack_send", "{}")), adktest.Says("Sent.")),
		[]tool.BaseTool{slack, drive.Tool("mail_send")})
	drive.Check(err)
	drive.Equal(drive.Text(drive.Runner(assistant).Query(drive.Context(), "Tell the team.")), "Sent.")
	drive.Equal(len(slack.Calls()), 1)
}
