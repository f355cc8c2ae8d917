package host

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
)

// listener notes hand-offs.
type listener struct {
	mu       sync.Mutex
	handOffs []string
	// then makes the context that OnHandOff returns, unless it is nil.
	then func(ctx context.Context) context.Context
}

func (l *listener) OnHandOff(ctx context.Context, info *HandOffInfo) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handOffs = append(l.handOffs, info.ToAgentName+info.Argument)
	if l.then == nil {
		return ctx
	}
	return l.then(ctx)
}

var bothHandOffs = []string{`b{"reason":"0"}`, `a{"reason":"1"}`}

func abTeam(t *testing.T, h model.ToolCallingChatModel) *MultiAgent {
	return newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: h},
		Specialists: []*Specialist{specialist("a", handsTo("x")), specialist("b", says("from b"))}})
}

// Rule components/A6.
func TestHost_ReportsEveryHandOff(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := &listener{then: func(context.Context) context.Context { return nil }}, &listener{}
				_, err := run(abTeam(t, handsTo("b", "a")), WithAgentCallbacks(one, nil), WithAgentCallbacks(two))
				require.NoError(t, err)
				synctest.Wait()
				require.Equal(t, bothHandOffs, one.handOffs, "only the host's calls, not those of a specialist")
				require.Equal(t, bothHandOffs, two.handOffs)

				none := &listener{}
				_, err = run(abTeam(t, says("hello")), WithAgentCallbacks(none))
				require.NoError(t, err)
				synctest.Wait()
				require.Empty(t, none.handOffs)
			})
		})
	}
}

// Rule components/A6.
func TestHost_ReportsHandOffsOnADesignatedPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := abTeam(t, handsTo("b", "a"))
		g, opts := team.ExportGraph()
		outer := compose.NewGraph[[]*schema.Message, *schema.Message]()
		require.NoError(t, outer.AddGraphNode("host_ma_node", g, opts...))
		require.NoError(t, outer.AddEdge(compose.START, "host_ma_node"))
		require.NoError(t, outer.AddEdge("host_ma_node", compose.END))
		r, err := outer.Compile(background)
		require.NoError(t, err)
		for _, streaming := range []bool{false, true} {
			l := &listener{}
			option := compose.WithCallbacks(ConvertCallbackHandlers(l)).
				DesignateNodeWithPath(compose.NewNodePath("host_ma_node", team.HostNodeKey()))
			if streaming {
				s, err := r.Stream(background, user("hi"), option)
				require.NoError(t, err)
				s.Close()
			} else {
				_, err = r.Invoke(background, user("hi"), option)
				require.NoError(t, err)
			}
			synctest.Wait()
			require.Equal(t, bothHandOffs, l.handOffs)
		}
	})
}

type chainKey struct{}

// Rule components/A6.
func TestHost_HandOffCallbacksChainTheContext(t *testing.T) {
	var values []any
	l := &listener{then: nil}
	l.then = func(ctx context.Context) context.Context {
		values = append(values, ctx.Value(chainKey{}))
		return context.WithValue(ctx, chainKey{}, len(l.handOffs))
	}
	_, err := runners["Generate"](abTeam(t, handsTo("b", "a")), WithAgentCallbacks(l, l))
	require.NoError(t, err)
	require.Equal(t, []any{nil, 1, 2, 3}, values)
}

// A callback that panics fails a run of values; in a run of streams, which it does not hold up, it is reported.
// Rule components/B13.5.9.
func TestHost_SurvivesHandOffCallbacksThatPanic(t *testing.T) {
	panicking := &listener{then: func(context.Context) context.Context { panic(errBoom) }}
	_, err := runners["Generate"](abTeam(t, handsTo("b")), WithAgentCallbacks(panicking))
	require.ErrorIs(t, err, errBoom)

	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var reported []error
		observer := callbacks.NewHandlerBuilder().OnErrorFn(func(
			ctx context.Context, info *callbacks.RunInfo, err error,
		) context.Context {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, err)
			panic("this one, too")
		}).Build()
		chunks, err := runners["Stream"](abTeam(t, handsTo("b")), WithAgentCallbacks(panicking),
			agent.WithComposeOptions(compose.WithCallbacks(observer)))
		require.NoError(t, err)
		require.Equal(t, "from b", answered(t, chunks))
		synctest.Wait()
		require.Len(t, reported, 1)
		require.ErrorIs(t, reported[0], errBoom)
	})
}

