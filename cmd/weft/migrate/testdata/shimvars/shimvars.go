// A program that has prompts of its own for planning.
package shimvars

import (
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/planexecute"
	"github.com/cloudwego/eino/components/prompt"
	"github.com/cloudwego/eino/schema"
	weft "github.com/weftgo/weft/adk/prebuilt/planexecute"
)

func init() {
	mine := prompt.FromMessages(schema.FString, schema.SystemMessage("Plan in three steps."))
	planexecute.PlannerPrompt = mine               // want `planexecute.PlannerPrompt is a copy.*: assign to that of github.com/weftgo/weft/adk/prebuilt/planexecute`
	planexecute.PlanToolInfo.Desc = "Gives a plan" // want `planexecute.PlanToolInfo is a copy`
	weft.PlannerPrompt = mine
	adk.ToolInfoExit.Desc = "Ends the talk." // what it points to is Weft's
	planner := &planexecute.PlannerPrompt    // want `planexecute.PlannerPrompt is a copy, and what is written through this pointer`
	*planner = mine
	local := planexecute.PlannerPrompt
	_ = local
}
