package react

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
)

// messagesOf reads all messages of a future, of whichever kind the run has, as lines. An error is the last line.
func messagesOf(f MessageFuture) []string {
	all := []string{}
	messages := f.GetMessages()
	for m, ok, err := messages.Next(); ok; m, ok, err = messages.Next() {
		if err != nil {
			all = append(all, "error: "+err.Error())
			continue
		}
		all = append(all, line(m))
	}
	streams := f.GetMessageStreams()
	for s, ok, err := streams.Next(); ok; s, ok, err = streams.Next() {
		if err == nil {
			var m *schema.Message
			if m, err = schema.ConcatMessageStream(s); err == nil {
				all = append(all, line(m))
				continue
			}
		}
		all = append(all, "error: "+err.Error())
	}
	return all
}

// Rule components/R17.
func TestFuture_DeliversMessagesInOrder(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(say("wait").calls("a#1 x"), turn{}.calls("s#2 y"), say("do", "ne"))
		a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"}, streamTool{"s", chunks("1", "2")}))
		option, future := WithMessageFuture()
		_, err := run(a, user("hi"), option)
		require.NoError(t, err)
		want := []string{"assistant: wait[a#1]", "tool a#1: a(x)", "assistant: [s#2]", "tool s#2: 12", "assistant: done"}
		require.Equal(t, want, messagesOf(future))
		require.Empty(t, messagesOf(future), "each message comes once")
	})
}

// Rule components/R17.
func TestFuture_DeliversParallelToolsAsTheyFinish(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after := func(name string, d time.Duration) tool.BaseTool {
					return toolFunc{name: name, run: func(context.Context, string) (string, error) { time.Sleep(d); return name, nil }}
				}
				m := script(turn{}.calls("slow#1 x", "fast#2 y"), say("done"))
				a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, after("slow", 2*time.Second),
					after("fast", time.Second)))
				option, future := WithMessageFuture()
				_, err := run(a, user("hi"), option)
				require.NoError(t, err)
				require.Equal(t, []string{"assistant: [slow#1][fast#2]", "tool fast#2: fast", "tool slow#1: slow",
					"assistant: done"}, messagesOf(future))
				require.Equal(t, []string{"tool slow#1: slow", "tool fast#2: fast"}, m.seen[1][2:])
			})
		})
	}
}

// The modes do not mix: a future of one mode has nothing for readers of the other.
// Rule components/R15.
func TestFuture_DeliversInOneModeOnly(t *testing.T) {
	a := newAgent(t, &AgentConfig{ToolCallingModel: script(say("a"), say("b"))})
	option, future := WithMessageFuture()
	_, err := runners["Generate"](a, nil, option)
	require.NoError(t, err)
	_, ok, err := future.GetMessageStreams().Next()
	require.False(t, ok)
	require.NoError(t, err)
	m, ok, err := future.GetMessages().Next()
	require.True(t, ok)
	require.NoError(t, err)
	require.Equal(t, "a", m.Content)

	option, future = WithMessageFuture()
	_, err = runners["Stream"](a, nil, option)
	require.NoError(t, err)
	_, ok, _ = future.GetMessages().Next()
	require.False(t, ok)
	s, ok, err := future.GetMessageStreams().Next()
	require.True(t, ok)
	require.NoError(t, err)
	s.Close()
}

// Rule components/R16.
func TestFuture_AccessorsWaitForTheRun(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				option, future := WithMessageFuture()
				var got []string
				var wg sync.WaitGroup
				wg.Go(func() { got = messagesOf(future) })
				synctest.Wait()
				a := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("a#1 x"), say("done"))},
					toolFunc{name: "a"}))
				_, err := run(a, nil, option)
				require.NoError(t, err)
				wg.Wait()
				require.Equal(t, []string{"assistant: [a#1]", "tool a#1: a(x)", "assistant: done"}, got)
			})
		})
	}
}

// The text of a model is there while the model still speaks, also when the agent waits to see whether it calls tools.
func TestFuture_TextStreamsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &pipedModel{}
		option, future := WithMessageFuture()
		var wg sync.WaitGroup
		wg.Go(func() {
			s, err := newAgent(t, &AgentConfig{ToolCallingModel: m}).Stream(background, nil, option)
			if err == nil {
				s.Close()
			}
		})
		s, ok, err := future.GetMessageStreams().Next()
		require.True(t, ok)
		require.NoError(t, err)
		first, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, "a", first.Content)
		m.w.Close()
		s.Close()
		wg.Wait()
	})
}

