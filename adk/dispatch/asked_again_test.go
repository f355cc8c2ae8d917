package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// atOnce is an agent that calls all tools in one turn, and then says what they said.
func atOnce(t *testing.T, name string, tools ...tool.BaseTool) adk.Agent {
	t.Helper()
	answer := modelFunc(func(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
		said, calls := "", []schema.ToolCall{}
		for _, m := range history {
			if m.Role == schema.Tool {
				said += " " + m.Content
			}
		}
		if said != "" {
			return schema.AssistantMessage("done:"+said, nil), nil
		}
		for _, called := range tools {
			info, err := called.Info(ctx)
			if err != nil {
				return nil, err
			}
			calls = append(calls, schema.ToolCall{ID: "call of " + info.Name,
				Function: schema.FunctionCall{Name: info.Name, Arguments: `{"request":"do it"}`}})
		}
		return schema.AssistantMessage("", calls), nil
	})
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: name, Description: name, Model: answer,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}}})
	require.NoError(t, err)
	return agent
}

// TestAsRun_WakesAParentThatWasResumedForSomethingElse: a run waits for a child of three hours and, in the same turn, for
// something that ends before; it continues when the child ends, and not when it happens to look.
// Rule distributed/D8.
func TestAsRun_WakesAParentThatWasResumedForSomethingElse(t *testing.T) {
	timer := func(t *testing.T) tool.BaseTool {
		return toolNamed(t, "other", func(ctx context.Context) (string, error) { return "slept", dispatch.SleepFor(ctx, time.Hour) })
	}
	person := func(t *testing.T) tool.BaseTool {
		return toolNamed(t, "other", func(ctx context.Context) (string, error) {
			if answered, _, _ := tool.GetResumeContext[any](ctx); answered {
				return "allowed", nil
			}
			return "", tool.StatefulInterrupt(ctx, "may I?", 1)
		})
	}
	for name, other := range map[string]func(t *testing.T) tool.BaseTool{"a timer": timer, "a person": person} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := checkpoint.NewMemoryStore()
				child := agentOf(t, "child", toolNamed(t, "sleep", func(ctx context.Context) (string, error) {
					return "worked", dispatch.SleepFor(ctx, 3*time.Hour)
				}))
				parent := atOnce(t, "parent", dispatch.AsRun("child", "works"), other(t))
				d, stop := working(t, store, dispatch.Config{Agents: dispatch.Agents{"parent": dispatch.RunnerOf(parent),
					"child": dispatch.RunnerOf(child)}}, dispatch.WorkerConfig{})
				defer stop()
				_, err := d.Submit(t.Context(), jobOf("1", "parent"))
				require.NoError(t, err)
				time.Sleep(time.Hour + time.Minute)
				o := waitFor(t, d, "1", runs.Waiting)
				for _, p := range o.Questions {
					if p.Kind == runs.KindQuestion {
						answer, err := runs.EncodeReply(p.ID, runs.JSONReply(`"yes"`))
						require.NoError(t, err)
						require.NoError(t, d.Reply(t.Context(), "1", answer))
					}
				}
				time.Sleep(time.Minute)
				require.Len(t, waitFor(t, d, "1", runs.Waiting).Questions, 1)
				time.Sleep(2*time.Hour - time.Minute) // a minute before the child ends: 3 h and a minute have passed
				require.Contains(t, waitFor(t, d, "1", runs.Done).Message.Content, "done: worked")
			})
		})
	}
}

// mute is a store that a worker cannot give answers to.
type mute struct{ *checkpoint.MemoryStore }

func (mute) Reply(context.Context, string, ...runs.Reply) error {
	return errors.New("out of reach")
}

// TestAsRun_WakesAParentThatWasBusyWhenTheChildEnded, also where its worker has died, or lost the store, before it could give
// it the answer.
// Rule distributed/D8.
func TestAsRun_WakesAParentThatWasBusyWhenTheChildEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		child := agentOf(t, "child", toolNamed(t, "sleep", func(ctx context.Context) (string, error) {
			return "worked", dispatch.SleepFor(ctx, time.Hour)
		}))
		parent := atOnce(t, "parent", dispatch.AsRun("child", "works"), toolNamed(t, "other", func(ctx context.Context) (string, error) {
			if err := dispatch.SleepFor(ctx, 55*time.Minute); err != nil {
				return "", err
			}
			time.Sleep(10 * time.Minute) // the child ends meanwhile
			return "slept", nil
		}))
		d, stop := working(t, mute{checkpoint.NewMemoryStore()}, dispatch.Config{Agents: dispatch.Agents{
			"parent": dispatch.RunnerOf(parent), "child": dispatch.RunnerOf(child)}}, dispatch.WorkerConfig{})
		defer stop()
		_, err := d.Submit(t.Context(), jobOf("1", "parent"))
		require.NoError(t, err)
		time.Sleep(65*time.Minute + 20*time.Second)
		require.Equal(t, "done: done: worked slept", waitFor(t, d, "1", runs.Done).Message.Content)
	})
}
