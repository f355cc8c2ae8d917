package adk

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// custom is a user's own agent.
type custom[M MessageType] struct {
	name string
	run  func(ctx context.Context, input *TypedAgentInput[M], opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]]
}

func (c *custom[M]) Name(context.Context) string        { return c.name }
func (c *custom[M]) Description(context.Context) string { return "a custom agent" }
func (c *custom[M]) Run(ctx context.Context, input *TypedAgentInput[M],
	opts ...AgentRunOption,
) *AsyncIterator[*TypedAgentEvent[M]] {
	return c.run(ctx, input, opts)
}

// sends makes a custom agent that sends events.
func sends[M MessageType](events ...*TypedAgentEvent[M]) *custom[M] {
	return &custom[M]{"custom",
		func(context.Context, *TypedAgentInput[M], []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
			it, gen := NewAsyncIteratorPair[*TypedAgentEvent[M]]()
			for _, e := range events {
				gen.Send(e)
			}
			gen.Close()
			return it
		}}
}

// Rule runtime/R1.
func TestRunner_QueryIsOneUserMessage(t *testing.T) {
	matrix(t, testQuery[ordinary], testQuery[agentic])
}

func testQuery[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	m := says(d.answer("done"))
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, nil), EnableStreaming: streaming})
	require.Equal(t, []string{"assistant: done"}, linesOf(read(t, r.Query(context.Background(), "how are you?"))))
	require.Equal(t, [][]string{{"user: how are you?"}}, m.transcript())
	read(t, r.Run(context.Background(), nil))
	require.Equal(t, []string{}, m.transcript()[1], "no messages are no messages")
}

// Rules runtime/R1, runtime/R14.
func TestRunner_NilAgentIsAnErrorEvent(t *testing.T) {
	matrix(t, testNilAgent[ordinary], testNilAgent[agentic])
}

func testNilAgent[M MessageType](t *testing.T, streaming bool) {
	all := read(t, NewTypedRunner(TypedRunnerConfig[M]{EnableStreaming: streaming}).Query(context.Background(), "hi"))
	require.Len(t, all, 1)
	require.ErrorContains(t, failure(t, all), "agent is nil")
	require.Len(t, read(t, NewRunner(context.Background(), RunnerConfig{}).Run(context.Background(), nil)), 1)
}

// Rule runtime/R2.
func TestRunner_CustomAgentGetsTheInput(t *testing.T) {
	matrix(t, testCustomInput[ordinary], testCustomInput[agentic])
}

type customOptions struct{ flavor string }

func testCustomInput[M MessageType](t *testing.T, streaming bool) {
	called := false
	c := &custom[M]{"custom",
		func(ctx context.Context, input *TypedAgentInput[M], opts []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
			called = true
			require.Equal(t, streaming, input.EnableStreaming)
			require.Equal(t, []string{"user: hi"}, dialectOf[M]().lines(input.Messages))
			require.Equal(t, len(input.Messages), cap(input.Messages), "appending must not write to the caller's array")
			require.Equal(t, "for me", GetImplSpecificOptions(&customOptions{}, opts...).flavor)
			v, ok := GetSessionValue(ctx, "k")
			require.True(t, ok)
			require.Equal(t, "v", v)
			return sends[M]().Run(ctx, input)
		}}
	flavor := func(v string) AgentRunOption {
		return WrapImplSpecificOptFn(func(o *customOptions) { o.flavor = v })
	}
	it := ask(context.Background(), TypedAgent[M](c), streaming, flavor("for me"),
		flavor("for another").DesignateAgent("another"),
		WithSessionValues(map[string]any{"k": "v"}).DesignateAgent("another")) // rule runtime/O3: read regardless
	require.True(t, called, "before Run returns")
	require.Empty(t, read(t, it), "an agent may have nothing to say")
}

// Rules runtime/E8, runtime/X6.
func TestRunner_StampsEventsWithNameAndPath(t *testing.T) {
	matrix(t, testStamping[ordinary], testStamping[agentic])
}

func testStamping[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	foreign := []RunStep{{agentName: "x"}, {agentName: "y"}}
	events := []*TypedAgentEvent[M]{
		{},
		nil,
		{Output: &TypedAgentOutput[M]{}},
		{Output: &TypedAgentOutput[M]{CustomizedOutput: 7}},
		{Action: NewExitAction()},
		{AgentName: "y", RunPath: foreign,
			Output: &TypedAgentOutput[M]{MessageOutput: &TypedMessageVariant[M]{Message: d.answer("x")}}},
		{AgentName: "liar"},
		{Err: errBroken},
	}
	c := sends(events...)
	for range 2 { // the same events again
		all := read(t, ask(context.Background(), TypedAgent[M](c), streaming))
		require.Len(t, all, 7, "a nil event says nothing")
		for i, e := range all {
			if i == 4 {
				require.Equal(t, "y", e.AgentName)
				require.Equal(t, foreign, e.RunPath)
				continue
			}
			require.Equal(t, "custom", e.AgentName)
			require.Equal(t, []RunStep{{agentName: "custom"}}, e.RunPath)
		}
		require.Equal(t, 7, all[2].Output.CustomizedOutput)
		require.Same(t, events[4].Action, all[3].Action)
		require.ErrorIs(t, failure(t, all), errBroken)
	}
	require.Empty(t, events[0].AgentName, "the agent's own events stay as they are")
	require.Empty(t, events[0].RunPath)
}

