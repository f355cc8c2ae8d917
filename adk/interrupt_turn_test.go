package adk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// TestInterrupt_InATurnOfTheModel: the model, or a hook around it, may interrupt. Before there is an answer, the
// resumed run takes the turn again, as if it had not begun: the history is the same, what hooks had made of it is not
// there twice, and it costs no iteration. After that the answer stands, and only the hooks run again.
// Rule agent/L-12.
func TestInterrupt_InATurnOfTheModel(t *testing.T) {
	bubbled(t, testTurnInterrupt[ordinary], testTurnInterrupt[agentic])
}

func testTurnInterrupt[M MessageType](t *testing.T, streaming bool) {
	type state = *TypedChatModelAgentState[M]
	ops := opsOf[M]()
	for name, hook := range map[string]func(ask func(context.Context) error) *hooked[M]{
		"before the model": func(ask func(context.Context) error) *hooked[M] {
			return &hooked[M]{beforeModel: func(
				ctx context.Context, s state, _ *TypedModelContext[M],
			) (context.Context, state, error) {
				return ctx, s, ask(ctx)
			}}
		},
		"around the model, behind a hook that has written": func(ask func(context.Context) error) *hooked[M] {
			return &hooked[M]{wrapModel: func(
				ctx context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
			) (model.BaseModel[M], error) {
				return m, ask(ctx)
			}, beforeModel: func(ctx context.Context, s state, _ *TypedModelContext[M]) (context.Context, state, error) {
				s.Messages = append(s.Messages, ops.user("by the way"))
				return ctx, s, nil
			}}
		},
		"after the model": func(ask func(context.Context) error) *hooked[M] {
			return &hooked[M]{afterModel: func(
				ctx context.Context, s state, _ *TypedModelContext[M],
			) (context.Context, state, error) {
				return ctx, s, ask(ctx)
			}}
		},
	} {
		d, asked, turns := dialectOf[M](), 0, 0
		ask := func(ctx context.Context) error {
			if was, _, left := compose.GetInterruptState[string](ctx); was {
				require.Equal(t, "asked", left, name)
				return nil
			}
			if turns++; turns == 2 { // the first turn calls the tool
				asked++
				return compose.StatefulInterrupt(ctx, "may I?", "asked")
			}
			return nil
		}
		m := says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
		a := setup(t, m, []tool.BaseTool{echo("echo")}, with[M](hook(ask)), func(conf *TypedChatModelAgentConfig[M]) {
			conf.MaxIterations = 2
		})
		all := read(t, bare(t.Context(), a, streaming))
		all = read(t, continueFrom(t.Context(), t, a, all, streaming))
		require.NoError(t, all[len(all)-1].Err, name)
		require.Equal(t, []string{"assistant: done"}, linesOf(all), name)
		require.Equal(t, 1, asked, name)
		require.Equal(t, 2, m.calls(), name)
	}
}

// TestInterrupt_OfTheModelItself: an interrupt of a model without anything around it.
// Rule agent/L-12.
func TestInterrupt_OfTheModelItself(t *testing.T) {
	bubbled(t, testModelInterrupt[ordinary], testModelInterrupt[agentic])
}

func testModelInterrupt[M MessageType](t *testing.T, streaming bool) {
	calls := 0
	asks := func(ctx context.Context) error {
		if calls++; calls == 1 {
			return compose.Interrupt(ctx, "may I?")
		}
		return nil
	}
	m := says(dialectOf[M]().answer("done"))
	a := setup[M](t, &modelFunc[M]{
		func(ctx context.Context, history []M, opts ...model.Option) (none M, err error) {
			if err := asks(ctx); err != nil {
				return none, err
			}
			return m.Generate(ctx, history, opts...)
		},
		func(ctx context.Context, history []M, opts ...model.Option) (*schema.StreamReader[M], error) {
			if err := asks(ctx); err != nil {
				return nil, err
			}
			return m.Stream(ctx, history, opts...)
		},
	}, []tool.BaseTool{echo("echo")}, func(conf *TypedChatModelAgentConfig[M]) { conf.MaxIterations = 1 })
	all := read(t, bare(t.Context(), a, streaming))
	all = read(t, continueFrom(t.Context(), t, a, all, streaming))
	require.Equal(t, []string{"assistant: done"}, linesOf(all))
}

// TestInterrupt_AChangedHistoryIsAnsweredAnew: a history that was changed while the run waited, and does not end with
// the answer any more, gets a new answer.
// Rule agent/L-12.
func TestInterrupt_AChangedHistoryIsAnsweredAnew(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		asked := 0
		m := &replies{all: []*schema.Message{schema.AssistantMessage("one", nil), schema.AssistantMessage("two", nil)}}
		a := newHooked(t, m, &hooked[*schema.Message]{
			afterModel: func(ctx context.Context, s *ChatModelAgentState,
				_ *ModelContext,
			) (context.Context, *ChatModelAgentState, error) {
				if asked++; asked == 1 {
					return ctx, s, compose.Interrupt(ctx, "is it good?")
				}
				return ctx, s, nil
			}})
		r := NewRunner(t.Context(), RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: memory{}})
		drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		it, err := r.Resume(t.Context(), "1", WithHistoryModifier(func(_ context.Context, all []Message) []Message {
			return append(all, schema.UserMessage("no, better"))
		}))
		require.NoError(t, err)
		texts, _ := drainAll(t, it)
		require.Equal(t, []string{"a: two"}, texts)
		require.Equal(t, []string{"hi", "one", "no, better"},
			[]string{m.seen[1][0].Content, m.seen[1][1].Content, m.seen[1][2].Content})
	}
}

func newHooked(t *testing.T, m model.BaseChatModel, h ChatModelAgentMiddleware) *ChatModelAgent {
	t.Helper()
	a, err := NewChatModelAgent(t.Context(),
		&ChatModelAgentConfig{Name: "a", Description: "a", Model: m, Handlers: []ChatModelAgentMiddleware{h}})
	require.NoError(t, err)
	return a
}
