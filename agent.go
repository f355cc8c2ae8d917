package weft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/adk/middlewares/tooltimeout"
	"github.com/weftgo/weft/adk/middlewares/validhistory"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// Model is a chat model: the model of a provider, or any type with these two methods:
//
//	Generate(ctx context.Context, messages []*Message, opts ...model.Option) (*Message, error)
//	Stream(ctx context.Context, messages []*Message, opts ...model.Option) (*schema.StreamReader[*Message], error)
type Model = model.BaseChatModel

// Message is one message of a conversation: its Role and Content, and the ToolCalls of a model.
type Message = schema.Message

// Middleware changes how an agent works. Embed adk.BaseChatModelAgentMiddleware and override the hooks that you need;
// packages under adk/middlewares have ready-made ones.
type Middleware = adk.ChatModelAgentMiddleware

// Option is an option of one run: [After], [With], and what package adk has, such as adk.WithCallbacks and
// adk.WithSessionValues.
type Option = adk.AgentRunOption

// Config says what an agent is. Only Model is required.
type Config struct {
	// Name names the agent in events and errors, and to other agents. Default: "assistant".
	Name string
	// Description tells other agents what this one is good for. An agent that others hand over to needs one.
	Description string
	// Instruction is the system prompt.
	Instruction string
	// Model answers.
	Model Model
	// Fallbacks answer where Model fails, also in the middle of an answer: one after the other, in this order. The one that
	// answers stays for the rest of the run.
	Fallbacks []Model
	// Tools lists the tools that the model may call. See [Func].
	Tools []Tool
	// Approve has the names of tools whose calls wait for approval.
	Approve []string
	// ToolTimeout limits how long a call of a tool may take. A call that takes longer is given up, and the model reads so.
	// Default: no limit.
	ToolTimeout time.Duration
	// Agents are the agents that this one may hand over to, and that may hand back to it.
	Agents []*Agent
	// Middlewares change how the agent works; the first is the outermost.
	Middlewares []Middleware
	// MaxTurns limits how often models are called for one question: the model of this agent and, if this agent is the one
	// that is asked, the models of all agents together that it hands over to. Agents that are tools have limits of their
	// own. Default: 20.
	MaxTurns int
	// LimitAnswer is the answer if MaxTurns is reached. Default: none, it is an error that wraps adk.ErrExceedMaxIterations.
	LimitAnswer string
	// Logger gets warnings of runs. Default: none.
	Logger *slog.Logger
	// Adjust, if set, has the last word on the configuration of the agent below.
	Adjust func(*adk.ChatModelAgentConfig)
}

// Agent answers questions with a model and tools. It is immutable, and safe for concurrent use by any number of runs. It
// implements adk.ResumableAgent: package adk executes [Agent.ADK] in its place.
type Agent struct {
	adk.ResumableAgent
	config Config
	// wrapped is set instead of config.Model for an agent of [Wrap].
	wrapped adk.Agent
	// whole and streaming run the agent, without and with streaming.
	whole, streaming *adk.Runner
	// typed are agents that end with a value, by its type.
	typed sync.Map // reflect.Type → *typedAgent[T]
}

// New makes an agent. It fails if the configuration is wrong: there is no model, a tool cannot be described, two tools
// or agents share a name, an approval is for a tool that there is not.
func New(config Config) (*Agent, error) {
	if config.Name == "" {
		config.Name = "assistant"
	}
	if err := config.check(); err != nil {
		return nil, fmt.Errorf("weft.New: agent '%s': %w", config.Name, oneLine(err))
	}
	return assemble(&Agent{config: config})
}

// Wrap makes an Agent of any agent of package adk, with what this package has around it: a workflow, a deep agent, one
// with settings of your own.
func Wrap(agent adk.Agent) (*Agent, error) {
	if isNil(agent) {
		return nil, errors.New("weft.Wrap: the agent is nil")
	}
	if own, ok := agent.(*Agent); ok {
		return own, nil
	}
	return assemble(&Agent{wrapped: agent})
}

func assemble(a *Agent) (*Agent, error) {
	built, err := a.build(context.Background())
	if err != nil {
		return nil, fmt.Errorf("weft.New: agent '%s': %w", a.config.Name, oneLine(err))
	}
	resumable, ok := built.(adk.ResumableAgent)
	if !ok {
		resumable = notResumable{built}
	}
	a.ResumableAgent = resumable
	a.whole, a.streaming = a.runner(inAnswers{}, false), a.runner(inAnswers{}, true)
	return a, nil
}

// ADK returns the agent of package adk that does the work: for a runner of your own, a turn loop, an agent tool. It must
// not be given sub-agents; those are [Config].Agents.
func (a *Agent) ADK() adk.ResumableAgent { return a.ResumableAgent }

func (a *Agent) runner(store adk.CheckPointStore, streaming bool) *adk.Runner {
	return adk.NewRunner(context.Background(), adk.RunnerConfig{
		Agent: a.ResumableAgent, CheckPointStore: store, EnableStreaming: streaming, Logger: a.config.Logger,
	})
}

