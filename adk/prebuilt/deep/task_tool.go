package deep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/internal/toolparams"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/json"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// generalAgentName is the agent for tasks that no other agent is made for.
const generalAgentName = "general-purpose"

// taskTool lets the model give tasks to agents.
type taskTool[M adk.MessageType] struct {
	agents   []adk.TypedAgent[M]
	byName   map[string]tool.InvokableTool
	describe func(ctx context.Context, agents []adk.TypedAgent[M]) (string, error)
}

func newTaskTool[M adk.MessageType](
	ctx context.Context, c *TypedConfig[M], handlers []adk.TypedChatModelAgentMiddleware[M],
) (*taskTool[M], error) {
	t := &taskTool[M]{byName: map[string]tool.InvokableTool{}, describe: c.TaskToolDescriptionGenerator}
	if t.describe == nil {
		t.describe = taskDescription[M]
	}
	for _, agent := range c.SubAgents {
		if err := t.add(ctx, agent); err != nil {
			return nil, err
		}
	}
	if c.WithoutGeneralSubAgent || t.byName[generalAgentName] != nil {
		return t, nil
	}
	general := c.agent(append(slices.Clip(handlers), c.Handlers...))
	general.Name, general.Description = generalAgentName, language.Select(generalAgentDesc, generalAgentDescChinese)
	agent, err := adk.NewTypedChatModelAgent(ctx, general)
	if err != nil {
		return nil, fmt.Errorf("agent '%s': %w", generalAgentName, err)
	}
	return t, t.add(ctx, agent)
}

// add offers an agent.
func (t *taskTool[M]) add(ctx context.Context, agent adk.TypedAgent[M]) error {
	name := agent.Name(ctx)
	switch {
	case name == "":
		return fmt.Errorf("sub-agent at index %d has no name: the model chooses agents by name", len(t.agents))
	case t.byName[name] != nil:
		return fmt.Errorf("two sub-agents have the name %q: give each its own", name)
	}
	asTool, ok := adk.NewTypedAgentTool(ctx, agent).(tool.InvokableTool)
	if !ok {
		return fmt.Errorf("agent '%s' cannot be called as a tool", name)
	}
	t.agents = append(t.agents, agent)
	t.byName[name] = asTool
	return nil
}

// taskDescription is the default description.
func taskDescription[M adk.MessageType](ctx context.Context, agents []adk.TypedAgent[M]) (string, error) {
	var list strings.Builder
	for _, a := range agents {
		fmt.Fprintf(&list, "- %s: %s\n", a.Name(ctx), a.Description(ctx))
	}
	return strings.Replace(language.Select(taskDesc, taskDescChinese), "{other_agents}", list.String(), 1), nil
}

// AgentsInside shows the agents to package adk/picture.
func (t *taskTool[M]) AgentsInside() []adk.TypedAgent[M] { return slices.Clone(t.agents) }

// GetType returns "taskTool".
func (t *taskTool[M]) GetType() string { return "taskTool" }

// Info describes the tool and the agents.
func (t *taskTool[M]) Info(ctx context.Context) (*schema.ToolInfo, error) {
	desc, err := t.describe(ctx, slices.Clone(t.agents))
	if err != nil {
		return nil, fmt.Errorf("the description of the task tool: %w", err)
	}
	return &schema.ToolInfo{Name: "task", Desc: desc, ParamsOneOf: taskParams()}, nil
}

func taskParams() *schema.ParamsOneOf {
	return toolparams.Closed(map[string]*schema.ParameterInfo{
		"subagent_type": {Type: schema.String, Required: true, Desc: language.Select(
			"the name of the agent that is to do the task", "执行任务的子智能体名称")},
		"description": {Type: schema.String, Required: true, Desc: language.Select(
			"the task, with everything that the agent has to know", "任务内容，包含子智能体需要了解的一切信息")},
	})
}

// RecordsSteps says that a task continues where it was when the process died: its steps are recorded with the steps of
// the agent.
func (t *taskTool[M]) RecordsSteps() {}

var _ core.RecordsSteps = (*taskTool[adk.Message])(nil)

type taskArguments struct {
	SubagentType string `json:"subagent_type"`
	Description  string `json:"description"`
}

// notFound is the error of a task for an agent that there is not. It says what the model has to write.
func (t *taskTool[M]) notFound(ctx context.Context, name string) error {
	var names []string
	for _, a := range t.agents {
		names = append(names, a.Name(ctx))
	}
	problem := fmt.Sprintf("subagent type %s not found, the types are %s", name, strings.Join(names, ", "))
	return &tool.ArgumentsError{Problems: []string{problem}}
}

// InvokableRun has an agent do a task.
func (t *taskTool[M]) InvokableRun(ctx context.Context, argumentsInJSON string, opts ...tool.Option) (string, error) {
	info := &schema.ToolInfo{ParamsOneOf: taskParams()}
	task, err := utils.DecodeArguments[taskArguments](ctx, info, argumentsInJSON, false)
	if err != nil {
		return "", fmt.Errorf("failed to unmarshal task tool input json: %w", err)
	}
	agent := t.byName[task.SubagentType]
	if agent == nil {
		return "", t.notFound(ctx, task.SubagentType)
	}
	request, err := json.MarshalString(map[string]string{"request": task.Description})
	if err != nil {
		return "", err
	}
	return agent.InvokableRun(ctx, request, opts...)
}
