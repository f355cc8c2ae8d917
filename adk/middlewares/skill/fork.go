package skill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/message"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/schema"
)

// A fork is a skill that another agent carries out.
type fork[M adk.MessageType] struct {
	*middleware[M]
	skill     Skill
	arguments string
}

// run has the skill carried out as a tool that is an agent is: interrupts of the agent interrupt the call, and a resume
// continues in the agent.
func (f *fork[M]) run(ctx context.Context) (string, error) {
	agent, err := f.agent(ctx)
	if err != nil {
		return "", err
	}
	w := &worker[M]{TypedAgent: agent, skill: f.skill.Name}
	if _, resumed, _ := tool.GetInterruptState[[]byte](ctx); !resumed { // another state belongs to a wrapper
		if w.messages, err = f.messages(ctx); err != nil {
			return "", err
		}
	}
	_, err = adk.NewTypedAgentTool[M](ctx, w).(tool.InvokableTool).InvokableRun(ctx, `{}`)
	messages, results, failed := w.outcome()
	if failed != nil {
		return "", failed
	}
	if err != nil && !w.silent() {
		return "", err
	}
	out := TypedSubAgentOutput[M]{Skill: f.skill, Mode: f.skill.Context, RawArguments: f.arguments, Messages: messages,
		Results: results}
	if f.conf.FormatForkResult == nil {
		return fmt.Sprintf(language.Select(forkResult, forkResultChinese), f.skill.Name, strings.Join(out.Results, "\n")), nil
	}
	result, err := f.conf.FormatForkResult(ctx, out)
	if err != nil {
		return "", fmt.Errorf("failed to format fork result: %w", err)
	}
	return result, nil
}

// agent asks the hubs for who carries out the skill.
func (f *fork[M]) agent(ctx context.Context) (adk.TypedAgent[M], error) {
	if f.conf.AgentHub == nil {
		return nil, fmt.Errorf("skill '%s' requires context:%s but AgentHub is not configured", f.skill.Name, f.skill.Context)
	}
	opts := &TypedAgentHubOptions[M]{}
	if f.skill.Model != "" {
		if f.conf.ModelHub == nil {
			return nil, fmt.Errorf("skill '%s' requires model '%s' but ModelHub is not configured", f.skill.Name, f.skill.Model)
		}
		var err error
		if opts.Model, err = f.modelNamed(ctx, f.skill.Model); err != nil {
			return nil, err
		}
	}
	agent, err := f.conf.AgentHub.Get(ctx, f.skill.Agent, opts)
	if err == nil && typednil.Is(agent) {
		err = errors.New("it returned neither an agent nor an error")
	}
	if err != nil {
		return nil, fmt.Errorf("failed to get agent '%s' from AgentHub: %w", f.skill.Agent, err)
	}
	return agent, nil
}

// messages makes what the agent is asked.
func (f *fork[M]) messages(ctx context.Context) ([]M, error) {
	text, err := f.content(ctx, f.skill, f.arguments)
	if err != nil {
		return nil, err
	}
	in := TypedSubAgentInput[M]{Skill: f.skill, Mode: f.skill.Context, RawArguments: f.arguments, SkillContent: text}
	if in.Mode == ContextModeForkWithContext {
		in.ToolCallID = compose.GetToolCallID(ctx)
		if in.History, err = history[M](ctx); err != nil {
			return nil, fmt.Errorf("failed to get messages from state: %w", err)
		}
	}
	switch {
	case f.conf.BuildForkMessages != nil:
		messages, err := f.conf.BuildForkMessages(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("failed to build fork messages: %w", err)
		}
		return messages, nil
	case in.Mode == ContextModeForkWithContext:
		return f.answered(&in), nil
	}
	return []M{message.NewUser[M](text)}, nil
}

// answered is the history with the skill's text as the result of the call. Models do not accept calls without a
// result or results without a call: other calls of the same turn, which are still under way, get a note as their
// result, and a call that is not in the history yet, because the tool started while the model was still writing, is
// put there.
func (f *fork[M]) answered(in *TypedSubAgentInput[M]) []M {
	messages := slices.Clone(in.History)
	last := len(messages) - 1
	for last >= 0 && message.KindOf(messages[last]) == message.Result {
		last--
	}
	var calls []message.Call
	if last >= 0 {
		calls = message.Calls(messages[last])
	}
	own := message.Call{ID: in.ToolCallID, Name: f.toolName, Arguments: in.RawArguments}
	if own.ID != "" && !slices.ContainsFunc(calls, func(c message.Call) bool { return c.ID == own.ID }) {
		return append(messages, newCall[M](own), message.NewResult[M](own, in.SkillContent))
	}
	done := map[string]bool{own.ID: true}
	for _, m := range messages[last+1:] {
		for _, r := range message.Results(m) {
			done[r.ID] = true
		}
	}
	for _, c := range calls {
		if !done[c.ID] {
			messages = append(messages, message.NewResult[M](c, language.Select(siblingNote, siblingNoteChinese)))
		}
	}
	return append(messages, message.NewResult[M](own, in.SkillContent))
}

// newCall makes the message in which a model makes a call.
func newCall[M adk.MessageType](c message.Call) (m M) {
	switch p := any(&m).(type) {
	case **schema.Message:
		*p = schema.AssistantMessage("", []schema.ToolCall{{
			ID: c.ID, Type: "function", Function: schema.FunctionCall{Name: c.Name, Arguments: c.Arguments}}})
	case **schema.AgenticMessage:
		*p = &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
			schema.NewContentBlock(&schema.FunctionToolCall{CallID: c.ID, Name: c.Name, Arguments: c.Arguments})}}
	}
	return m
}