func (c *Config) check() error {
	if isNil(c.Model) {
		return errors.New("there is no model: set Config.Model")
	}
	if slices.ContainsFunc(c.Fallbacks, isNil[Model]) {
		return errors.New("a model of Config.Fallbacks is nil")
	}
	if slices.ContainsFunc(c.Middlewares, isNil[Middleware]) {
		return errors.New("a middleware of Config.Middlewares is nil")
	}
	if c.MaxTurns < 0 {
		return fmt.Errorf("Config.MaxTurns is %d", c.MaxTurns)
	}
	if c.ToolTimeout < 0 {
		return fmt.Errorf("Config.ToolTimeout is %s", c.ToolTimeout)
	}
	if err := c.checkTools(); err != nil {
		return err
	}
	return c.checkAgents()
}

func (c *Config) checkTools() error {
	names := map[string]bool{}
	for i, t := range c.Tools {
		if isNil(t) {
			return fmt.Errorf("tool %d of Config.Tools is nil", i)
		}
		info, err := t.Info(context.Background())
		switch {
		case err != nil:
			return err
		case info == nil || info.Name == "":
			return fmt.Errorf("tool %d of Config.Tools has no name", i)
		case names[info.Name]:
			return fmt.Errorf("there are two tools '%s'", info.Name)
		}
		names[info.Name] = true
	}
	for _, name := range c.Approve {
		// A middleware may have tools, too.
		if !names[name] && len(c.Middlewares) == 0 && c.Adjust == nil {
			return fmt.Errorf("Config.Approve: there is no tool '%s'", name)
		}
	}
	return nil
}

func (c *Config) checkAgents() error {
	names := map[string]bool{c.Name: true}
	for i, other := range c.Agents {
		if other == nil {
			return fmt.Errorf("agent %d of Config.Agents is nil", i)
		}
		name := other.Name(context.Background())
		if names[name] {
			return fmt.Errorf("there are two agents '%s': set Config.Name", name)
		}
		names[name] = true
		if other.Description(context.Background()) == "" {
			return fmt.Errorf("agent '%s' has no Description, so a model cannot know when to hand over to it", name)
		}
	}
	return nil
}

// build makes the agent of adk with the agents below it. Each use of an agent has its own, because an agent of adk has
// one place among others.
func (a *Agent) build(ctx context.Context) (adk.Agent, error) {
	if a.wrapped != nil {
		return a.wrapped, nil
	}
	config, err := a.config.lower(ctx)
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, config)
	if err != nil || len(a.config.Agents) == 0 {
		return agent, err
	}
	others := make([]adk.Agent, len(a.config.Agents))
	for i, other := range a.config.Agents {
		if others[i], err = other.build(ctx); err != nil {
			return nil, err
		}
	}
	return adk.SetSubAgents(ctx, agent, others)
}

// lower is the configuration of the agent of adk.
func (c *Config) lower(ctx context.Context) (*adk.ChatModelAgentConfig, error) {
	handlers, err := c.handlers(ctx)
	if err != nil {
		return nil, err
	}
	lowered := &adk.ChatModelAgentConfig{
		Name: c.Name, Description: c.Description, Instruction: c.Instruction, Model: validhistory.Model(c.Model, nil),
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: slices.Clone(c.Tools)}, ReportMistakes: true,
		},
		MaxIterations: c.MaxTurns, SharedIterations: true, Handlers: handlers, ModelFailoverConfig: c.failover(),
	}
	if c.Adjust != nil {
		c.Adjust(lowered)
	}
	return lowered, nil
}

func (c *Config) handlers(ctx context.Context) ([]Middleware, error) {
	var handlers []Middleware
	if len(c.Approve) > 0 {
		asks, err := approval.New(ctx, &approval.Config{Tools: slices.Clone(c.Approve)})
		if err != nil {
			return nil, err
		}
		handlers = append(handlers, asks)
	}
	handlers = append(handlers, c.Middlewares...)
	reports, err := toolerrors.New(ctx, nil)
	handlers = append(handlers, reports)
	if err == nil && c.ToolTimeout > 0 {
		var limits Middleware
		limits, err = tooltimeout.New(ctx, &tooltimeout.Config{Timeout: c.ToolTimeout})
		handlers = append(handlers, limits)
	}
	return handlers, err
}

func (c *Config) failover() *adk.ModelFailoverConfig[*Message] {
	if len(c.Fallbacks) == 0 {
		return nil
	}
	var models []Model
	for _, m := range c.Fallbacks {
		models = append(models, validhistory.Model(m, nil))
	}
	return &adk.ModelFailoverConfig[*Message]{
		MaxRetries:     uint(len(models)),
		ShouldFailover: func(ctx context.Context, _ *Message, err error) bool { return ctx.Err() == nil },
		GetFailoverModel: func(_ context.Context, f *adk.FailoverContext[*Message]) (Model, []*Message, error) {
			return models[f.FailoverAttempt-1], nil, nil
		},
	}
}

// notResumable is an agent that cannot continue an interrupted run.
type notResumable struct{ adk.Agent }

func (n notResumable) Resume(ctx context.Context, _ *adk.ResumeInfo, _ ...Option) *adk.AsyncIterator[*adk.AgentEvent] {
	events, out := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	out.Send(&adk.AgentEvent{Err: fmt.Errorf("agent '%s' cannot be resumed: it does not implement adk.ResumableAgent", n.Name(ctx))})
	out.Close()
	return events
}

// isNil reports whether v is nil, or a nil pointer in an interface.
func isNil[T any](v T) bool {
	r := reflect.ValueOf(&v).Elem()
	if r.Kind() == reflect.Interface {
		r = r.Elem()
	}
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map:
		return r.IsNil()
	}
	return false
}
