package planexecute

import (
	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/schema"
)

var (
	// PlanToolInfo is the tool that a model calls to give a plan, unless a configuration has another.
	PlanToolInfo = schema.ToolInfo{
		Name: "plan",
		Desc: "Gives the plan: the steps to be done, in the order in which they are to be done. Each step says everything that is needed to do it.",
		ParamsOneOf: toolparams.Closed(map[string]*schema.ParameterInfo{
			"steps": {
				Type:     schema.Array,
				ElemInfo: &schema.ParameterInfo{Type: schema.String},
				Desc:     "the steps, in their order",
				Required: true,
			},
		}),
	}

	// RespondToolInfo is the tool that the replanner's model calls to end the run, unless a configuration has another.
	RespondToolInfo = schema.ToolInfo{
		Name: "respond",
		Desc: "Gives the answer to the user. Nothing is done after it.",
		ParamsOneOf: toolparams.Closed(map[string]*schema.ParameterInfo{
			"response": {Type: schema.String, Desc: "the complete answer to the user", Required: true},
		}),
	}
)
