package adk

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// countedInfo counts how often a tool is asked what it is.
type countedInfo struct {
	tool.InvokableTool
	asked *atomic.Int32
}

func (c countedInfo) Info(ctx context.Context) (*schema.ToolInfo, error) {
	c.asked.Add(1)
	return c.InvokableTool.Info(ctx)
}

// TestFootprint_OnePlan: an agent is made ready once. Runs with the same tools share what was made of them, whether the
// tools come from the configuration or from BeforeAgent.
// Rules agent/B19.1, agent/B19.2, agent/B19.3, agent/B19.4.
func TestFootprint_OnePlan(t *testing.T) {
	t.Run("ordinary", testOnePlan[ordinary])
	t.Run("agentic", testOnePlan[agentic])
}

func testOnePlan[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	var asked atomic.Int32
	counted := func(name string) tool.BaseTool {
		return &countedInfo{echo(name).(tool.InvokableTool), &asked}
	}
	more := counted("more")
	for name, c := range map[string]struct {
		before func(rc *ChatModelAgentContext)
		// times counts the calls of Info.
		times int32
	}{
		"no hook":        {nil, 2},
		"unchanged":      {func(*ChatModelAgentContext) {}, 2},
		"copied":         {func(rc *ChatModelAgentContext) { rc.Tools = append([]tool.BaseTool(nil), rc.Tools...) }, 2},
		"same additions": {func(rc *ChatModelAgentContext) { rc.Tools = append(rc.Tools, more) }, 2 + 4},
	} {
		asked.Store(0)
		var change []func(*TypedChatModelAgentConfig[M])
		if c.before != nil {
			change = append(change,
				with[M](&hooked[M]{beforeAgent: func(
					ctx context.Context, rc *ChatModelAgentContext,
				) (context.Context, *ChatModelAgentContext, error) {
					c.before(rc)
					return ctx, rc, nil
				}}))
		}
		a := setup(t, &parrot[M]{d.answer("done")}, []tool.BaseTool{counted("t")}, change...)
		for range 5 {
			require.Len(t, read(t, bare(t.Context(), a, false)), 3)
		}
		require.Equal(t, c.times, asked.Load(), "%s: by the agent for the model, and by its tools node", name)
	}
}

// TestFootprint_Goroutines: a run has one goroutine, and one more for what is in flight if it can be cancelled,
// however many agents and layers there are around it and whatever streams. None waits for anybody.
// Rules agent/B19.2, agent/B19.6, agent/B19.7.
func TestFootprint_Goroutines(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, cancellable := range []bool{false, true} {
			for _, inside := range []string{"model", "tool"} {
				t.Run(fmt.Sprint(streaming, cancellable, inside), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						want := 1
						if cancellable {
							want = 2
						}
						require.Equal(t, want, goroutinesInside(t, inside, streaming, cancellable))
					})
				})
			}
		}
	}
}

// goroutinesInside counts the goroutines of a run while its model or tool works.
func goroutinesInside(t *testing.T, inside string, streaming, cancellable bool) (count int) {
	release := make(chan struct{})
	m := says(chatAnswer("", wanted{"t", "1", object}), chatAnswer("done"))
	m.hook = func(_ context.Context, turn int, _ []Message) error {
		if inside == "model" && turn == 1 {
			<-release
		}
		return nil
	}
	works := &streamToolFunc{"t", func(context.Context, string) (*schema.StreamReader[string], error) {
		if inside == "tool" {
			<-release
		}
		return schema.StreamReaderFromArray([]string{"a", "b"}), nil
	}}
	seq, err := NewSequentialAgent(t.Context(),
		&SequentialAgentConfig{Name: "inner", SubAgents: []Agent{setup(t, model.BaseChatModel(m), []tool.BaseTool{works})}})
	require.NoError(t, err)
	seq, err = NewSequentialAgent(t.Context(), &SequentialAgentConfig{Name: "outer", SubAgents: []Agent{seq}})
	require.NoError(t, err)
	var opts []AgentRunOption
	if cancellable {
		option, _ := WithCancel()
		opts = append(opts, option)
	}
	before := bubbleGoroutines()
	it := ask(t.Context(), Agent(seq), streaming, opts...)
	synctest.Wait()
	count = bubbleGoroutines() - before
	close(release)
	synctest.Wait() // the events are not read until the run is over
	require.Len(t, read(t, it), 3)
	return count
}

// bubbleGoroutines counts the goroutines of the test's bubble.
func bubbleGoroutines() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	own := regexp.MustCompile(`synctest bubble \d+\]`).Find(stacks) // the caller comes first
	return bytes.Count(stacks, own)
}

// TestFootprint_MessageIDs: an ID costs its text, and many goroutines make them without meeting.
// Rule agent/B19.11.
func TestFootprint_MessageIDs(t *testing.T) {
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { _ = newMessageID() }), 1.0)
	var ids sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5000 {
				if _, twice := ids.LoadOrStore(newMessageID(), true); twice {
					t.Error("an ID was made twice")
				}
			}
		})
	}
	all.Wait()
}

// TestOptions_AgentToolOptionsKeepTheirOrder: of several options for an agent that runs as a tool, the last
// one counts, in every run.
// Rule agent/B19.34.
func TestOptions_AgentToolOptionsKeepTheirOrder(t *testing.T) {
	flavored := func(v string) AgentRunOption {
		return WithChatModelOptions([]model.Option{model.WrapImplSpecificOptFn(func(o *modelFlavor) { o.v = v })})
	}
	for range 20 {
		m := says(chatAnswer("inner done"))
		outer := newOrdinary(t, "outer", recall(callOf("inner", "o", `{"request":"do"}`), chatAnswer("outer done")),
			NewAgentTool(t.Context(), newOrdinary(t, "inner", m)))
		read(t, ask(t.Context(), Agent(outer), false, WithAgentToolRunOptions(map[string][]AgentRunOption{
			"other": {flavored("another's")}, "inner": {flavored("1"), flavored("2"), flavored("3")},
			"third": {flavored("a third's")}})))
		require.Equal(t, "3", model.GetImplSpecificOptions(&modelFlavor{"none"}, m.options[0]...).v)
	}
}

// Nothing keeps an eager run in memory in which a call failed beside another one, though the caller's context lives on.
func TestFootprint_EagerRunsWithAFailedCallAreCollected(t *testing.T) {
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	fails := &toolFunc{"fails", func(context.Context, string) (string, error) { return "", errBroken }}
	waits := &toolFunc{"waits", func(ctx context.Context, _ string) (string, error) {
		context.AfterFunc(ctx, func() {}) // what waits for the end of the context
		return "", errBroken
	}}
	type key struct{}
	for name, beside := range map[string]tool.BaseTool{"fails": fails, "echo": echo("echo"), "waits": waits} {
		var runs []weak.Pointer[[64]byte]
		for range 10 {
			m := says(chatAnswer("", wanted{"fails", "1", object}, wanted{name, "2", object}), chatAnswer("done"))
			a := setup(t, m, []tool.BaseTool{fails, beside},
				func(c *ChatModelAgentConfig) { c.ToolsConfig.EagerExecution = true })
			mark := new([64]byte)
			runs = append(runs, weak.Make(mark))
			require.ErrorIs(t, lastError(ask(context.WithValue(base, key{}, mark), Agent(a), true)), errBroken)
		}
		require.Eventually(t, func() bool {
			runtime.GC()
			return !slices.ContainsFunc(runs, func(run weak.Pointer[[64]byte]) bool { return run.Value() != nil })
		}, 5*time.Second, time.Millisecond, name)
	}
}
