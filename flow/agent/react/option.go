package react

import (
	"context"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
)

// WithToolOptions passes options to the tools.
func WithToolOptions(opts ...tool.Option) agent.AgentOption {
	return agent.WithComposeOptions(compose.WithToolsNodeOption(compose.WithToolOption(opts...)))
}

// WithChatModelOptions passes options to the model.
func WithChatModelOptions(opts ...model.Option) agent.AgentOption {
	return agent.WithComposeOptions(compose.WithChatModelOption(opts...))
}

// WithToolList replaces the tools that can be called, for one call of the agent. The model does not learn of them.
//
// Deprecated: use [WithTools].
func WithToolList(tools ...tool.BaseTool) agent.AgentOption {
	return agent.WithComposeOptions(compose.WithToolsNodeOption(compose.WithToolList(tools...)))
}

// WithTools returns the two options that replace the tools of the agent for one call: one for the model, one for the
// node that calls the tools. It asks every tool for its info; the error of one is returned as it is.
func WithTools(ctx context.Context, tools ...tool.BaseTool) ([]agent.AgentOption, error) {
	infos, err := toolInfos(ctx, tools)
	if err != nil {
		return nil, err
	}
	return []agent.AgentOption{WithChatModelOptions(model.WithTools(infos)), WithToolList(tools...)}, nil
}