// Rule components/R10.
func TestFuture_DeliversResultsAfterMiddlewares(t *testing.T) {
	shout := compose.ToolMiddleware{Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
		return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
			in.Name, in.CallID = "other", "other"
			out, err := next(ctx, in)
			out.Result += "!"
			return out, err
		}
	}}
	conf := withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("a#1 x"), say("done"))}, toolFunc{name: "a"})
	conf.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{shout}
	option, future := WithMessageFuture()
	_, err := newAgent(t, conf).Generate(background, nil, option)
	require.NoError(t, err)
	require.Equal(t, "tool a#1: a(x)!", messagesOf(future)[1])
}

func TestFuture_UnknownToolsAreToolsToo(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		conf := &AgentConfig{ToolCallingModel: script(turn{}.calls("none#1 x"), say("done"))}
		conf.ToolsConfig.UnknownToolsHandler = func(_ context.Context, name, _ string) (string, error) {
			return "no " + name, nil
		}
		option, future := WithMessageFuture()
		_, err := run(newAgent(t, conf), nil, option)
		require.NoError(t, err)
		require.Equal(t, "tool none#1: no none", messagesOf(future)[1])
	})
}

// enhancedTool gives parts, at once or as a stream.
type enhancedTool struct{ toolFunc }

func result(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

func (enhancedTool) InvokableRun(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.ToolResult, error) {
	return result("12"), nil
}

type enhancedStreamTool struct{ toolFunc }

func (enhancedStreamTool) StreamableRun(
	context.Context, *schema.ToolArgument, ...tool.Option,
) (*schema.StreamReader[*schema.ToolResult], error) {
	return schema.StreamReaderFromArray([]*schema.ToolResult{result("1"), result("2")}), nil
}

// Rule components/R18.
func TestFuture_DeliversEnhancedResultsAsMessages(t *testing.T) {
	for name, enhanced := range map[string]tool.BaseTool{"value": enhancedTool{toolFunc{name: "e"}},
		"stream": enhancedStreamTool{toolFunc{name: "e"}}} {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, run runner) {
				m := script(turn{}.calls("e#1 x"), say("done"))
				option, future := WithMessageFuture()
				_, err := run(newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, enhanced)), nil, option)
				require.NoError(t, err)
				got := messagesOf(future)
				require.Equal(t, "tool e#1: text:12", got[1])
				require.Equal(t, m.seen[1][1], got[1], "what the model gets")
			})
		})
	}
}

// Rules components/R19, components/B13.5.1.
func TestFuture_AnErrorEndsTheMessages(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		option, future := WithMessageFuture()
		m := script(turn{}.calls("a#1 x")) // has no second answer
		_, err := run(newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"})), nil, option)
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, []string{"assistant: [a#1]", "tool a#1: a(x)", "error: " + err.Error()}, messagesOf(future))
	})
}

// A run that fails before it begins releases the readers, too.
// Rule components/B13.5.3.
func TestFuture_EndsWithARunThatDoesNotBegin(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		option, future := WithMessageFuture()
		a := newAgent(t, &AgentConfig{ToolCallingModel: script(say("x"))})
		_, err := run(a, nil, option, agent.WithComposeOptions(compose.WithCallbacks().DesignateNode("nowhere")))
		require.ErrorContains(t, err, "unknown node")
		require.Equal(t, []string{"error: " + err.Error()}, messagesOf(future))
	})
	option, future := WithMessageFuture()
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err := newAgent(t, &AgentConfig{ToolCallingModel: script(say("x"))}).Generate(ctx, nil, option)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, messagesOf(future), 1)
}

// Rule components/B13.5.2.
func TestFuture_CollectsEachOfTwoRuns(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		option, future := WithMessageFuture()
		a := newAgent(t, &AgentConfig{ToolCallingModel: script(say("1"), say("2"))})
		for i := range 2 {
			_, err := run(a, nil, option)
			require.NoError(t, err)
			require.Equal(t, []string{fmt.Sprintf("assistant: %d", i+1)}, messagesOf(future))
		}
	})
}

