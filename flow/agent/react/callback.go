package react

import (
	"github.com/weftgo/weft/callbacks"
	template "github.com/weftgo/weft/utils/callbacks"
)

// BuildAgentCallback makes one handler of a handler for the model of an agent and one for its tools; either may be
// nil. Pass it with agent.WithComposeOptions(compose.WithCallbacks(handler)).
func BuildAgentCallback(
	modelHandler *template.ModelCallbackHandler, toolHandler *template.ToolCallbackHandler,
) callbacks.Handler {
	return template.NewHandlerHelper().ChatModel(modelHandler).Tool(toolHandler).Handler()
}
