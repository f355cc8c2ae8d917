package compose

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// askingGraph has a node that counts its runs and one that asks, with a state; its answer says what it found.
func askingGraph(t *testing.T, runs *int, ask func(ctx context.Context, in string) (string, error)) Runnable[string, string] {
	g := NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("before", InvokableLambda(func(_ context.Context, in string) (string, error) {
		*runs++
		return in + "-before", nil
	})))
	require.NoError(t, g.AddLambdaNode("asks", InvokableLambda(ask)))
	line(t, g, "before", "asks")
	return compiled[string, string](t, g, WithGraphName("inner"))
}

func asksWithState(ctx context.Context, in string) (string, error) {
	_, has, state := GetInterruptState[string](ctx)
	target, _, answer := GetResumeContext[string](ctx)
	if !target {
		return "", StatefulInterrupt(ctx, "may "+in+"?", "state of "+in)
	}
	return fmt.Sprintf("%s/%v:%s/%s", in, has, state, answer), nil
}

// overGraph is a runnable of a tools node whose tools are in the given runnables, with a store.
func overTools(t *testing.T, store CheckPointStore, tools ...tool.BaseTool) Runnable[*schema.Message, []*schema.Message] {
	g := NewGraph[*schema.Message, []*schema.Message]()
	require.NoError(t, g.AddToolsNode("tools", toolsNode(t, ToolsNodeConfig{Tools: tools})))
	line(t, g, "tools")
	return compiled[*schema.Message, []*schema.Message](t, g, WithCheckPointStore(store), WithGraphName("outer"))
}

// A graph without a checkpoint ID, called by a tool, runs again when the tool does, and the node that asked finds its state,
// also in another process.
// Rule compose/S21.9.
func TestKeptRun_ANodeInAToolFindsItsState(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprintf("streaming=%v twice=%v", streaming, twice), func(t *testing.T) {
				runs := 0
				build := func(store CheckPointStore) Runnable[*schema.Message, []*schema.Message] {
					inner := askingGraph(t, &runs, asksWithState)
					call := func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
						if !streaming {
							return inner.Invoke(ctx, args)
						}
						s, err := inner.Stream(ctx, args)
						if err != nil {
							return "", err
						}
						return joinStream(s)
					}
					if !twice {
						return overTools(t, store, &invokable{"pay", call})
					}
					mid := NewGraph[*schema.Message, []*schema.Message]()
					require.NoError(t, mid.AddToolsNode("tools", toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{&invokable{"pay", call}}})))
					line(t, mid, "tools")
					middle := compiled[*schema.Message, []*schema.Message](t, mid, WithGraphName("mid"))
					return overTools(t, store, &invokable{"desk", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
						out, err := middle.Invoke(ctx, calls("pay:"+args))
						if err != nil {
							return "", err
						}
						return out[0].Content, nil
					}})
				}
				store := newStore()
				name := map[bool]string{false: "pay:40", true: "desk:40"}[twice]
				_, err := build(store).Invoke(t.Context(), calls(name), WithCheckPointID("id"))
				causes := interrupted(t, err).InterruptContexts
				require.Len(t, causes, 1)
				require.Equal(t, "may 40-before?", causes[0].Info)
				out, err := build(store).Invoke(ResumeWithData(t.Context(), causes[0].ID, "yes"), calls(name), WithCheckPointID("id"))
				require.NoError(t, err)
				require.Equal(t, "40-before/true:state of 40-before/yes", out[0].Content)
				require.Equal(t, 2, runs)
			})
		}
	}
}

// A tool runs one graph for several inputs, one after the other: the node of the run that was interrupted finds its
// state, and the node of the run before, which the tool makes again, does not.
func TestKeptRun_IsFoundByItsInput(t *testing.T) {
	store, runs := newStore(), 0
	inner := askingGraph(t, &runs, func(ctx context.Context, in string) (string, error) {
		if in == "a-before" {
			was, _, _ := GetInterruptState[string](ctx)
			return fmt.Sprintf("%s/%v", in, was), nil
		}
		return asksWithState(ctx, in)
	})
	outer := overTools(t, store, &invokable{"both", func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
		a, err := inner.Invoke(ctx, "a")
		if err != nil {
			return "", err
		}
		b, err := inner.Invoke(ctx, "b")
		return a + " " + b, err
	}})
	_, err := outer.Invoke(t.Context(), calls("both:x"), WithCheckPointID("id"))
	causes := interrupted(t, err).InterruptContexts
	out, err := outer.Invoke(ResumeWithData(t.Context(), causes[0].ID, "yes"), calls("both:x"), WithCheckPointID("id"))
	require.NoError(t, err)
	require.Equal(t, "a-before/false b-before/true:state of b-before/yes", out[0].Content)
}

// Points of several calls are answered one by one, and each run stays its own.
func TestKeptRun_CallsSideBySideStayApart(t *testing.T) {
	store, runs := newStore(), 0
	inner := askingGraph(t, &runs, asksWithState)
	outer := NewGraph[*schema.Message, []*schema.Message]()
	require.NoError(t, outer.AddToolsNode("tools", toolsNode(t, ToolsNodeConfig{ExecuteSequentially: true, Tools: []tool.BaseTool{
		&invokable{"pay", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
			return inner.Invoke(ctx, args)
		}}}})))
	line(t, outer, "tools")
	r := compiled[*schema.Message, []*schema.Message](t, outer, WithCheckPointStore(store))
	_, err := r.Invoke(t.Context(), calls("pay:1", "pay:2"), WithCheckPointID("id"))
	causes := interrupted(t, err).InterruptContexts
	require.Len(t, causes, 2)
	_, err = r.Invoke(ResumeWithData(t.Context(), causes[1].ID, "second"), calls(), WithCheckPointID("id"))
	causes = interrupted(t, err).InterruptContexts
	require.Len(t, causes, 1)
	require.Equal(t, "may 1-before?", causes[0].Info)
	out, err := r.Invoke(ResumeWithData(t.Context(), causes[0].ID, "first"), calls(), WithCheckPointID("id"))
	require.NoError(t, err)
	require.Equal(t, "1-before/true:state of 1-before/first", out[0].Content)
	require.Equal(t, "2-before/true:state of 2-before/second", out[1].Content)
}

// The node of an agentic message's tools keeps the states in the same way.
func TestKeptRun_UnderAgenticTools(t *testing.T) {
	store, runs := newStore(), 0
	inner := askingGraph(t, &runs, asksWithState)
	node, err := NewAgenticToolsNode(t.Context(), &ToolsNodeConfig{Tools: []tool.BaseTool{
		&invokable{"pay", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
			return inner.Invoke(ctx, args)
		}}}})
	require.NoError(t, err)
	g := NewGraph[*schema.AgenticMessage, []*schema.AgenticMessage]()
	require.NoError(t, g.AddAgenticToolsNode("tools", node))
	line(t, g, "tools")
	r := compiled[*schema.AgenticMessage, []*schema.AgenticMessage](t, g, WithCheckPointStore(store))
	in := &schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{
		schema.NewContentBlock(&schema.FunctionToolCall{CallID: "c", Name: "pay", Arguments: "40"})}}
	_, err = r.Invoke(t.Context(), in, WithCheckPointID("id"))
	causes := interrupted(t, err).InterruptContexts
	out, err := r.Invoke(ResumeWithData(t.Context(), causes[0].ID, "yes"), in, WithCheckPointID("id"))
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(out[0]), "40-before/true:state of 40-before/yes")
}