// TestRunner_EventsBelongToTheirReader: a change that a reader makes to one event does not reach another.
// Rule runtime/E8.
func TestRunner_EventsBelongToTheirReader(t *testing.T) {
	d := &chatDialect
	m := says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
	it := ask(context.Background(), Agent(setup(t, m, []tool.BaseTool{echo("echo")})), false)
	for e := range it.All() {
		require.Equal(t, "tester", e.RunPath[0].String())
		e.RunPath[0] = RunStep{agentName: "changed"}
		e.Output.MessageOutput.Role = "changed"
		e.Output.MessageOutput.Message = nil
	}
	require.Equal(t, []string{"user: hi", "assistant: [echo#1 ]", "tool echo#1: <>"}, m.transcript()[1])
}

func TestRunner_CustomAgentFailsToStart(t *testing.T) {
	matrix(t, testCustomFails[ordinary], testCustomFails[agentic])
}

type panicName[M MessageType] struct{ *custom[M] }

func (panicName[M]) Name(context.Context) string { panic(errBroken) }

func testCustomFails[M MessageType](t *testing.T, streaming bool) {
	noIterator := &custom[M]{"custom",
		func(context.Context, *TypedAgentInput[M], []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
			return nil
		}}
	all := read(t, ask(context.Background(), TypedAgent[M](noIterator), streaming))
	require.Len(t, all, 1)
	require.Equal(t, "custom", all[0].AgentName)
	require.ErrorContains(t, failure(t, all), "no iterator")

	panics := &custom[M]{"custom",
		func(context.Context, *TypedAgentInput[M], []AgentRunOption) *AsyncIterator[*TypedAgentEvent[M]] {
			panic(errBroken)
		}}
	var typedNil *custom[M]
	for _, a := range []TypedAgent[M]{panics, panicName[M]{panics}, typedNil} {
		all := read(t, ask(context.Background(), a, streaming))
		require.Len(t, all, 1)
		require.ErrorContains(t, failure(t, all), "panic error:")
	}
	var option AgentRunOption = WrapImplSpecificOptFn(func(*runnerOptions) { panic(errBroken) })
	require.ErrorIs(t, failure(t, read(t, ask(context.Background(), TypedAgent[M](sends[M]()), streaming, option))),
		errBroken)
}

func TestRunner_CloseReachesTheCustomAgent(t *testing.T) {
	it, gen := NewAsyncIteratorPair[*AgentEvent]()
	c := &custom[ordinary]{"custom",
		func(context.Context, *AgentInput, []AgentRunOption) *AsyncIterator[*AgentEvent] { return it }}
	s, w := schema.Pipe[Message](0)
	gen.Send(EventFromMessage(nil, s, schema.Assistant, ""))
	ask(context.Background(), Agent(c), true).Close()
	require.True(t, w.Send(nil, nil), "nobody will read it")
	w.Close()
	gen.Close()
}

// Rules runtime/O3, runtime/X1, runtime/X3.
func TestRunner_EachRunHasItsSession(t *testing.T) {
	matrix(t, testSessions[ordinary], testSessions[agentic])
}

func testSessions[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	given := map[string]any{"a": 1, "b": 1}
	var seen []map[string]any
	peek := &toolFunc{"echo", func(ctx context.Context, args string) (string, error) {
		values := GetSessionValues(ctx)
		values["stray"] = true // it is a copy
		AddSessionValue(ctx, args, "tool")
		AddSessionValues(ctx, nil)
		AddSessionValues(ctx, map[string]any{"b": 2})
		seen = append(seen, GetSessionValues(ctx))
		return "", nil
	}}
	call := func(args string) M { return d.answer("", wanted{"echo", "1", args}) }
	gen := func(ctx context.Context, _ string, in *TypedAgentInput[M]) ([]M, error) {
		seen = append(seen, GetSessionValues(ctx))
		return in.Messages, nil
	}
	for range 2 {
		seen = nil
		a := setup(t, says(call("c"), call("d"), d.answer("done")), []tool.BaseTool{peek},
			func(c *TypedChatModelAgentConfig[M]) { c.GenModelInput = gen })
		read(t, ask(context.Background(), TypedAgent[M](a), streaming,
			WithSessionValues(map[string]any{"ignored": true}), WithSessionValues(given)))
		require.Equal(t, []map[string]any{
			{"a": 1, "b": 1},
			{"a": 1, "b": 2, "c": "tool"},
			{"a": 1, "b": 2, "c": "tool", "d": "tool"},
		}, seen, "each run has a session of its own")
	}
	require.Equal(t, map[string]any{"a": 1, "b": 1}, given)
}

