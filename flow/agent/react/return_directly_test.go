package react

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

func returning(name string) toolFunc {
	return toolFunc{name: name, run: func(ctx context.Context, args string) (string, error) {
		return name + " returns " + args, SetReturnDirectly(ctx)
	}}
}

// Rules components/R6, components/R7.
func TestReact_ReturnsTheResultOfATool(t *testing.T) {
	direct := map[string]struct{}{"d": {}, "e": {}}
	cases := map[string]struct {
		turn  turn
		tools []tool.BaseTool
		want  string
	}{
		"by the configuration":          {turn{}.calls("a#1 x", "d#2 y"), nil, "tool d#2: d(y)"},
		"the first of several":          {turn{}.calls("a#1 x", "e#2 y", "d#3 z"), nil, "tool e#2: e(y)"},
		"without an ID":                 {turn{}.calls("a# x", "d# y"), nil, "tool d#: d(y)"},
		"all calls have one ID":         {turn{}.calls("a#1 x", "d#1 y", "a#1 z"), nil, "tool d#1: d(y)"},
		"asked for by the tool":         {turn{}.calls("a#1 x", "r#2 y"), nil, "tool r#2: r returns y"},
		"the tool wins over the config": {turn{}.calls("d#1 x", "r#2 y"), nil, "tool r#2: r returns y"},
		"asked for without an ID":       {turn{}.calls("a# x", "r# y"), nil, "tool r#: r returns y"},
		"asked for with a doubled ID":   {turn{}.calls("a#1 x", "r#1 y"), nil, "tool r#1: r returns y"},
		"a streaming tool": {turn{}.calls("e#1 y"), []tool.BaseTool{streamTool{"e", chunks("1", "2")}},
			"tool e#1: 12"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBothForms(t, func(t *testing.T, run runner) {
				ran := 0
				a := toolFunc{name: "a", run: func(context.Context, string) (string, error) { ran++; return "a", nil }}
				m := script(c.turn)
				conf := AgentConfig{ToolCallingModel: m, ToolReturnDirectly: direct}
				conf.ToolsConfig.ExecuteSequentially = true
				tools := append([]tool.BaseTool{a, toolFunc{name: "d"}, toolFunc{name: "e"}, returning("r")}, c.tools...)
				out, err := run(newAgent(t, withTools(conf, tools...)), user("hi"))
				require.NoError(t, err)
				require.Equal(t, c.want, out)
				require.Len(t, m.seen, 1, "the model is not asked again")
				last := c.turn[len(c.turn)-1].ToolCalls
				for _, tc := range last {
					if tc.Function.Name == "a" {
						ran--
					}
				}
				require.Zero(t, ran, "the other tools run, too")
			})
		})
	}
}

// What one round of tools decides does not hold for the next.
// Rule components/R6.
func TestReact_EveryRoundDecidesAnewToReturn(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		m := script(turn{}.calls("a#1 x"), turn{}.calls("d#1 y"))
		a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m, ToolReturnDirectly: map[string]struct{}{"d": {}}},
			toolFunc{name: "a"}, toolFunc{name: "d"}))
		out, err := run(a, user("hi"))
		require.NoError(t, err)
		require.Equal(t, "tool d#1: d(y)", out)
		require.Len(t, m.seen, 2)
	})
}

// Rule components/R6.
func TestReact_SetReturnDirectlyFailsOutsideATool(t *testing.T) {
	require.EqualError(t, SetReturnDirectly(background), "get state from context fail: have not set state")
	var err error
	a := newAgent(t, &AgentConfig{ToolCallingModel: script(say("x")),
		MessageModifier: func(ctx context.Context, in []*schema.Message) []*schema.Message {
			return in
		}, StreamToolCallChecker: func(ctx context.Context, _ *schema.StreamReader[*schema.Message]) (bool, error) {
			err = SetReturnDirectly(ctx)
			return false, nil
		}})
	_, runErr := a.Generate(background, nil)
	require.NoError(t, runErr)
	require.ErrorContains(t, err, "not a tool call")
}

// A streaming tool may decide while it streams; until then other results wait.
// Rule components/B13.5.7.
func TestReact_AStreamingToolMayDecideLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := streamTool{name: "late", run: func(ctx context.Context, _ string) (*schema.StreamReader[string], error) {
			sr, sw := schema.Pipe[string](0)
			go func() {
				defer sw.Close()
				sw.Send("1", nil)
				time.Sleep(time.Second)
				if err := SetReturnDirectly(ctx); err != nil {
					sw.Send("", err)
				}
				sw.Send("2", nil)
			}()
			return sr, nil
		}}
		m := script(turn{}.calls("a#1 x", "late#2 y"))
		out, err := runners["Stream"](newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"}, late)),
			user("hi"))
		require.NoError(t, err)
		require.Equal(t, "tool late#2: 12", out)
	})
}

// What returns directly is streamed as the tool makes it.
// Rule components/R7.
func TestReact_DirectResultsStreamLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := streamTool{name: "d", run: func(context.Context, string) (*schema.StreamReader[string], error) {
			sr, sw := schema.Pipe[string](0)
			go func() {
				defer sw.Close()
				sw.Send("1", nil)
				time.Sleep(time.Second)
				sw.Send("2", nil)
			}()
			return sr, nil
		}}
		a := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("d#1 x")),
			ToolReturnDirectly: map[string]struct{}{"d": {}}}, slow))
		begin := time.Now()
		s, err := a.Stream(background, user("hi"))
		require.NoError(t, err)
		first, err := s.Recv()
		require.NoError(t, err)
		require.Equal(t, "1", first.Content)
		require.Zero(t, time.Since(begin))
		rest, err := schema.ConcatMessageStream(s)
		require.NoError(t, err)
		require.Equal(t, "2", rest.Content)
	})
}

func TestReact_ErrorsInsideAToolStreamFailTheRun(t *testing.T) {
	inBothForms(t, func(t *testing.T, run runner) {
		bad := streamTool{name: "b", run: func(context.Context, string) (*schema.StreamReader[string], error) {
			sr, sw := schema.Pipe[string](2)
			sw.Send("1", nil)
			sw.Send("", errBoom)
			sw.Close()
			return sr, nil
		}}
		_, err := run(newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("b#1 x"), say("no"))}, bad)),
			user("hi"))
		require.ErrorIs(t, err, errBoom)
	})
}
