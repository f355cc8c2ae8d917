package compose

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// ofGraphs are the moments that are reported of graphs, without nodes.
func ofGraphs(all []moment) (of []string) {
	for _, m := range all {
		if m.component == string(ComponentOfGraph) {
			of = append(of, strings.TrimSuffix(m.timing, " stream")+" "+m.name)
		}
	}
	return of
}

// Three graphs in one another, each with a node that asks, resumed one after the other: each attempt starts the graphs
// that it enters and fails those that are interrupted. A nested graph adds the place of its node only.
// Rules compose/S21.3, compose/I-9.
func TestInterrupt_ThreeLevelsResumeStepByStep(t *testing.T) {
	for mode, opts := range modes {
		t.Run(mode, func(t *testing.T) {
			forEachRunKind(t, func(t *testing.T, call caller) {
				var g *Graph[string, string]
				for _, level := range []string{"inner", "mid", "root"} {
					outer := NewGraph[string, string]()
					keys := []string{"before", "asks"}
					require.NoError(t, outer.AddLambdaNode("before", suffix("-"+level)))
					require.NoError(t, outer.AddLambdaNode("asks", asks(level)))
					if g != nil {
						require.NoError(t, outer.AddGraphNode("sub", g, WithNodeName(level+"'s sub"), WithGraphCompileOptions(opts...)))
						keys = append(keys, "sub")
					}
					line(t, outer, keys...)
					g = outer
				}
				r := compiled[string, string](t, g, append(opts, WithCheckPointStore(newStore()), WithGraphName("root"))...)
				const mid, inner = "root's sub", "mid's sub"
				attempts := []struct {
					asked   string
					address string
					moments []string
				}{
					{"root", "runnable:root;node:asks", []string{"start root", "error root"}},
					{"mid", "runnable:root;node:sub;node:asks", []string{"start root", "start " + mid, "error " + mid, "error root"}},
					{"inner", "runnable:root;node:sub;node:sub;node:asks",
						[]string{"start root", "start " + mid, "start " + inner, "error " + inner, "error " + mid, "error root"}},
				}
				ctx := context.Background()
				for _, a := range attempts {
					var moments []moment
					_, err := call(r, ctx, WithCheckPointID("id"), WithCallbacks(recorder(&moments)))
					causes := interrupted(t, err).InterruptContexts
					require.Len(t, causes, 1)
					require.Equal(t, a.asked, causes[0].Info)
					require.Equal(t, a.address, causes[0].Address.String())
					require.Equal(t, a.moments, ofGraphs(moments))
					ctx = ResumeWithData(context.Background(), causes[0].ID, "!")
				}
				var moments []moment
				out, err := call(r, ctx, WithCheckPointID("id"), WithCallbacks(recorder(&moments)))
				require.NoError(t, err)
				require.Equal(t, "x-root!-mid!-inner!", out)
				require.Equal(t, []string{"start root", "start " + mid, "start " + inner, "end " + inner, "end " + mid, "end root"},
					ofGraphs(moments))
			})
		})
	}
}