// Rule runtime/X3.
func TestSession_ValuesAreAbsentOutsideARun(t *testing.T) {
	ctx := context.Background()
	AddSessionValue(ctx, "a", 1)
	_, ok := GetSessionValue(ctx, "a")
	require.False(t, ok)
	require.NotNil(t, GetSessionValues(ctx))
	require.Empty(t, GetSessionValues(ctx))
}

// Rules agent/I-4, agent/I-5, runtime/O1, runtime/O2.
func TestOptions_OwnOptionsAndDesignation(t *testing.T) {
	type own struct{ trail string }
	add := func(s string) AgentRunOption { return WrapImplSpecificOptFn(func(o *own) { o.trail += s }) }
	require.Equal(t, "base12", GetImplSpecificOptions(&own{"base"}, add("1"), AgentRunOption{}, WithChatModelOptions(nil),
		add("2")).trail)
	require.Equal(t, &own{}, GetImplSpecificOptions[own](nil))
	require.Equal(t, AgentRunOption{}, WrapImplSpecificOptFn[own](nil))
	base := add("x").DesignateAgent("a")
	b, c := base.DesignateAgent("b"), base.DesignateAgent("c")
	trail := func(agent string) string {
		return GetImplSpecificOptions(&own{}, optionsFor(agent, []AgentRunOption{add("1"), base, b, c})...).trail
	}
	require.Equal(t, []string{"1xxx", "1x", "1x", "1"}, []string{trail("a"), trail("b"), trail("c"), trail("d")},
		"DesignateAgent changes a copy")
	require.Equal(t, "1", GetImplSpecificOptions(&own{},
		optionsFor("a", []AgentRunOption{add("1").DesignateAgent()})...).trail)
}

// Rules agent/ID-2, agent/L-8, runtime/R15.
func TestRunner_ConcurrentRunsAreIndependent(t *testing.T) {
	matrix(t, testConcurrent[ordinary], testConcurrent[agentic])
}

// testConcurrent: a thousand runs on one runner, each with its own question, session and options.
func testConcurrent[M MessageType](t *testing.T, streaming bool) {
	d, ops := dialectOf[M](), opsOf[M]()
	done := d.answer("done") // one pointer for all
	answer := func(history []M) []M {
		if len(history) > 3 {
			return []M{done}
		}
		q := d.line(history[0])[len("user: "):]
		return []M{d.answer("", wanted{"echo", "1", q}, wanted{"echo", "2", q})}
	}
	m := &modelFunc[M]{
		generate: func(_ context.Context, history []M, _ ...model.Option) (M, error) { return answer(history)[0], nil },
		stream: func(_ context.Context, history []M, _ ...model.Option) (*schema.StreamReader[M], error) {
			return schema.StreamReaderFromArray(answer(history)), nil
		},
	}
	own := &toolFunc{"echo", func(ctx context.Context, args string) (string, error) {
		v, _ := GetSessionValue(ctx, "me")
		if v != args {
			return "", fmt.Errorf("the session of %v in the run of %s", v, args)
		}
		return args, nil
	}}
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, model.BaseModel[M](m), []tool.BaseTool{own}),
		EnableStreaming: streaming})
	var mu sync.Mutex
	ids := map[string]bool{}
	var wg sync.WaitGroup
	shared := append(make([]M, 0, 8), ops.user("unused"))
	for i := range 1000 {
		wg.Go(func() {
			me := fmt.Sprint("run", i)
			messages := shared[:0:0]
			messages = append(messages, ops.user(me))
			all := read(t, r.Run(context.Background(), messages, WithSessionValues(map[string]any{"me": me})))
			if len(all) != 4 || all[3].Err != nil || d.line(all[3].message) != "assistant: done" {
				t.Errorf("%s: %v", me, linesOf(all))
				return
			}
			for _, e := range all[1:3] {
				if line := d.line(e.message); line != "tool echo#1: "+me && line != "tool echo#2: "+me {
					t.Errorf("%s got %s", me, line)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, e := range all {
				ids[e.id()] = true
			}
		})
	}
	wg.Wait()
	require.Len(t, ids, 4000, "rule agent/ID-2: every message of every run has an ID of its own")
	require.Empty(t, GetMessageID(done))
}