// A host that goes silent does not hold the callback's goroutine once the run is cancelled, nor does a broken stream.
// Rule components/A6.
func TestHost_ReportsNoHandOffForAFailedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listener{}
		h := ConvertCallbackHandlers(l)
		chat := &callbacks.RunInfo{Component: components.ComponentOfChatModel}
		ctx, cancel := context.WithCancel(background)
		sr, sw := schema.Pipe[callbacks.CallbackOutput](10)
		sw.Send(schema.AssistantMessage("a", []schema.ToolCall{{Function: schema.FunctionCall{Name: "a"}}}), nil)
		h.OnEndWithStreamOutput(ctx, chat, sr)
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.True(t, sw.Send(nil, nil), "the stream is closed")

		sr, sw = schema.Pipe[callbacks.CallbackOutput](10)
		sw.Send(schema.AssistantMessage("a", []schema.ToolCall{{Function: schema.FunctionCall{Name: "a"}}}), nil)
		sw.Send(nil, errBoom)
		sw.Close()
		h.OnEndWithStreamOutput(background, chat, sr)
		synctest.Wait()

		sr, sw = schema.Pipe[callbacks.CallbackOutput](10)
		sw.Send(schema.AssistantMessage("a", nil), nil)
		sw.Send(schema.UserMessage("b"), nil)
		sw.Close()
		h.OnEndWithStreamOutput(background, chat, sr)
		synctest.Wait()
		require.Empty(t, l.handOffs)
	})
}

// Only models hand over: a designated graph, or anything else, is passed over.
// Rule components/A6.
func TestHost_HandOffCallbacksIgnoreOtherComponents(t *testing.T) {
	l := &listener{}
	h := ConvertCallbackHandlers(l)
	call := schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Name: "a"}}})
	for _, info := range []*callbacks.RunInfo{nil, {Component: compose.ComponentOfGraph}} {
		h.OnEnd(background, info, call)
		sr, sw := schema.Pipe[callbacks.CallbackOutput](1)
		h.OnEndWithStreamOutput(background, info, sr)
		require.True(t, sw.Send(nil, nil))
	}
	chat := &callbacks.RunInfo{Component: components.ComponentOfChatModel}
	h.OnEnd(background, chat, "not a message")
	asUser := *call
	asUser.Role = schema.User
	h.OnEnd(background, chat, &asUser)
	require.Empty(t, l.handOffs)
}

// The specialist can find out what the host wants of it.
// Rule components/B13.5.9.
func TestHost_SpecialistsReadTheirHandOffs(t *testing.T) {
	require.Nil(t, GetHandOffs(background))
	inBothForms(t, func(t *testing.T, run runner) {
		var mu sync.Mutex
		got := map[string][]string{}
		note := func(name string) *Specialist {
			return &Specialist{AgentMeta: AgentMeta{Name: name, IntendedUse: "notes"},
				Invokable: func(ctx context.Context, _ []*schema.Message, _ ...agent.AgentOption) (*schema.Message, error) {
					mu.Lock()
					defer mu.Unlock()
					for _, h := range GetHandOffs(ctx) {
						got[name] = append(got[name], h.ToAgentName+h.Argument)
					}
					return schema.AssistantMessage("x", nil), nil
				}}
		}
		_, err := run(newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("a", "b", "a")},
			Specialists: []*Specialist{note("a"), note("b")}}))
		require.NoError(t, err)
		require.Equal(t, map[string][]string{"a": {`a{"reason":"0"}`, `a{"reason":"2"}`}, "b": {`b{"reason":"1"}`}}, got)
	})
}

// Also a team inside a team finds its own, whatever names they have.
func TestHost_GetHandOffsOfNestedTeams(t *testing.T) {
	var got []*HandOffInfo
	leaf := &Specialist{AgentMeta: AgentMeta{Name: "leaf", IntendedUse: "notes"},
		Invokable: func(ctx context.Context, _ []*schema.Message, _ ...agent.AgentOption) (*schema.Message, error) {
			got = GetHandOffs(ctx)
			return schema.AssistantMessage("x", nil), nil
		}}
	inner := newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("team", "leaf")},
		Specialists: []*Specialist{leaf, specialist("team", says("y"))}})
	outer := newTeam(t, &MultiAgentConfig{Host: Host{ToolCallingModel: handsTo("x", "team")}, Specialists: []*Specialist{
		specialist("x", says("x")),
		{AgentMeta: AgentMeta{Name: "team", IntendedUse: "leads"}, Invokable: inner.Generate, Streamable: inner.Stream}}})
	inBothForms(t, func(t *testing.T, run runner) {
		got = nil
		_, err := run(outer)
		require.NoError(t, err)
		require.Equal(t, []*HandOffInfo{{ToAgentName: "leaf", Argument: `{"reason":"1"}`}}, got)
	})
}
