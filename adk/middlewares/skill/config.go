package skill

import (
	"context"
	"errors"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// TypedAgentHubOptions describes the agent that is asked for.
type TypedAgentHubOptions[M adk.MessageType] struct {
	// Model is the one that the skill asks for, nil if it asks for none.
	Model model.BaseModel[M]
}

// AgentHubOptions describes the agent on ordinary messages that is asked for.
//
// Its fields, which are documented at [TypedAgentHubOptions]:
//
//   - Model: the one that the skill asks for, nil if it asks for none
type AgentHubOptions = TypedAgentHubOptions[*schema.Message]

// TypedAgentHub has the agents that carry out forked skills.
type TypedAgentHub[M adk.MessageType] interface {
	// Get returns an agent. The name is the one in the skill's front matter, "" if it has none; opts is never nil.
	Get(ctx context.Context, name string, opts *TypedAgentHubOptions[M]) (adk.TypedAgent[M], error)
}

// AgentHub is a hub of agents on ordinary messages.
//
// Its methods, which are documented at [TypedAgentHub]:
//
//   - Get: returns the agent of a name
type AgentHub = TypedAgentHub[*schema.Message]

// TypedModelHub has the models that skills ask for.
type TypedModelHub[M adk.MessageType] interface {
	// Get returns a model by the name in a skill's front matter.
	Get(ctx context.Context, name string) (model.BaseModel[M], error)
}

// ModelHub is a hub of models on ordinary messages.
//
// Its methods, which are documented at [TypedModelHub]:
//
//   - Get: returns the model of a name
type ModelHub = TypedModelHub[*schema.Message]

// SystemPromptFunc returns the text that is put behind the agent's instruction. It is called once, at construction.
type SystemPromptFunc func(ctx context.Context, toolName string) string

// ToolDescriptionFunc returns the description of the tool. It is called at the start of each run.
type ToolDescriptionFunc func(ctx context.Context, skills []FrontMatter) string

// TypedSubAgentInput holds the material for the messages of an agent that carries out a skill.
type TypedSubAgentInput[M adk.MessageType] struct {
	Skill Skill
	Mode  ContextMode
	// RawArguments are the arguments of the tool call, as the model wrote them.
	RawArguments string
	// SkillContent is the result that the tool would return if the skill were not forked.
	SkillContent string
	// History is the conversation up to the tool call, a slice of its own. Only with [ContextModeForkWithContext], as
	// ToolCallID.
	History    []M
	ToolCallID string
}

// SubAgentInput is a TypedSubAgentInput with ordinary messages.
//
// Its fields, which are documented at [TypedSubAgentInput]:
//
//   - Skill, Mode: the skill, and how it is carried out
//   - RawArguments: the arguments of the tool call
//   - SkillContent: what the tool would return if the skill were not forked
//   - History, ToolCallID: the conversation up to the call, with [ContextModeForkWithContext] only
type SubAgentInput = TypedSubAgentInput[*schema.Message]

// TypedSubAgentOutput is the output of an agent that carried out a skill.
type TypedSubAgentOutput[M adk.MessageType] struct {
	Skill        Skill
	Mode         ContextMode
	RawArguments string
	// Messages are all messages of the agent, Results their texts without the empty ones.
	Messages []M
	Results  []string
}

// SubAgentOutput is a TypedSubAgentOutput with ordinary messages.
//
// Its fields, which are documented at [TypedSubAgentOutput]:
//
//   - Skill, Mode, RawArguments: as in [SubAgentInput]
//   - Messages: all messages of the agent
//   - Results: their texts
type SubAgentOutput = TypedSubAgentOutput[*schema.Message]

// TypedConfig configures [NewTyped]. Only Backend is required. What is set may be called by several runs at once.
type TypedConfig[M adk.MessageType] struct {
	// Backend knows the skills.
	Backend Backend
	// SkillToolName is the name of the tool. Default "skill".
	SkillToolName *string
	// UseChinese has the built-in system prompt in Chinese, whatever the language of the process.
	UseChinese bool

	// AgentHub has the agents for forked skills. Without it a forked skill is an error when it is called.
	AgentHub TypedAgentHub[M]
	// ModelHub has the models that skills ask for. Without it a skill that is not forked continues with the model there
	// is, and a forked one that asks for a model is an error.
	ModelHub TypedModelHub[M]

	// CustomSystemPrompt replaces the text that is put behind the instruction. Default: the text of this package.
	CustomSystemPrompt SystemPromptFunc
	// CustomToolDescription replaces the description of the tool. Default: a text of this package with the names and
	// descriptions of all skills.
	CustomToolDescription ToolDescriptionFunc
	// CustomToolParams adds to the tool's parameters. It gets the default ones and returns all; nil leaves them as
	// they are. The parameter "skill" is always there and required.
	CustomToolParams func(ctx context.Context,
		defaults map[string]*schema.ParameterInfo,
	) (map[string]*schema.ParameterInfo, error)
	// BuildContent makes what the model gets of a skill that it called with rawArgs. Default: the name, the directory and
	// the text of the skill.
	BuildContent func(ctx context.Context, skill Skill, rawArgs string) (string, error)
	// BuildForkMessages makes the messages for an agent that carries out a skill. Default: the skill's text as a
	// message of the user; with [ContextModeForkWithContext] the history and the skill's text as the tool's result.
	BuildForkMessages func(ctx context.Context, in TypedSubAgentInput[M]) ([]M, error)
	// FormatForkResult makes the tool's result of what the agent came up with. Default: all results.
	FormatForkResult func(ctx context.Context, in TypedSubAgentOutput[M]) (string, error)
}

// Config is the configuration for agents on ordinary messages.
//
// Its fields, which are documented at [TypedConfig]:
//
//   - Backend: knows the skills; required
//   - SkillToolName: the name of the tool; default "skill"
//   - UseChinese: has the system prompt in Chinese
//   - AgentHub: the agents for forked skills
//   - ModelHub: the models that skills ask for
//   - CustomSystemPrompt: replaces the text behind the instruction
//   - CustomToolDescription, CustomToolParams: change what the model reads about the tool
//   - BuildContent: makes what the model gets of a skill
//   - BuildForkMessages: makes the messages for an agent that carries out a skill
//   - FormatForkResult: makes the tool's result of what that agent came up with
type Config = TypedConfig[*schema.Message]

const defaultToolName = "skill"

// complete returns a copy whose hubs are set or nil, and the name of the tool.
func (c *TypedConfig[M]) complete() (own TypedConfig[M], toolName string, err error) {
	switch {
	case c == nil:
		return own, "", errors.New("config is required")
	case typednil.Is(c.Backend):
		return own, "", errors.New("backend is required")
	}
	own = *c
	if typednil.Is(own.AgentHub) {
		own.AgentHub = nil
	}
	if typednil.Is(own.ModelHub) {
		own.ModelHub = nil
	}
	toolName = defaultToolName
	if c.SkillToolName != nil && *c.SkillToolName != "" {
		toolName = *c.SkillToolName
	}
	return own, toolName, nil
}
