// A program as the guides of Eino show it: nothing in it behaves differently.
package quiet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

type weatherRequest struct {
	City string `json:"city" jsonschema:"required,description=The city, e.g. Oslo"`
	Unit string `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit"`
}

func run(ctx context.Context, m model.ToolCallingChatModel) error {
	weather, err := utils.InferTool("weather", "says how the weather is",
		func(_ context.Context, r *weatherRequest) (string, error) { return "sunny in " + r.City, nil })
	if err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant", Description: "answers", Model: m,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{weather}}},
	})
	if err != nil {
		return err
	}
	handler := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			if info.Name == "assistant" {
				fmt.Println("start")
			}
			return ctx
		}).Build()
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	iter := runner.Query(ctx, "How is the weather?", adk.WithCallbacks(handler))
	for {
		event, ok := iter.Next()
		if !ok {
			return nil
		}
		if event.Err != nil && !strings.Contains(event.Err.Error(), "timeout") {
			return fmt.Errorf("the run failed: %w", event.Err)
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		stream := event.Output.MessageOutput.MessageStream
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			print(chunk)
		}
	}
}

func print(m *schema.Message) { fmt.Print(m.Content) }
