package skill

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// activeModelKey is the run-local value with the name of the model that a skill asked for.
const activeModelKey = "__skill_active_model__"

type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	conf        TypedConfig[M]
	toolName    string
	instruction string
	// current is the tool of the last run. As long as its description stays the same runs share it, and with it
	// whatever the agent prepares for a set of tools.
	current atomic.Pointer[skillTool[M]]
}

// NewMiddleware makes the middleware for agents on ordinary messages.
func NewMiddleware(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped(ctx, config)
}

// NewTyped makes the middleware. It adds a text about skills to the instruction, and the tool that loads them. It
// fails if there is no backend; skills are first looked for when an agent runs. One middleware may serve any number of
// agents and runs at once.
func NewTyped[M adk.MessageType](
	ctx context.Context, config *TypedConfig[M],
) (adk.TypedChatModelAgentMiddleware[M], error) {
	m, err := newMiddleware(ctx, config)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// New makes the middleware in the form of early versions, which knows no hubs and builds nothing by functions of the
// user: of the configuration only Backend, SkillToolName, UseChinese, CustomSystemPrompt and CustomToolDescription
// count. The tool's description is made once for an agent.
//
// Deprecated: use [NewMiddleware].
func New(ctx context.Context, config *Config) (adk.AgentMiddleware, error) {
	if config != nil {
		config = &Config{
			Backend: config.Backend, SkillToolName: config.SkillToolName, UseChinese: config.UseChinese,
			CustomSystemPrompt: config.CustomSystemPrompt, CustomToolDescription: config.CustomToolDescription,
		}
	}
	m, err := newMiddleware(ctx, config)
	if err != nil {
		return adk.AgentMiddleware{}, err
	}
	return adk.AgentMiddleware{AdditionalInstruction: m.instruction, AdditionalTools: []tool.BaseTool{m.newTool("")}}, nil
}

func newMiddleware[M adk.MessageType](ctx context.Context, config *TypedConfig[M]) (*middleware[M], error) {
	conf, toolName, err := config.complete()
	if err != nil {
		return nil, err
	}
	m := &middleware[M]{conf: conf, toolName: toolName}
	if conf.CustomSystemPrompt != nil {
		m.instruction = conf.CustomSystemPrompt(ctx, toolName)
	} else {
		m.instruction = systemPrompt(toolName, conf.UseChinese)
	}
	return m, nil
}

// BeforeAgent adds the prompt and the tool.
func (m *middleware[M]) BeforeAgent(
	ctx context.Context, runCtx *adk.ChatModelAgentContext,
) (context.Context, *adk.ChatModelAgentContext, error) {
	if runCtx == nil {
		return ctx, nil, nil
	}
	changed := *runCtx
	changed.Instruction += "\n" + m.instruction
	changed.Tools = append(slices.Clip(runCtx.Tools), m.currentTool(ctx))
	return ctx, &changed, nil
}

// currentTool returns the tool for a run that starts now. If the skills cannot be listed it is a new one, whose Info
// returns the error.
func (m *middleware[M]) currentTool(ctx context.Context) *skillTool[M] {
	description, err := m.describe(ctx)
	if err != nil {
		return m.newTool("")
	}
	if t := m.current.Load(); t != nil && t.description == description {
		return t
	}
	t := m.newTool(description)
	m.current.Store(t)
	return t
}

// WrapModel replaces the model by the one that a skill of this run asked for.
func (m *middleware[M]) WrapModel(
	ctx context.Context, given model.BaseModel[M], _ *adk.TypedModelContext[M],
) (model.BaseModel[M], error) {
	if m.conf.ModelHub == nil {
		return given, nil
	}
	value, _, err := adk.GetRunLocalValue(ctx, activeModelKey)
	if err != nil {
		return nil, fmt.Errorf("failed to get active model from run local value: %w", err)
	}
	name, _ := value.(string)
	if name == "" {
		return given, nil
	}
	return m.modelNamed(ctx, name)
}

// modelNamed asks the hub, of which there must be one.
func (m *middleware[M]) modelNamed(ctx context.Context, name string) (model.BaseModel[M], error) {
	found, err := m.conf.ModelHub.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("failed to get model '%s' from ModelHub: %w", name, err)
	}
	if found == nil {
		return nil, fmt.Errorf("failed to get model '%s' from ModelHub: it returned neither a model nor an error", name)
	}
	return found, nil
}

var _ adk.TypedChatModelAgentMiddleware[*schema.AgenticMessage] = (*middleware[*schema.AgenticMessage])(nil)
