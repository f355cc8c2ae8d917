package howto

import (
	"context"
	"fmt"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// How do I make a tool whose parameters I only know at run time?
//
// Describe it by hand, with parameters or a JSON schema, and take the arguments as a map.
func Example_tool_schema() {
	info := &schema.ToolInfo{Name: "set", Desc: "Sets a value.", ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"key": {Type: schema.String, Required: true}, "value": {Type: schema.Integer}})}
	set := utils.NewTool(info, func(_ context.Context, in map[string]any) (string, error) {
		return fmt.Sprintf("%v is %v", in["key"], in["value"]), nil
	})
	agent := must(weft.New(weft.Config{Model: answers(call("set", `{"key":"volume","value":11}`), "Loud."), Tools: []weft.Tool{set}}))
	fmt.Println(must(agent.Ask(context.Background(), "Louder!")).Messages[2].Content)
	// Output: volume is 11
}
