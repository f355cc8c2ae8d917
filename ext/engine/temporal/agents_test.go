package temporalengine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// inTurn is a model that calls tools, one after the other, and then says what the last one returned.
type inTurn []string

func (m inTurn) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	done, last := 0, ""
	for _, message := range history {
		if message.Role == schema.Tool {
			done, last = done+1, message.Content
		}
	}
	if done == len(m) {
		return schema.AssistantMessage("done: "+last, nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint("c", done),
		Function: schema.FunctionCall{Name: m[done], Arguments: `{"request":"do it"}`}}}), nil
}

func (m inTurn) Stream(
	ctx context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	message, err := m.Generate(ctx, history)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{message}), nil
}

// toolNamed makes a tool of a function. It may be called again.
func toolNamed(name string, do func(ctx context.Context) (string, error)) tool.BaseTool {
	info := &schema.ToolInfo{Name: name, Desc: name, ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"request": {Type: schema.String}})}
	return utils.NewTool(info, func(ctx context.Context, _ struct{ Request string }) (string, error) { return do(ctx) },
		utils.WithIdempotent())
}

// agentOf makes an agent that calls its tools, one after the other.
func agentOf(t *testing.T, tools ...tool.BaseTool) dispatch.TypedRunnerFunc[*schema.Message] {
	t.Helper()
	var names inTurn
	for _, made := range tools {
		info, err := made.Info(t.Context())
		require.NoError(t, err)
		names = append(names, info.Name)
	}
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: names,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}})
	require.NoError(t, err)
	return dispatch.RunnerOf(agent)
}

// says is a tool that always says the same.
func says(name, text string) tool.BaseTool {
	return toolNamed(name, func(context.Context) (string, error) { return text, nil })
}

// asks returns a tool that asks a person.
func asks(name string) tool.BaseTool {
	return toolNamed(name, func(ctx context.Context) (string, error) {
		if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
			return answer, nil
		}
		return "", tool.Interrupt(ctx, "which one?")
	})
}

// slow is a tool that works until the test lets it.
type slow struct{ entered, open chan struct{} }

func newSlow() *slow { return &slow{make(chan struct{}, 16), make(chan struct{})} }

func (s *slow) tool(name string) tool.BaseTool {
	return toolNamed(name, func(ctx context.Context) (string, error) {
		s.entered <- struct{}{}
		select {
		case <-s.open:
			return "worked", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

func jobOf(id, agent string) dispatch.Job {
	return dispatch.Job{ID: id, Agent: agent, Messages: []*schema.Message{schema.UserMessage("the secret is: go")}}
}
