package adk

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// SendToolGenAction has the event of the current tool call carry an action. toolName is for callers outside a tool
// call. A tool that streams must call it before it returns its stream: once the event is out it is an error.
func SendToolGenAction(ctx context.Context, toolName string, action *AgentAction) error {
	if run := innermostRun(ctx); run != nil {
		run.noteAction(compose.GetToolCallID(ctx), action)
	}
	return sendToolGenAction(ctx, toolName, action)
}

// sendToolGenAction is SendToolGenAction for a call whose action is recorded already.
func sendToolGenAction(ctx context.Context, toolName string, action *AgentAction) error {
	key := compose.GetToolCallID(ctx)
	if key == "" {
		key = toolName
	}
	run, err := runForValues(ctx)
	if err == nil {
		set := func() error { return run.setAction(ctx, key, action) }
		if call := earlyCallIn(ctx, run); call != nil {
			err = call.holdAction(set)
		} else {
			err = set()
		}
	}
	if err != nil {
		return fmt.Errorf("SendToolGenAction failed: %w", err)
	}
	return nil
}

// ToolInfoExit describes [ExitTool].
var ToolInfoExit = &schema.ToolInfo{
	Name: "exit",
	Desc: "Exit the agent process and return the final result.",
	ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"final_result": {Desc: "the final result to return", Required: true, Type: schema.String},
	}),
}

// ExitTool lets a model end the run, with its arguments as the result. Set it as Exit of an agent's configuration.
type ExitTool struct{}

// Info returns [ToolInfoExit].
func (et ExitTool) Info(_ context.Context) (*schema.ToolInfo, error) { return ToolInfoExit, nil }

// Idempotent reports true: the call only says what is to come.
func (et ExitTool) Idempotent() bool { return true }

type exitArguments struct {
	FinalResult string `json:"final_result"`
}

// InvokableRun returns the final_result of the arguments, and gives the event of it an exit action.
func (et ExitTool) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	arguments, err := decodeArguments[exitArguments](ctx, ToolInfoExit, argumentsInJSON)
	if err != nil {
		return "", fmt.Errorf("arguments of the exit tool: %w", err)
	}
	if err := SendToolGenAction(ctx, ToolInfoExit.Name, NewExitAction()); err != nil {
		return "", err
	}
	return arguments.FinalResult, nil
}
