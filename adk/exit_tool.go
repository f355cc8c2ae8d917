package adk

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// ToolInfoExit describes [ExitTool].
var ToolInfoExit = &schema.ToolInfo{
	Name: "exit",
	Desc: "Exit the agent process and return the final result.",
	ParamsOneOf: toolparams.Closed(map[string]*schema.ParameterInfo{
		"final_result": {Desc: "the final result to return", Required: true, Type: schema.String},
	}),
}

func exitToolInfo() *schema.ToolInfo { return ToolInfoExit }

// ExitTool lets a model end the run, with its arguments as the result. Set it as Exit of an agent's configuration.
type ExitTool struct{}

// Info returns [ToolInfoExit].
func (et ExitTool) Info(_ context.Context) (*schema.ToolInfo, error) { return ToolInfoExit, nil }

// Idempotent reports true: the call only says what is to come.
func (et ExitTool) Idempotent() bool { return true }

// compile readies the decoder of the arguments, so that the first call does not wait for it.
func (et ExitTool) compile() { compileArguments[exitArguments]() }

type exitArguments struct {
	FinalResult string `json:"final_result"`
}

// InvokableRun returns the final_result of the arguments, and gives the event of it an exit action.
func (et ExitTool) InvokableRun(ctx context.Context, argumentsInJSON string, _ ...tool.Option) (string, error) {
	arguments, err := decodeArguments[exitArguments](ctx, exitToolInfo, argumentsInJSON)
	if err != nil {
		return "", fmt.Errorf("arguments of the exit tool: %w", err)
	}
	if err := SendToolGenAction(ctx, ToolInfoExit.Name, NewExitAction()); err != nil {
		return "", err
	}
	return arguments.FinalResult, nil
}
