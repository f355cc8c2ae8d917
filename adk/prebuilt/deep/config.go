package deep

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/filesystem"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// TypedConfig configures [NewTyped]. Only ChatModel is required.
type TypedConfig[M adk.MessageType] struct {
	// Name and Description identify the agent in events, in callbacks and to other agents.
	Name, Description string
	// ChatModel answers, in the agent itself and in the general-purpose agent.
	ChatModel model.BaseModel[M]
	// Instruction is the system prompt; braces in it mean nothing. Default: the text of this package, in the language of
	// [adk.SetLanguage] at construction.
	Instruction string
	// SubAgents can be given tasks. One with the name general-purpose takes the place of the built-in agent.
	SubAgents []adk.TypedAgent[M]
	// ToolsConfig has tools of your own. The general-purpose agent has them, too. With EmitInternalEvents the events of
	// agents at work on a task appear among the events of this agent. ReportMistakes is always on.
	ToolsConfig adk.ToolsConfig
	// MaxIteration limits the turns of the model, for the agent and for each task. Default: the default of a
	// [adk.ChatModelAgent].
	MaxIteration int

	// Backend adds tools for files, Shell or StreamingShell a tool for commands. At most one shell may be set.
	Backend        filesystem.Backend
	Shell          filesystem.Shell
	StreamingShell filesystem.StreamingShell

	// WithoutWriteTodos leaves out the tool write_todos.
	WithoutWriteTodos bool
	// WithoutGeneralSubAgent leaves out the general-purpose agent. If there are no SubAgents either, there is no tool
	// task.
	WithoutGeneralSubAgent bool
	// TaskToolDescriptionGenerator writes what the model reads about the tool task. It is called whenever the tool is
	// asked, and must be safe for concurrent use. Default: a text of this package with the list of the agents.
	TaskToolDescriptionGenerator func(ctx context.Context, availableAgents []adk.TypedAgent[M]) (string, error)

	// Middlewares and Handlers change how the agent and the general-purpose agent work. Handlers come after the handlers
	// of this package: they see its tools.
	Middlewares []adk.AgentMiddleware
	Handlers    []adk.TypedChatModelAgentMiddleware[M]
	// ModelRetryConfig and ModelFailoverConfig say what happens when a call of the model fails, in both agents.
	ModelRetryConfig    *adk.TypedModelRetryConfig[M]
	ModelFailoverConfig *adk.ModelFailoverConfig[M]

	// OutputKey, if not empty, is the session value that a successful run leaves its last text in.
	OutputKey string
}

// Config configures [New].
//
// Its fields, which are documented at [TypedConfig]:
//
//   - Name, Description: identify the agent
//   - ChatModel: answers; required
//   - Instruction: the system prompt
//   - SubAgents: can be given tasks
//   - ToolsConfig: tools of your own
//   - MaxIteration: limits the turns of the model
//   - Backend: adds tools for files
//   - Shell, StreamingShell: add a tool for commands
//   - WithoutWriteTodos: leaves out the tool write_todos
//   - WithoutGeneralSubAgent: leaves out the general-purpose agent
//   - TaskToolDescriptionGenerator: writes what the model reads about the tool task
//   - Middlewares, Handlers: change how the agents work
//   - ModelRetryConfig, ModelFailoverConfig: what happens when a call of the model fails
//   - OutputKey: the session value that the last text is left in
type Config = TypedConfig[*schema.Message]

func (c *TypedConfig[M]) validate() error {
	switch {
	case c == nil:
		return errors.New("deep: the config is nil")
	case c.ChatModel == nil:
		return errors.New("deep: Config.ChatModel is required")
	}
	for i, a := range c.SubAgents {
		if a == nil {
			return fmt.Errorf("deep: Config.SubAgents[%d] is nil", i)
		}
	}
	return nil
}

// hasFiles reports whether there are tools for files or commands.
func (c *TypedConfig[M]) hasFiles() bool {
	return c.Backend != nil || c.Shell != nil || c.StreamingShell != nil
}
