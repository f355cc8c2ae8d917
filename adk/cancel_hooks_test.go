package adk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// stoppedWays are the ways to run, and what code returns whose context has ended: its error, or, as clients of net/http
// do, its cause.
var stoppedWays = []struct {
	name      string
	streaming bool
	err       func(context.Context) error
}{
	{"", false, context.Context.Err},
	{", streaming", true, context.Context.Err},
	{", the cause", false, causeOf},
	{", streaming, the cause", true, causeOf},
}

func causeOf(ctx context.Context) error { return fmt.Errorf("get: %w", context.Cause(ctx)) }

// TestCancel_InAHookKeepsWhatHadFinished: what had finished before the hook is neither lost nor repeated.
// Rule runtime/C24.
func TestCancel_InAHookKeepsWhatHadFinished(t *testing.T) {
	type state = *ChatModelAgentState
	type wait = func(context.Context) error
	for _, c := range []struct {
		name string
		hook func(w wait) *hooked[*schema.Message]
		opts func(w wait) []AgentRunOption
		gen  func(w wait) GenModelInput
	}{
		{name: "before the agent", hook: func(w wait) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{beforeAgent: func(
				ctx context.Context, rc *ChatModelAgentContext,
			) (context.Context, *ChatModelAgentContext, error) {
				return ctx, rc, w(ctx)
			}}
		}},
		{name: "making the input", gen: func(w wait) GenModelInput {
			return func(ctx context.Context, _ string, in *AgentInput) ([]Message, error) { return in.Messages, w(ctx) }
		}},
		{name: "before the model", hook: func(w wait) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{beforeModel: func(
				ctx context.Context, s state, _ *ModelContext,
			) (context.Context, state, error) {
				if len(s.Messages) == 1 {
					return ctx, s, nil
				}
				return ctx, s, w(ctx)
			}}
		}},
		{name: "after the model", hook: func(w wait) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{afterModel: func(
				ctx context.Context, s state, _ *ModelContext,
			) (context.Context, state, error) {
				return ctx, s, w(ctx)
			}}
		}},
		{name: "after tool calls", hook: func(w wait) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{afterToolCalls: func(
				ctx context.Context, s state, _ *ToolCallsContext,
			) (context.Context, state, error) {
				return ctx, s, w(ctx)
			}}
		}},
		{name: "the run's own after tool calls", opts: func(w wait) []AgentRunOption {
			return []AgentRunOption{WithAfterToolCallsHook(w)}
		}},
		{name: "before the final answer", hook: func(w wait) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{finalAnswer: func(
				ctx context.Context, s state,
			) (context.Context, FinalAnswerDecision, state, error) {
				return ctx, AcceptFinalAnswer, s, w(ctx)
			}}
		}},
		{name: "after the agent", hook: func(w wait) *hooked[*schema.Message] {
			return &hooked[*schema.Message]{afterAgent: func(ctx context.Context, _ state) (context.Context, error) {
				return ctx, w(ctx)
			}}
		}},
	} {
		for _, way := range stoppedWays {
			streaming := way.streaming
			t.Run(c.name+way.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					waited, called := false, 0
					waitOnce := func(ctx context.Context) error {
						if waited {
							return nil
						}
						waited = true
						<-ctx.Done()
						require.ErrorAs(t, context.Cause(ctx), new(*CancelError))
						return way.err(ctx)
					}
					var seen [][]*schema.Message
					answer := func(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
						seen = append(seen, history)
						if len(history) == 1 {
							return callOf("count", "c1", "x"), nil
						}
						return schema.AssistantMessage("done", nil), nil
					}
					m := &modelFunc[*schema.Message]{answer,
						func(ctx context.Context, history []*schema.Message,
							opts ...model.Option,
						) (*schema.StreamReader[*schema.Message], error) {
							m, err := answer(ctx, history, opts...)
							return schema.StreamReaderFromArray([]*schema.Message{m}), err
						}}
					conf := &ChatModelAgentConfig{Name: "a", Model: m}
					conf.ToolsConfig.Tools = []tool.BaseTool{&toolFunc{"count", func(context.Context, string) (string, error) {
						called++
						return "1", nil
					}}}
					if c.gen != nil {
						conf.GenModelInput = c.gen(waitOnce)
					}
					if c.hook != nil {
						conf.Handlers = []ChatModelAgentMiddleware{c.hook(waitOnce)}
					}
					agent, err := NewChatModelAgent(t.Context(), conf)
					require.NoError(t, err)
					var opts []AgentRunOption
					if c.opts != nil {
						opts = c.opts(waitOnce)
					}
					r := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: memory{}})
					option, cancel := WithCancel()
					go func() {
						synctest.Wait()
						cancel()
					}()
					out := collect(t, r.Query(t.Context(), "hi", append(opts, option, WithCheckPointID("1"))...))
					require.NotNil(t, out.err)
					require.Equal(t, "1", out.err.CheckPointID)

					it, err := r.Resume(t.Context(), "1", opts...)
					require.NoError(t, err)
					texts, _ := drainAll(t, it)
					all := append(out.texts, texts...)
					require.Equal(t, "a: done", all[len(all)-1])
					require.Equal(t, 1, called)
					require.Len(t, seen, 2, "a turn is not taken again")
					last := seen[len(seen)-1]
					require.Len(t, last, 3)
					require.Equal(t, []schema.RoleType{schema.User, schema.Assistant, schema.Tool},
						[]schema.RoleType{last[0].Role, last[1].Role, last[2].Role})
				})
			})
		}
	}
}