// A loop of a model and tools: two calls of one tool ask, they are answered one by one, and a later call of the same
// tool finds nothing of them. A call that is not resumed asks again, one that is done
// does not run again.
// Rules compose/S21.4, compose/U-8, components/T11.
func TestInterrupt_AReActLoopAsksAgainOnlyWhatIsOpen(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming=%v", streaming), func(t *testing.T) {
			var seen []string // by the tool and by its node, in each of their runs
			ask := &invokable{"ask", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
				was, _, saved := tool.GetInterruptState[string](ctx)
				target, has, answer := tool.GetResumeContext[string](ctx)
				seen = append(seen, fmt.Sprintf("%s was=%v target=%v", args, was, target))
				if args == "new" {
					return "new result", nil
				}
				if has {
					return saved + answer, nil
				}
				return "", tool.StatefulInterrupt(ctx, "q"+args, args)
			}}
			turns := [][]string{{"ask:1", "ask:2"}, {"ask:new"}}
			model := InvokableLambda(func(_ context.Context, in []*schema.Message) (*schema.Message, error) {
				if len(turns) == 0 {
					return schema.AssistantMessage(in[0].Content, nil), nil
				}
				names := turns[0]
				turns = turns[1:]
				return calls(names...), nil
			})
			g := NewGraph[[]*schema.Message, *schema.Message](WithGenLocalState(func(context.Context) *counters {
				return &counters{}
			}))
			require.NoError(t, g.AddLambdaNode("model", model))
			require.NoError(t, g.AddToolsNode("tools",
				toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{ask}, ExecuteSequentially: true}),
				WithStatePreHandler(func(ctx context.Context, in *schema.Message, _ *counters) (*schema.Message, error) {
					target, _, _ := GetResumeContext[any](ctx)
					seen = append(seen, fmt.Sprintf("tools target=%v", target))
					return in, nil
				})))
			require.NoError(t, g.AddEdge(START, "model"))
			require.NoError(t, g.AddBranch("model", NewGraphBranch(func(_ context.Context, m *schema.Message) (string, error) {
				if len(m.ToolCalls) > 0 {
					return "tools", nil
				}
				return END, nil
			}, map[string]bool{"tools": true, END: true})))
			require.NoError(t, g.AddEdge("tools", "model"))
			r := compiled[[]*schema.Message, *schema.Message](t, g, WithCheckPointStore(newStore()))
			run := func(ctx context.Context) (*schema.Message, error) {
				seen = nil
				if !streaming {
					return r.Invoke(ctx, nil, WithCheckPointID("id"))
				}
				s, err := r.Stream(ctx, nil, WithCheckPointID("id"))
				if err != nil {
					return nil, err
				}
				return concatStream(s)
			}

			_, err := run(context.Background())
			causes := interrupted(t, err).InterruptContexts
			require.Len(t, causes, 2)
			require.Equal(t, []string{"tools target=false", "1 was=false target=false", "2 was=false target=false"}, seen)

			_, err = run(ResumeWithData(context.Background(), causes[1].ID, "!"))
			causes = interrupted(t, err).InterruptContexts
			require.Len(t, causes, 1)
			require.Equal(t, "q1", causes[0].Info)
			require.Equal(t, []string{"tools target=true", "1 was=true target=false", "2 was=true target=true"}, seen)

			out, err := run(ResumeWithData(context.Background(), causes[0].ID, "?"))
			require.NoError(t, err)
			require.Equal(t, "new result", out.Content)
			require.Equal(t, []string{"tools target=true", "1 was=true target=true", "tools target=false",
				"new was=false target=false"}, seen)
		})
	}
}

// A tool that runs a graph of its own, which keeps no checkpoint, is a resume target because what asked lies in it.
// The address says which tool, which call and which runnable.
// Rules compose/S21.6, compose/I-9.
func TestInterrupt_AToolAroundAGraphIsATarget(t *testing.T) {
	inner := NewGraph[string, string]()
	require.NoError(t, inner.AddLambdaNode("leaf", InvokableLambda(func(ctx context.Context, in string) (string, error) {
		if _, has, answer := GetResumeContext[string](ctx); has {
			return in + answer, nil
		}
		return "", Interrupt(ctx, "q")
	})))
	line(t, inner, "leaf")
	innerRun := compiled[string, string](t, inner, WithGraphName("inner"))
	var seen []string
	wraps := &invokable{"wraps", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
		was, _, saved := tool.GetInterruptState[string](ctx)
		target, has, _ := tool.GetResumeContext[any](ctx)
		seen = append(seen, fmt.Sprintf("%s was=%v target=%v data=%v", args, was, target, has))
		if was {
			args = saved
		}
		out, err := innerRun.Invoke(ctx, args)
		if err != nil {
			return "", tool.CompositeInterrupt(ctx, nil, args, err)
		}
		return out, nil
	}}
	for _, sequential := range []bool{false, true} {
		seen = nil
		g := NewGraph[*schema.Message, []*schema.Message]()
		require.NoError(t, g.AddToolsNode("tools",
			toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{wraps}, ExecuteSequentially: sequential})))
		line(t, g, "tools")
		r := compiled[*schema.Message, []*schema.Message](t, g, WithGraphName("root"), WithCheckPointStore(newStore()))
		_, err := r.Invoke(context.Background(), calls("wraps:x"), WithCheckPointID("id"))
		causes := interrupted(t, err).InterruptContexts
		require.Len(t, causes, 1)
		require.Equal(t, "runnable:root;node:tools;tool:wraps:c0;runnable:inner;node:leaf", causes[0].Address.String())

		_, err = r.Invoke(context.Background(), nil, WithCheckPointID("id")) // no point is resumed
		causes = interrupted(t, err).InterruptContexts
		out, err := r.Invoke(ResumeWithData(context.Background(), causes[0].ID, "!"), nil, WithCheckPointID("id"))
		require.NoError(t, err)
		require.Equal(t, "x!", out[0].Content)
		require.Equal(t, []string{"x was=false target=false data=false", "x was=true target=true data=false",
			"x was=true target=true data=false"}, seen)
	}
}
