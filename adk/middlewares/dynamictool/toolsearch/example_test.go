package toolsearch_test

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/dynamictool/toolsearch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
)

// Tools that are hidden are found by words.
func Example() {
	ctx := context.Background()
	hidden := func(name, desc string) tool.BaseTool {
		t, err := utils.InferTool(name, desc, func(context.Context, struct{}) (string, error) { return "", nil })
		if err != nil {
			panic(err)
		}
		return t
	}
	m, err := toolsearch.New(ctx, &toolsearch.Config{DynamicTools: []tool.BaseTool{
		hidden("slack_send_message", "Sends a message to a channel."),
		hidden("slack_list_channels", "Lists the channels."),
		hidden("github__create_issue", "Opens an issue."),
	}})
	if err != nil {
		panic(err)
	}
	_, run, err := m.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
	if err != nil {
		panic(err)
	}
	found, err := run.Tools[0].(tool.InvokableTool).InvokableRun(ctx, `{"query":"+slack send"}`)
	if err != nil {
		panic(err)
	}
	fmt.Println(found)
	// Output: {"matches":["slack_send_message","slack_list_channels"]}
}
