package weft

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// Tool is something that a model may call: a [Func], an [Agent.Tool], or a tool made with components/tool.
type Tool = tool.BaseTool

// Func makes a tool of a function. The fields of In, a struct, are its parameters, described by their json and jsonschema
// tags (see components/tool/utils for all of them):
//
//	type Query struct {
//		City string `json:"city" jsonschema:"description=name of the city"`
//		Days int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=7,default=1"`
//	}
//
// A field without omitempty is required. What the model reads is the result: a string as it is, anything else as JSON; or
// the text of the error. If In cannot be described, or is no object in JSON, [New] fails. The function may be called by
// several goroutines at once.
func Func[In, Out any](name, description string, f func(ctx context.Context, in In) (Out, error)) Tool {
	if f == nil {
		return brokenTool{fmt.Errorf("tool %s: the function is nil", name)}
	}
	made, err := utils.InferTool(name, description, utils.InvokeFunc[In, Out](f))
	if err != nil {
		return brokenTool{err}
	}
	if err := takesAnObject(made); err != nil {
		return brokenTool{fmt.Errorf("tool %s: %w", name, err)}
	}
	return made
}

// takesAnObject refuses a tool whose arguments are a single value. Models send the arguments of a call as an object, so such
// a tool could never be called.
func takesAnObject(t Tool) error {
	info, err := t.Info(context.Background())
	if err != nil {
		return err
	}
	params, err := info.ParamsOneOf.ToJSONSchema()
	if err != nil {
		return err
	}
	if params != nil && params.Type != "" && params.Type != "object" {
		return fmt.Errorf("its argument is of type %s in JSON, where calls have objects: take a struct with a field for it",
			params.Type)
	}
	return nil
}

// brokenTool is a tool that could not be made. It says so when it is given to an agent.
type brokenTool struct{ err error }

func (b brokenTool) Info(context.Context) (*schema.ToolInfo, error) { return nil, b.err }

// Tool makes a tool of the agent: a call with a request runs it, and its answer is the result. Unlike one of
// [Config].Agents it does not see the conversation, and the calling agent keeps the word. It needs a Description.
func (a *Agent) Tool() Tool {
	return adk.NewAgentTool(context.Background(), a.ResumableAgent)
}
