package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Names of the agents of the suite.
const (
	speaks   = "speaks"   // answers at once
	asks     = "asks"     // asks a person, and answers with the answer
	asksTwo  = "asks-two" // asks two at the same time
	sleeps   = "sleeps"   // sleeps for a moment
	delegate = "delegate" // waits for a run of asks
	works    = "works"    // works until the suite opens its gate
	fails    = "fails"
	stumbles = "stumbles" // fails once, in a way that passes
)

// scripted is a model that makes calls, and then says what they returned.
type scripted struct{ calls [][]string }

func (s *scripted) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	turn, last := 0, ""
	for _, m := range history {
		if m.Role == schema.Assistant && len(m.ToolCalls) > 0 {
			turn++
		}
		if m.Role == schema.Tool {
			last += " " + m.Content
		}
	}
	if turn == len(s.calls) {
		return schema.AssistantMessage("done:"+last, nil), nil
	}
	var calls []schema.ToolCall
	for i, name := range s.calls[turn] {
		calls = append(calls, schema.ToolCall{ID: fmt.Sprint("c", turn, "-", i),
			Function: schema.FunctionCall{Name: name, Arguments: `{"request":"do it"}`}})
	}
	return schema.AssistantMessage("", calls), nil
}

func (s *scripted) Stream(
	ctx context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := s.Generate(ctx, history)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

// passing is an error that says of itself that it passes.
type passing struct{ error }

func (passing) Retryable() bool { return true }

// toolOf makes a tool of a function.
func toolOf(name string, do func(ctx context.Context) (string, error)) tool.BaseTool {
	info := &schema.ToolInfo{Name: name, Desc: name, ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"request": {Type: schema.String}})}
	return utils.NewTool(info, func(ctx context.Context, _ struct{ Request string }) (string, error) { return do(ctx) },
		utils.WithIdempotent())
}

// question makes a tool that asks a person.
func question(name string, whom ...string) tool.BaseTool {
	return toolOf(name, func(ctx context.Context) (string, error) {
		if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
			return answer, nil
		}
		return "", tool.Interrupt(ctx, &ask{whom})
	})
}

// ask describes a question of the suite.
type ask struct{ Whom []string }

func (a *ask) Asks() runs.Question {
	return runs.Question{Kind: runs.KindQuestion, For: a.Whom, Text: "which one?"}
}

func init() { schema.RegisterName[*ask]("_weft_dispatchtest_ask") }

// agents makes the agents of the suite. gate is what the one that works waits at.
func agents(gate *gate) (dispatch.Agents, error) {
	all := dispatch.Agents{}
	var errs []error
	add := func(name string, tools []tool.BaseTool, calls ...[]string) {
		agent, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: name, Description: name,
			Model: &scripted{calls}, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}})
		errs = append(errs, err)
		all[name] = dispatch.RunnerOf(agent)
	}
	add(speaks, nil)
	add(asks, []tool.BaseTool{question("ask", "ana")}, []string{"ask"})
	add(asksTwo, []tool.BaseTool{question("left", "ana"), question("right", "bob")}, []string{"left", "right"})
	add(sleeps, []tool.BaseTool{toolOf("sleep", func(ctx context.Context) (string, error) {
		if err := dispatch.SleepFor(ctx, 300*time.Millisecond); err != nil {
			return "", err
		}
		return "slept", nil
	})}, []string{"sleep"})
	add(delegate, []tool.BaseTool{dispatch.AsRun(asks, "asks")}, []string{asks})
	add(works, []tool.BaseTool{toolOf("work", gate.pass), toolOf("rest", func(context.Context) (string, error) {
		return "rested", nil
	})}, []string{"work"}, []string{"rest"})
	add(fails, []tool.BaseTool{toolOf("fail", func(context.Context) (string, error) {
		return "", errors.New("no such order")
	})}, []string{"fail"})
	add(stumbles, []tool.BaseTool{toolOf("stumble", gate.stumble)}, []string{"stumble"})
	return all, errors.Join(errs...)
}