// Rule components/B13.5.2.
func TestFuture_ConcurrentRunsCollectOneOfThem(t *testing.T) {
	option, future := WithMessageFuture()
	var wg sync.WaitGroup
	for range 8 {
		for _, run := range runners {
			wg.Go(func() {
				a := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("a#1 x"), say("done"))},
					toolFunc{name: "a"}))
				if _, err := run(a, nil, option); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	require.Equal(t, []string{"assistant: [a#1]", "tool a#1: a(x)", "assistant: done"}, messagesOf(future),
		"one whole run")
}

// graphs that contain two agents, one after the other or side by side.
// Rule components/R15.
func TestFuture_TheOutermostRunOwnsIt(t *testing.T) {
	one := func() (compose.AnyGraph, []compose.GraphAddNodeOpt) {
		return newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("a#1 x"), say("one"))},
			toolFunc{name: "a"})).ExportGraph()
	}
	two := func() *Agent { return newAgent(t, &AgentConfig{ToolCallingModel: script(say("two"))}) }
	toList := func(_ context.Context, m *schema.Message) ([]*schema.Message, error) {
		return []*schema.Message{m}, nil
	}

	type compiled = compose.Runnable[[]*schema.Message, *schema.Message]
	builds := map[string]func() (compiled, error){
		"chain": func() (compiled, error) {
			c := compose.NewChain[[]*schema.Message, *schema.Message]()
			g1, opts1 := one()
			g2, opts2 := two().ExportGraph()
			c.AppendGraph(g1, opts1...).AppendLambda(compose.InvokableLambda(toList)).AppendGraph(g2, opts2...)
			return c.Compile(background)
		},
		"graph with a lambda": func() (compiled, error) {
			g := compose.NewGraph[[]*schema.Message, *schema.Message]()
			g1, opts1 := one()
			second := two()
			lambda := compose.InvokableLambda(func(ctx context.Context, m *schema.Message) (*schema.Message, error) {
				return second.Generate(ctx, []*schema.Message{m})
			})
			return compiledLine(g, g.AddGraphNode("1", g1, opts1...), g.AddLambdaNode("2", lambda))
		},
		"workflow": func() (compiled, error) {
			w := compose.NewWorkflow[[]*schema.Message, *schema.Message]()
			g1, opts1 := one()
			g2, opts2 := two().ExportGraph()
			w.AddGraphNode("1", g1, opts1...).AddInput(compose.START)
			w.AddLambdaNode("list", compose.InvokableLambda(toList)).AddInput("1")
			w.AddGraphNode("2", g2, opts2...).AddInput("list")
			w.End().AddInput("2")
			return w.Compile(background)
		},
	}
	want := []string{"assistant: [a#1]", "tool a#1: a(x)", "assistant: one", "assistant: two"}
	for name, build := range builds {
		t.Run(name, func(t *testing.T) {
			r, err := build()
			require.NoError(t, err)
			option, future := WithMessageFuture()
			_, err = r.Invoke(background, user("hi"), agent.GetComposeOptions(option)...)
			require.NoError(t, err)
			require.Equal(t, want, messagesOf(future))

			r, err = build()
			require.NoError(t, err)
			option, future = WithMessageFuture()
			s, err := r.Stream(background, user("hi"), agent.GetComposeOptions(option)...)
			require.NoError(t, err)
			s.Close()
			require.Equal(t, want, messagesOf(future))
		})
	}
}

// compiledLine compiles a graph whose nodes 1 and 2 follow one another.
func compiledLine[I, O any](g *compose.Graph[I, O], errs ...error) (compose.Runnable[I, O], error) {
	errs = append(errs, g.AddEdge(compose.START, "1"), g.AddEdge("1", "2"), g.AddEdge("2", compose.END))
	if err := firstError(errs...); err != nil {
		return nil, err
	}
	return g.Compile(background)
}

