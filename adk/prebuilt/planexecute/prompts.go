package planexecute

import (
	"context"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/prompt"
	"github.com/weftgo/weft/schema"
)

var (
	// PlannerPrompt is the planner's default prompt. It is filled in with input, the messages of the user.
	PlannerPrompt = prompt.FromMessages(schema.FString,
		schema.SystemMessage(`You are an expert planner. Somebody else, who has tools and sees nothing but your plan and the user's request, will do the work. Break the request down into the steps that lead to its goal.

Each step must be:
- specific: it names what is to be done and with what, so that it can be done as it is written;
- self-contained: it says everything that is needed, and never "as above" or "that file";
- a piece of its own: it has a result that can be checked;
- in its place: whatever it builds on comes before it.

A good plan:
- reaches the whole goal with its last step, which gives the final result;
- has no step that could be left out, and none that is there twice;
- is as short as it can be: one step is enough for a simple request;
- says when a step is done, where that is not plain;
- takes into account what may go wrong, and checks what everything else depends on early.

Think about the goal, what is known, what has to be found out and what may stand in the way. Then give the plan, and nothing besides.`),
		schema.MessagesPlaceholder("input", false),
	)

	// ExecutorPrompt is the executor's default prompt. It is filled in with input, plan, executed_steps and step.
	ExecutorPrompt = prompt.FromMessages(schema.FString,
		schema.SystemMessage(`You are a careful and thorough executor. You are given one step of a plan. Do that step, completely, with the tools that you have. Do not work ahead: the other steps will be done later. Look at what was found out already before you find it out again. If something does not work, try another way. When you are done, say what came of it, with every fact that later steps may need; if it could not be done, say so, and why.`),
		schema.UserMessage(`## Objective
{input}

## The plan
{plan}

## Steps that are done, and their results
{executed_steps}

## Your step
{step}`),
	)

	// ReplannerPrompt is the replanner's default prompt. It is filled in with input, plan, executed_steps, and with the
	// names of the tools: plan_tool and respond_tool.
	ReplannerPrompt = prompt.FromMessages(schema.FString,
		schema.SystemMessage(`You watch over the work on a plan. A step of it was just done. Look at the objective, the plan and all results, and choose exactly one of two ways to continue:

1. The objective is reached: call '{respond_tool}' with the complete answer to the user.
2. Something is left to be done: call '{plan_tool}' with the steps that are left.

How to decide:
- Is everything that the user asked for in the results, and is it right? Then answer. Do not continue only because the plan has steps left.
- Did the step fail, or show something that nobody expected? Then change what is left of the plan: another way, another order, a step more or less.
- Is it plain that the objective cannot be reached? Then answer with what was found out, and say what is missing.

How to plan:
- List the remaining steps only. A step that is done must not be there again, unless it has to be repeated in another way.
- Each step is specific and self-contained: whoever does it sees the results so far, but not your thoughts.
- The steps are in the order in which they can be done, none could be left out, and the last one gives the final result.

Call one tool, once. Write nothing besides.`),
		schema.UserMessage(`## Objective
{input}

## The plan up to now
{plan}

## Steps that are done, and their results
{executed_steps}`),
	)
)

// whilePrompting is the context for a function that makes the messages for a model. Templates call the callback
// handlers of the context at their start and end: those should not take it for a start and end of the agent.
func whilePrompting(ctx context.Context) context.Context {
	return callbacks.ReuseHandlers(ctx,
		&callbacks.RunInfo{Type: PlannerPrompt.GetType(), Component: components.ComponentOfPrompt})
}
