package react

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// The default names of the graph and of the nodes of an agent, as callback handlers see them in RunInfo.Name.
const (
	GraphName     = "ReActAgent"
	ModelNodeName = "ChatModel"
	ToolsNodeName = "Tools"
)

// MessageModifier makes the messages for a model of the messages there are.
type MessageModifier func(ctx context.Context, input []*schema.Message) []*schema.Message

// AgentConfig configures an [Agent]. It is not used any more once NewAgent has returned, and may make several agents.
type AgentConfig struct {
	// ToolCallingModel is the model. Either it or Model must be set.
	ToolCallingModel model.ToolCallingChatModel
	// Model is the model, if there is no ToolCallingModel. NewAgent binds the tools to it, which changes it.
	//
	// Deprecated: use ToolCallingModel.
	//lint:ignore SA1019 the API still has it
	Model model.ChatModel
	// ToolsConfig has the tools and how they are called. There may be none.
	ToolsConfig compose.ToolsNodeConfig
	// MessageModifier changes what one call of the model gets, such as by a system message in front. It gets a copy of
	// the history; what it returns is not kept.
	MessageModifier MessageModifier
	// MessageRewriter changes the history before every call of the model, such as to make it shorter: what it returns
	// is kept. It runs before MessageModifier.
	MessageRewriter MessageModifier
	// MaxStep limits the steps of a run: a call of the model is one, so are the tools it called. 0 means 13 steps, that
	// is 7 calls of the model. A run that needs more fails with compose.ErrExceedMaxSteps.
	MaxStep int `json:"max_step"`
	// ToolReturnDirectly names tools whose result is the result of the run; the model is not asked again. If a message
	// calls several of them, all run, and the first one counts.
	ToolReturnDirectly map[string]struct{}
	// StreamToolCallChecker reports whether a streamed answer of the model calls tools. It should close the stream.
	// The default reads until the first tool call, wherever in the answer that is, or to the end, and Stream passes on
	// what it reads while that is only text: see [Agent.Stream]. A graph of ExportGraph does not: its result begins when
	// the checker has decided. A checker that decides on the first chunk lets it begin at once, but is right only with
	// models that never say anything before they call a tool.
	StreamToolCallChecker func(ctx context.Context, modelOutput *schema.StreamReader[*schema.Message]) (bool, error)

	// GraphName, ModelNodeName and ToolsNodeName are what callback handlers see. The defaults are the constants of
	// this package.
	GraphName     string
	ModelNodeName string
	ToolsNodeName string
}

// completed returns a checked copy of the configuration that has all defaults.
func (c *AgentConfig) completed() (*AgentConfig, error) {
	if c == nil {
		return nil, errors.New("react agent: the config is nil")
	}
	if c.MaxStep < 0 {
		return nil, fmt.Errorf("react agent: max run steps limit must be at least 1, MaxStep is %d (0 means the default)",
			c.MaxStep)
	}
	full := *c
	full.ToolReturnDirectly = maps.Clone(c.ToolReturnDirectly)
	full.GraphName = cmp.Or(c.GraphName, GraphName)
	full.ModelNodeName = cmp.Or(c.ModelNodeName, ModelNodeName)
	full.ToolsNodeName = cmp.Or(c.ToolsNodeName, ToolsNodeName)
	return &full, nil
}

// NewPersonaModifier returns a modifier that puts a system message in front.
//
// Deprecated: write the modifier yourself, or put the system message into the input.
func NewPersonaModifier(persona string) MessageModifier {
	return func(_ context.Context, input []*schema.Message) []*schema.Message {
		return slices.Concat([]*schema.Message{schema.SystemMessage(persona)}, input)
	}
}

// toolInfos asks every tool what it is.
func toolInfos(ctx context.Context, tools []tool.BaseTool) ([]*schema.ToolInfo, error) {
	infos := make([]*schema.ToolInfo, len(tools))
	for i, t := range tools {
		var err error
		if infos[i], err = toolInfo(ctx, t); err != nil {
			return nil, err
		}
		if infos[i] == nil {
			return nil, fmt.Errorf("the tool at index %d is nil or returned neither an info nor an error", i)
		}
	}
	return infos, nil
}

func toolInfo(ctx context.Context, t tool.BaseTool) (info *schema.ToolInfo, err error) {
	defer safe.Recover(&err)
	if t == nil {
		return nil, nil
	}
	return t.Info(ctx)
}