// Agents side by side end one after the other; only the end of the whole run counts.
// Rule components/B13.5.2.
func TestFuture_CollectsFromAgentsSideBySide(t *testing.T) {
	p := compose.NewParallel()
	for _, name := range []string{"x", "y"} {
		g, opts := newAgent(t, &AgentConfig{ToolCallingModel: script(say(name))}).ExportGraph()
		p.AddGraph(name, g, opts...)
	}
	r, err := compose.NewChain[[]*schema.Message, map[string]any]().AppendParallel(p).Compile(background)
	require.NoError(t, err)
	option, future := WithMessageFuture()
	_, err = r.Invoke(background, user("hi"), agent.GetComposeOptions(option)...)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"assistant: x", "assistant: y"}, messagesOf(future))
}

// An agent inside a tool adds to the future of the outer run, whether it streams or not, and may have one of its own.
// Rules components/R17, components/R18.
func TestFuture_CollectsFromAnAgentInATool(t *testing.T) {
	for _, innerStreams := range []bool{false, true} {
		inBothForms(t, func(t *testing.T, run runner) {
			inner := newAgent(t,
				withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("deep#9 z"), say("inner ", "answer"))},
					streamTool{"deep", chunks("d", "e")}))
			innerOption, innerFuture := WithMessageFuture()
			ask := toolFunc{name: "ask", run: func(ctx context.Context, args string) (string, error) {
				if !innerStreams {
					m, err := inner.Generate(ctx, user(args), innerOption)
					if err != nil {
						return "", err
					}
					return m.Content, nil
				}
				s, err := inner.Stream(ctx, user(args), innerOption)
				if err != nil {
					return "", err
				}
				m, err := schema.ConcatMessageStream(s)
				return m.Content, err
			}}
			outer := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("ask#1 x"), say("done"))}, ask))
			option, future := WithMessageFuture()
			_, err := run(outer, user("hi"), option)
			require.NoError(t, err)
			insideRun := []string{"assistant: [deep#9]", "tool deep#9: de", "assistant: inner answer"}
			want := append([]string{"assistant: [ask#1]"}, insideRun...)
			want = append(want, "tool ask#1: inner answer", "assistant: done")
			require.Equal(t, want, messagesOf(future))
			require.Equal(t, insideRun, messagesOf(innerFuture))
		})
	}
}

// failing streams a chunk and then an error.
type failingStream struct{ model.ToolCallingChatModel }

func (failingStream) Stream(context.Context, []*schema.Message,
	...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	sr, sw := schema.Pipe[*schema.Message](2)
	sw.Send(schema.AssistantMessage("a", nil), nil)
	sw.Send(nil, errBoom)
	sw.Close()
	return sr, nil
}

// Rule components/R18.
func TestFuture_AFailedStreamIsAnErrorItem(t *testing.T) {
	inner := newAgent(t, &AgentConfig{ToolCallingModel: failingStream{}})
	ask := toolFunc{name: "ask", run: func(ctx context.Context, args string) (string, error) {
		s, err := inner.Stream(ctx, user(args))
		if err == nil {
			_, err = schema.ConcatMessageStream(s)
		}
		if !errors.Is(err, errBoom) {
			t.Errorf("the inner run should have failed: %v", err)
		}
		return "failed", nil
	}}
	outer := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("ask#1 x"), say("done"))}, ask))
	option, future := WithMessageFuture()
	_, err := outer.Generate(background, user("hi"), option)
	require.NoError(t, err)
	got := messagesOf(future)
	require.Len(t, got, 4)
	require.Contains(t, got[1], "boom")
	require.Equal(t, "assistant: done", got[3])
}

// A streamed answer in a run of values is joined by the reader, not by the run.
// Rule components/B13.5.4.
func TestFuture_TheRunDoesNotWaitForStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &pipedModel{}
		inner := newAgent(t, &AgentConfig{ToolCallingModel: m,
			StreamToolCallChecker: func(context.Context, *schema.StreamReader[*schema.Message]) (bool, error) {
				return false, nil
			}})
		var s *schema.StreamReader[*schema.Message]
		ask := toolFunc{name: "ask", run: func(ctx context.Context, _ string) (_ string, err error) {
			s, err = inner.Stream(ctx, nil)
			return "later", err
		}}
		outer := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("ask#1 x"), say("done"))}, ask))
		option, future := WithMessageFuture()
		_, err := outer.Generate(background, nil, option)
		require.NoError(t, err, "the run ended before the stream")
		m.w.Send(schema.AssistantMessage("b", nil), nil)
		m.w.Close()
		s.Close()
		require.Equal(t, []string{"assistant: [ask#1]", "assistant: ab", "tool ask#1: later", "assistant: done"},
			messagesOf(future))
	})
}

