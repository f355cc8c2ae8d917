package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// metered is an answer that has used tokens.
func metered(m *schema.Message, input, output int) *schema.Message {
	m.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: input, CompletionTokens: output,
		TotalTokens: input + output}}
	return m
}

// callFor is an answer that calls a tool.
func callFor(name string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: name, Arguments: `{}`}}})
}

// usageOf returns the usage of a run that the store has.
func usageOf(t *testing.T, d *dispatch.Dispatcher, id string) runs.Usage {
	t.Helper()
	info, _, err := d.Inspect(t.Context(), id)
	require.NoError(t, err)
	return info.Usage
}

func used(input, output int) runs.Usage {
	return runs.Usage{Input: input, Output: output, Total: input + output}
}

// What a run has used is added up over its stretches: it fails and is tried again, asks, and continues in another
// process that has none of the events in memory.
// Rule distributed/C13.
func TestUsage_IsThatOfAllStretches(t *testing.T) {
	for name, streaming := range map[string]bool{"streamed": true, "whole": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls, fails atomic.Int32
				answer := modelFunc(func(context.Context, []*schema.Message) (*schema.Message, error) {
					switch calls.Add(1) {
					case 1:
						return metered(callFor("fail"), 10, 1), nil
					case 2:
						return metered(callFor("ask"), 20, 2), nil
					}
					return metered(schema.AssistantMessage("done", nil), 40, 4), nil
				})
				fail := toolNamed(t, "fail", func(context.Context) (string, error) {
					if fails.Add(1) == 1 {
						return "", errors.New("try again")
					}
					return "went well", nil
				})
				ask := toolNamed(t, "ask", func(ctx context.Context) (string, error) {
					if _, ok, said := tool.GetResumeContext[string](ctx); ok {
						return said, nil
					}
					return "", tool.Interrupt(ctx, "may I?")
				})
				agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: answer,
					ToolsConfig: adktest.Tools(again{fail.(tool.InvokableTool)}, ask)})
				require.NoError(t, err)
				store := checkpoint.NewMemoryStore()
				conf := dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}, Log: logOf(t, nil),
					Retry: func(error, int) (time.Duration, bool) { return time.Minute, true }}
				d, stop := working(t, store, conf, dispatch.WorkerConfig{})
				defer stop()
				job := jobOf("1", "a")
				job.Streaming = streaming
				_, err = d.Submit(t.Context(), job)
				require.NoError(t, err)
				synctest.Wait()
				require.Equal(t, used(10, 1), usageOf(t, d, "1"), "it waits for its next try")
				o := waitFor(t, d, "1", runs.Waiting)
				require.Equal(t, used(30, 3), usageOf(t, d, "1"))
				stop()

				conf.Log = logOf(t, nil)
				d, stop = working(t, store, conf, dispatch.WorkerConfig{})
				defer stop()
				said, err := runs.EncodeReply(o.Questions[0].ID, "you may")
				require.NoError(t, err)
				require.NoError(t, d.Reply(t.Context(), "1", said))
				waitFor(t, d, "1", runs.Done)
				require.Equal(t, used(70, 7), usageOf(t, d, "1"))
				for info, err := range d.List(t.Context(), runs.Query{}) {
					require.NoError(t, err)
					require.Equal(t, used(70, 7), info.Usage)
				}
			})
		})
	}
}

// What a process had used that has died is known from the events that it had stored.
// Rule distributed/C13.
func TestUsage_OfAProcessThatDiedIsThatOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
		var dead atomic.Bool
		cut := checkpointtest.Faulty(store, func(int, string) checkpointtest.Fault {
			if dead.Load() {
				return checkpointtest.Fails
			}
			return checkpointtest.NoFault
		})
		look := toolNamed(t, "look", func(context.Context) (string, error) { return "looked", nil })
		agentOf := func(answer modelFunc) dispatch.Agents {
			agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: answer,
				ToolsConfig: adktest.Tools(look)})
			require.NoError(t, err)
			return dispatch.Agents{"a": dispatch.RunnerOf(agent)}
		}
		first := agentOf(func(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
			if len(history) == 1 {
				return metered(callFor("look"), 10, 1), nil
			}
			time.Sleep(time.Second) // what there is, is stored
			dead.Store(true)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		second := agentOf(func(context.Context, []*schema.Message) (*schema.Message, error) {
			return metered(schema.AssistantMessage("done", nil), 20, 2), nil
		})
		d := dispatch.New(store, dispatch.Config{})
		_, err := d.Submit(t.Context(), jobOf("1", "a"))
		require.NoError(t, err)
		_, stop := working(t, cut, dispatch.Config{Agents: first, Log: logOf(t, events), TTL: 2 * time.Second},
			dispatch.WorkerConfig{DrainTimeout: -1})
		defer stop()
		time.Sleep(1500 * time.Millisecond)
		require.True(t, dead.Load())
		require.Zero(t, usageOf(t, d, "1"))
		_, stop = working(t, store, dispatch.Config{Agents: second, Log: logOf(t, events)}, dispatch.WorkerConfig{})
		defer stop()
		waitFor(t, d, "1", runs.Done)
		require.Equal(t, used(30, 3), usageOf(t, d, "1"))
	})
}
