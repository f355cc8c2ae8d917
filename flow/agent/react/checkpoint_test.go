package react

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/flow/agent"
	"github.com/weftgo/weft/schema"
)

// store is an in-memory checkpoint store.
type store struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (s *store) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.data[id]
	return data, ok, nil
}

func (s *store) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = map[string][]byte{}
	}
	s.data[id] = data
	return nil
}

// stored is an agent as the only node of a chain that can be saved.
func stored(t *testing.T, a *Agent,
	opts ...compose.GraphCompileOption,
) compose.Runnable[[]*schema.Message, *schema.Message] {
	t.Helper()
	g, addOpts := a.ExportGraph()
	r, err := compose.NewChain[[]*schema.Message, *schema.Message]().AppendGraph(g, addOpts...).
		Compile(background, append(opts, compose.WithCheckPointStore(&store{}))...)
	require.NoError(t, err)
	return r
}

// call runs r either way.
func call(ctx context.Context, r compose.Runnable[[]*schema.Message, *schema.Message], streaming bool,
	opts ...compose.Option,
) (string, error) {
	opts = append(opts, compose.WithCheckPointID("1"))
	if !streaming {
		m, err := r.Invoke(ctx, user("hi"), opts...)
		return line(m), err
	}
	s, err := r.Stream(ctx, user("hi"), opts...)
	if err != nil {
		return "", err
	}
	m, err := schema.ConcatMessageStream(s)
	return line(m), err
}

func inBothModes(t *testing.T, test func(t *testing.T, streaming bool)) {
	for _, streaming := range []bool{false, true} {
		t.Run(map[bool]string{false: "Invoke", true: "Stream"}[streaming], func(t *testing.T) { test(t, streaming) })
	}
}

// asking interrupts once, and answers what it is resumed with.
func asking(name string) toolFunc {
	return toolFunc{name: name, run: func(ctx context.Context, _ string) (string, error) {
		if resumed, _, answer := compose.GetResumeContext[string](ctx); resumed {
			return answer, nil
		}
		return "", compose.Interrupt(ctx, "what now?")
	}}
}

// Rules components/R1, components/R4.
func TestReact_AToolMayInterrupt(t *testing.T) {
	inBothModes(t, func(t *testing.T, streaming bool) {
		m := script(turn{}.calls("a#1 x", "ask#2 y"), say("done"))
		r := stored(t, newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"}, asking("ask"))))
		_, err := call(background, r, streaming)
		info, ok := compose.ExtractInterruptInfo(err)
		require.True(t, ok, "%v", err)

		ctx := compose.ResumeWithData(background, info.InterruptContexts[0].ID, "proceed")
		option, future := WithMessageFuture()
		out, err := call(ctx, r, streaming, agent.GetComposeOptions(option)...)
		require.NoError(t, err)
		require.Equal(t, "assistant: done", out)
		require.Equal(t, []string{"user: hi", "assistant: [a#1][ask#2]", "tool a#1: a(x)", "tool ask#2: proceed"}, m.seen[1])
		require.Equal(t, []string{"tool ask#2: proceed", "assistant: done"}, messagesOf(future),
			"what was done before is not emitted again")
	})
}

// Rule components/R4.
func TestReact_ReturnDirectlySurvivesAnInterrupt(t *testing.T) {
	setting := toolFunc{name: "set", run: func(ctx context.Context, _ string) (string, error) {
		return "set", SetReturnDirectly(ctx)
	}}
	cases := map[string]struct {
		turn turn
		want string
	}{
		"by the configuration":  {turn{}.calls("ask#1 x", "a#2 y"), "tool ask#1: proceed"},
		"asked for by the tool": {turn{}.calls("ask#1 x", "set#2 y"), "tool set#2: set"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, streaming bool) {
				m := script(c.turn)
				r := stored(t,
					newAgent(t, withTools(AgentConfig{ToolCallingModel: m, ToolReturnDirectly: map[string]struct{}{"ask": {}}},
						toolFunc{name: "a"}, setting, asking("ask"))))
				_, err := call(background, r, streaming)
				info, ok := compose.ExtractInterruptInfo(err)
				require.True(t, ok, "%v", err)
				out, err := call(compose.ResumeWithData(background, info.InterruptContexts[0].ID, "proceed"), r, streaming)
				require.NoError(t, err)
				require.Equal(t, c.want, out)
			})
		})
	}
}

// A pause between the nodes leaves the history as it would be without one.
// Rule components/R1.
func TestReact_APauseBeforeANodeKeepsTheHistory(t *testing.T) {
	for _, node := range []string{modelKey, toolsKey} {
		t.Run(node, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, streaming bool) {
				m := script(turn{}.calls("a#1 x"), say("done"))
				a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"}))
				g := compose.NewGraph[[]*schema.Message, *schema.Message]()
				inner, _ := a.ExportGraph()
				require.NoError(t, firstError(
					g.AddGraphNode("agent", inner, compose.WithGraphCompileOptions(compose.WithInterruptBeforeNodes([]string{node}))),
					g.AddEdge(compose.START, "agent"), g.AddEdge("agent", compose.END)))
				r, err := g.Compile(background, compose.WithCheckPointStore(&store{}))
				require.NoError(t, err)
				var out string
				for range 3 {
					if out, err = call(background, r, streaming); err == nil {
						break
					}
					_, ok := compose.ExtractInterruptInfo(err)
					require.True(t, ok, "%v", err)
				}
				require.NoError(t, err)
				require.Equal(t, "assistant: done", out)
				require.Equal(t, []string{"user: hi", "assistant: [a#1]", "tool a#1: a(x)"}, m.seen[1])
			})
		})
	}
}

// A node that is given up in the middle starts again with the input it had: the history has that once.
// Rule components/R1.
func TestReact_AnAbandonedNodeStartsAgainWithItsInput(t *testing.T) {
	for _, slow := range []string{"model", "tool"} {
		for _, streaming := range []bool{false, true} {
			t.Run(slow, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var hung atomic.Bool
					hang := func() {
						if hung.CompareAndSwap(false, true) {
							time.Sleep(time.Minute)
						}
					}
					m := script(turn{}.calls("a#1 x"), turn{}.calls("a#1 x"), say("done"))
					if slow == "model" {
						m.touch = func([]*schema.Message) { hang() }
					} else {
						m.turns = m.turns[1:]
					}
					var a tool.BaseTool = toolFunc{name: "a", run: func(context.Context, string) (string, error) {
						if slow == "tool" {
							hang()
						}
						return "a", nil
					}}
					r := stored(t, newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, a)))
					ctx, interrupt := compose.WithGraphInterrupt(background)
					time.AfterFunc(time.Second, func() { interrupt(compose.WithGraphInterruptTimeout(time.Second)) })
					_, err := call(ctx, r, streaming)
					_, ok := compose.ExtractInterruptInfo(err)
					require.True(t, ok, "%v", err)
					time.Sleep(time.Hour) // the abandoned node ends

					out, err := call(background, r, streaming)
					require.NoError(t, err)
					require.Equal(t, "assistant: done", out)
					require.Equal(t, []string{"user: hi", "assistant: [a#1]", "tool a#1: a"}, m.seen[len(m.seen)-1])
				})
			})
		}
	}
}