// Rule components/R20.
func TestFuture_ZeroIteratorIsAtItsEnd(t *testing.T) {
	var none Iterator[string]
	v, ok, err := none.Next()
	require.Zero(t, v)
	require.False(t, ok)
	require.NoError(t, err)
	_, ok, _ = (*Iterator[int])(nil).Next()
	require.False(t, ok)
}

// The context of an ended run does not lead anywhere any more.
// Rule components/B13.5.2.
func TestFuture_DropsMessagesAfterTheEnd(t *testing.T) {
	f := &future{}
	f.changed.L = &f.mu
	h := &recorder{future: weak.Make(f)}
	graph := &callbacks.RunInfo{Component: compose.ComponentOfGraph}
	ctx := h.OnStart(background, graph, nil)
	nested := h.OnStart(ctx, graph, nil)
	require.Equal(t, nested, h.OnStart(nested, graph, nil))
	h.OnEnd(nested, graph, nil)
	h.OnError(nested, graph, errBoom)
	chat := &callbacks.RunInfo{Component: "ChatModel"}
	h.OnEnd(nested, chat, schema.AssistantMessage("in time", nil))
	h.OnEnd(ctx, graph, nil)
	h.OnEnd(ctx, graph, nil)
	h.OnEnd(ctx, chat, schema.AssistantMessage("late", nil))
	sr, sw := schema.Pipe[callbacks.CallbackOutput](1)
	h.OnEndWithStreamOutput(ctx, chat, sr)
	require.True(t, sw.Send(nil, nil), "the stream is closed")
	require.Equal(t, []string{"assistant: in time"}, messagesOf(f))
	runtime.KeepAlive(f)
}

// Messages that cannot be read any more are not kept, though the option and the run are still there.
// Rule components/B13.5.8.
func TestFuture_KeepsNothingWhenUnreachable(t *testing.T) {
	option, future := WithMessageFuture()
	var kept weak.Pointer[schema.Message]
	var during bool
	look := toolFunc{name: "look", run: func(context.Context, string) (string, error) {
		during = awaitCollected(func() bool { return kept.Value() == nil })
		return "", nil
	}}
	m := script(turn{}.calls("drop#1 x"), turn{}.calls("look#2 x"), say("done"))
	drop := toolFunc{name: "drop", run: func(ctx context.Context, _ string) (string, error) {
		for _, r := range recordsOf(ctx) {
			big := schema.AssistantMessage("big", nil)
			kept = weak.Make(big)
			r.add(recorded{message: big})
		}
		future = nil
		return "", nil
	}}
	_, err := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, drop, look)).Generate(background, nil, option)
	require.NoError(t, err)
	require.True(t, during, "the message was kept though nobody can read it")
	require.Nil(t, future)
	runtime.KeepAlive(option)
}

// An iterator is enough to continue reading.
// Rule components/B13.5.8.
func TestFuture_AnIteratorKeepsItsMessages(t *testing.T) {
	option, f := WithMessageFuture()
	dropped := weak.Make(f.(*future))
	var messages *Iterator[*schema.Message]
	drop := toolFunc{name: "drop", run: func(context.Context, string) (string, error) {
		messages = f.GetMessages()
		f = nil
		require.True(t, awaitCollected(func() bool { return dropped.Value() == nil }))
		return "dropped", nil
	}}
	_, err := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("drop#1 x"), say("done"))},
		drop)).Generate(background, nil, option)
	require.NoError(t, err)
	var got []string
	for m, ok, err := messages.Next(); ok; m, ok, err = messages.Next() {
		require.NoError(t, err)
		got = append(got, line(m))
	}
	require.Equal(t, []string{"assistant: [drop#1]", "tool drop#1: dropped", "assistant: done"}, got)
	runtime.KeepAlive(option)
}

// awaitCollected runs the collector until it has done what is asked for.
func awaitCollected(done func() bool) bool {
	for range 20 {
		runtime.GC()
		if done() {
			return true
		}
	}
	return false
}
