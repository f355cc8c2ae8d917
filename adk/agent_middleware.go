package adk

import (
	"context"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
)

// AgentMiddleware changes how an agent works by functions and values. [ChatModelAgentMiddleware] can do more; an
// agent may have both.
type AgentMiddleware struct {
	// AdditionalInstruction is put behind the agent's instruction, after an empty line.
	AdditionalInstruction string
	// AdditionalTools are put behind the agent's tools.
	AdditionalTools []tool.BaseTool
	// BeforeChatModel may change the state before each turn of the model, before the hooks of any
	// [ChatModelAgentMiddleware]. Agents on ordinary messages only, as AfterChatModel.
	BeforeChatModel func(context.Context, *ChatModelAgentState) error
	// AfterChatModel may change the state after each turn of the model, after those hooks.
	AfterChatModel func(context.Context, *ChatModelAgentState) error
	// WrapToolCall wraps tool calls, inside ToolsConfig.ToolCallMiddlewares and outside any [ChatModelAgentMiddleware].
	WrapToolCall compose.ToolMiddleware
}
