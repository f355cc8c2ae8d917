package main

import (
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/examples/internal/drive"
	"github.com/weftgo/weft/flow/agent/react"
	"github.com/weftgo/weft/schema"
)

func driver() {
	agent, err := react.NewAgent(drive.Context(), &react.AgentConfig{
		ToolCallingModel:      drive.ToolCaller(adktest.Calls(adktest.Call("look", "{}")), adktest.Streams("Do", "ne.")),
		ToolsConfig:           compose.ToolsNodeConfig{Tools: []tool.BaseTool{drive.Tool("look", adktest.Says("seen"))}},
		StreamToolCallChecker: firstChunkDecides,
	})
	drive.Check(err)
	answer, err := agent.Stream(drive.Context(), []*schema.Message{schema.UserMessage("Look.")})
	drive.Check(err)
	whole, err := schema.ConcatMessageStream(answer)
	drive.Check(err)
	drive.Equal(whole.Content, "Done.")
}
