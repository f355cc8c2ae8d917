package adk

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	toolutils "github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
)

// forgiving gives the model the errors of tools to read.
func forgiving(tools ...tool.BaseTool) (out []tool.BaseTool) {
	for _, t := range tools {
		out = append(out, toolutils.WrapToolWithErrorHandler(t,
			func(_ context.Context, err error) string { return "failed: " + err.Error() }))
	}
	return out
}

// TestToolErrors_EndTheRunOrReachTheModel: by default a failed tool ends the run; with an error handler the error is a
// result for the model, and the run continues, for each form of tool.
func TestToolErrors_EndTheRunOrReachTheModel(t *testing.T) {
	bubbled(t, testErrorsForTheModel[ordinary], testErrorsForTheModel[agentic])
}

func testErrorsForTheModel[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, eager := range []bool{false, true} {
		for kind, f := range forms(func(context.Context) error { return errors.New("file not found") }) {
			m := says(d.answer("", wanted{"bad", "c1", object}), d.answer("done"))
			a := setup(t, m, forgiving(f.tool), func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = eager })
			all := read(t, bare(t.Context(), a, streaming))
			require.NoError(t, all[len(all)-1].Err, kind)
			require.Len(t, all, 3, kind)
			require.Contains(t, m.transcript()[1][2], "failed: file not found", kind)
		}
	}
}

// TestToolErrors_MalformedArguments: with an error handler the model gets to know which arguments a tool could not
// read, and why; an arguments handler may repair them before.
func TestToolErrors_MalformedArguments(t *testing.T) {
	bubbled(t, testMalformed[ordinary], testMalformed[agentic])
}

func testMalformed[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	type arguments struct {
		City string `json:"city"`
	}
	weather, err := toolutils.InferTool("weather", "tells the weather",
		func(_ context.Context, in arguments) (string, error) { return "sunny in " + in.City, nil })
	require.NoError(t, err)
	for _, c := range []struct {
		given  string
		repair bool
		want   string
	}{
		{`{"city":"Bonn"}`, false, "sunny in Bonn"},
		{`{"city":7}`, false, "failed: "},
		{`{"city":"Bonn"`, false, "failed: "},
		{`"{\"city\":\"Bonn\"}"`, false, "failed: "},
		{`{"city":"Bonn"`, true, "sunny in Bonn"},
	} {
		m := says(d.answer("", wanted{"weather", "c1", c.given}), d.answer("done"))
		a := setup(t, m, forgiving(weather), func(conf *TypedChatModelAgentConfig[M]) {
			if c.repair {
				conf.ToolsConfig.ToolArgumentsHandler = func(_ context.Context, _, arguments string) (string, error) {
					return arguments + "}", nil
				}
			}
		})
		all := read(t, bare(t.Context(), a, streaming))
		require.Equal(t, ended, linesOf(all)[len(all)-1], c.given)
		require.Contains(t, m.transcript()[1][2], c.want, c.given)
	}
}

// TestToolErrors_DeadlineForEveryTool: a deadline for every tool is a middleware; with an error handler inside it the
// expiry becomes a result, and the run continues.
func TestToolErrors_DeadlineForEveryTool(t *testing.T) {
	bubbled(t, testDeadlines[ordinary], testDeadlines[agentic])
}

func testDeadlines[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	hangs := &toolFunc{"t", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }}
	deadline := &hooked[M]{around: func(
		ctx context.Context, _ *ToolContext, args string,
	) (context.Context, string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		context.AfterFunc(ctx, cancel)
		return ctx, args, nil
	}}
	m := says(d.answer("", wanted{"t", "c1", object}, wanted{"t", "c2", object}), d.answer("done"))
	start := time.Now()
	all := read(t, bare(t.Context(), setup(t, m, forgiving(hangs), with[M](deadline)), streaming))
	require.Equal(t, ended, linesOf(all)[len(all)-1])
	require.Equal(t, "tool t#c1: failed: context deadline exceeded", m.transcript()[1][2])
	require.Equal(t, time.Second, time.Since(start))
}

// TestToolErrors_AMiddlewareThatMakesNoEndpoint: a middleware of the tools that makes no endpoint is an error of the
// calls.
func TestToolErrors_AMiddlewareThatMakesNoEndpoint(t *testing.T) {
	bubbled(t, testNoEndpoint[ordinary], testNoEndpoint[agentic])
}

func testNoEndpoint[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	a := setup(t, says(d.answer("", wanted{"t", "c1", object})), []tool.BaseTool{echo("t")},
		func(c *TypedChatModelAgentConfig[M]) {
			c.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{{Invokable: func(
				compose.InvokableToolEndpoint,
			) compose.InvokableToolEndpoint {
				return nil
			}}}
		})
	require.ErrorContains(t, endError(t, read(t, bare(t.Context(), a, streaming))), "tool[name:t id:c1]")
}