// TestCancel_BeforeAResumedAgentStarts: a run that was stopped before it could continue is resumed from where it was.
// Rule runtime/C24.
func TestCancel_BeforeAResumedAgentStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := 0
		conf := &ChatModelAgentConfig{Name: "a",
			Model: &replies{all: []*schema.Message{callOf("ask", "c1", "x"), schema.AssistantMessage("done", nil)}}}
		conf.ToolsConfig.Tools = []tool.BaseTool{askTool("ask")}
		conf.Handlers = []ChatModelAgentMiddleware{&hooked[*schema.Message]{
			beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
				if begun++; begun == 2 {
					<-ctx.Done()
					return ctx, rc, ctx.Err()
				}
				return ctx, rc, nil
			},
		}}
		agent, err := NewChatModelAgent(t.Context(), conf)
		require.NoError(t, err)
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: memory{}})
		_, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		params := &ResumeParams{Targets: map[string]any{last.Action.Interrupted.InterruptContexts[0].ID: "yes"}}

		option, cancel := WithCancel()
		go func() {
			synctest.Wait()
			cancel()
		}()
		it, err := r.ResumeWithParams(t.Context(), "1", params, option)
		require.NoError(t, err)
		out := collect(t, it)
		require.NotNil(t, out.err)
		require.Empty(t, out.texts)

		it, err = r.ResumeWithParams(t.Context(), "1", params)
		require.NoError(t, err)
		texts, _ := drainAll(t, it)
		require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
	})
}

// TestCancel_EndsThePauseOfARetry: an immediate cancel does not wait for the pause to be over.
// Rule runtime/C22.
func TestCancel_EndsThePauseOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &modelFunc[*schema.Message]{generate: func(
			context.Context, []*schema.Message, ...model.Option,
		) (*schema.Message, error) {
			return nil, errors.New("busy")
		}}
		agent, err := NewChatModelAgent(t.Context(),
			&ChatModelAgentConfig{Name: "a", Model: m, ModelRetryConfig: &ModelRetryConfig{
				MaxRetries: 3, BackoffFunc: func(context.Context, int) time.Duration { return time.Hour },
			}})
		require.NoError(t, err)
		option, cancel := WithCancel()
		started := time.Now()
		it := agent.Run(t.Context(), &AgentInput{Messages: []Message{schema.UserMessage("hi")}}, option)
		synctest.Wait()
		handle, counts := cancel()
		require.True(t, counts)
		require.NoError(t, handle.Wait())
		require.NotNil(t, collect(t, it).err)
		require.Zero(t, time.Since(started))
	})
}

// TestCancel_CallsThatReturnTheCause: what had finished before is not repeated.
// Rule runtime/C24.
func TestCancel_CallsThatReturnTheCause(t *testing.T) {
	for _, in := range []string{"model", "tool", "stream"} {
		for _, way := range stoppedWays {
			if in == "stream" && !way.streaming {
				continue
			}
			t.Run(in+way.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testCauseReturned(t, in, way.streaming, way.err) })
			})
		}
	}
}

func testCauseReturned(t *testing.T, in string, streaming bool, fails func(context.Context) error) {
	stopped, first, second := false, 0, 0
	wait := func(ctx context.Context, where string) error {
		if stopped || where != in {
			return nil
		}
		stopped = true
		<-ctx.Done()
		return fails(ctx)
	}
	answer := func(ctx context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
		switch len(history) {
		case 1:
			return callOf("first", "c1", "x"), nil
		case 3:
			return callOf("second", "c2", "y"), wait(ctx, "model")
		}
		return schema.AssistantMessage("done", nil), nil
	}
	stream := func(ctx context.Context, history []*schema.Message,
		opts ...model.Option,
	) (*schema.StreamReader[*schema.Message], error) {
		m, err := answer(ctx, history, opts...)
		if err != nil || len(history) != 3 {
			return schema.StreamReaderFromArray([]*schema.Message{m}), err
		}
		r, w := schema.Pipe[*schema.Message](1)
		go func() {
			defer w.Close()
			if err := wait(ctx, "stream"); err != nil {
				w.Send(nil, err)
				return
			}
			w.Send(m, nil)
		}()
		return r, nil
	}
	conf := &ChatModelAgentConfig{Name: "a", Model: &modelFunc[*schema.Message]{answer, stream}}
	conf.ToolsConfig.Tools = []tool.BaseTool{
		&toolFunc{"first", func(context.Context, string) (string, error) { first++; return "1", nil }},
		&toolFunc{"second", func(ctx context.Context, _ string) (string, error) {
			second++
			return "2", wait(ctx, "tool")
		}},
	}
	agent, err := NewChatModelAgent(t.Context(), conf)
	require.NoError(t, err)
	r := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: memory{}})
	option, cancel := WithCancel()
	go func() {
		synctest.Wait()
		cancel()
	}()
	out := collect(t, r.Query(t.Context(), "hi", option, WithCheckPointID("1")))
	require.NotNil(t, out.err)
	it, err := r.Resume(t.Context(), "1")
	require.NoError(t, err)
	texts, _ := drainAll(t, it)
	require.Equal(t, "a: done", texts[len(texts)-1])
	require.Equal(t, 1, first, "it had ended before")
	require.Equal(t, map[bool]int{false: 1, true: 2}[in == "tool"], second)
}
