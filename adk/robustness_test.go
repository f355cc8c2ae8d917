package adk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// bubbled runs a test for both kinds of message, streaming and not, in fake time: a run that hangs fails at once.
func bubbled(t *testing.T, ordinary, agentic func(t *testing.T, streaming bool)) {
	t.Helper()
	in := func(body func(*testing.T, bool)) func(*testing.T, bool) {
		return func(t *testing.T, streaming bool) {
			synctest.Test(t, func(t *testing.T) { body(t, streaming) })
		}
	}
	matrix(t, in(ordinary), in(agentic))
}

// misdeeds are things that user code should not do. writeTo panics on a nil map.
func writeTo(m map[string]int) { m["x"] = 1 }

var misdeeds = map[string]func(){
	"panic":      func() { panic(errBroken) },
	"panic text": func() { panic("boom") },
	"nil map":    func() { var m map[string]int; writeTo(m) },
	"goexit":     runtime.Goexit,
}

// place is somewhere in an agent where user code runs.
type place[M MessageType] func(t *testing.T, misdeed func()) TypedAgent[M]

func places[M MessageType]() map[string]place[M] {
	d := dialectOf[M]()
	calling := func(names ...string) *scripted[M] {
		var calls []wanted
		for i, name := range names {
			calls = append(calls, wanted{name, fmt.Sprint(i), ""})
		}
		return says(d.answer("", calls...), d.answer("done"))
	}
	bad := func(misdeed func()) *toolFunc {
		return &toolFunc{"bad", func(context.Context, string) (string, error) { misdeed(); return "", nil }}
	}
	modelAt := func(turn int) place[M] {
		return func(t *testing.T, misdeed func()) TypedAgent[M] {
			m := calling("echo")
			m.hook = func(_ context.Context, i int, _ []M) error {
				if i == turn {
					misdeed()
				}
				return nil
			}
			return setup(t, m, []tool.BaseTool{echo("echo")})
		}
	}
	return map[string]place[M]{
		"first model call":  modelAt(0),
		"second model call": modelAt(1),
		"tool": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("bad"), []tool.BaseTool{bad(misdeed)})
		},
		"one of parallel tools": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("echo", "bad", "echo"), []tool.BaseTool{bad(misdeed), echo("echo")})
		},
		"first of parallel tools": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("bad", "echo"), []tool.BaseTool{bad(misdeed), echo("echo")})
		},
		"streaming tool": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("bad"), []tool.BaseTool{&streamToolFunc{"bad",
				func(context.Context, string) (*schema.StreamReader[string], error) { misdeed(); return nil, nil }}})
		},
		"enhanced tool": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("bad"), []tool.BaseTool{&enhancedToolFunc{"bad",
				func(context.Context, *schema.ToolArgument) (*schema.ToolResult, error) { misdeed(); return nil, nil }}})
		},
		"tool info": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("bad"), []tool.BaseTool{badInfo{bad(misdeed), misdeed}})
		},
		"GenModelInput": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("echo"), nil, func(c *TypedChatModelAgentConfig[M]) {
				c.GenModelInput = func(context.Context, string, *TypedAgentInput[M]) ([]M, error) { misdeed(); return nil, nil }
			})
		},
		"unknown tools handler": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("nosuch"), []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) {
				c.ToolsConfig.UnknownToolsHandler = func(context.Context, string, string) (string, error) {
					misdeed()
					return "", nil
				}
			})
		},
		"arguments handler": func(t *testing.T, misdeed func()) TypedAgent[M] {
			return setup(t, calling("echo"), []tool.BaseTool{echo("echo")}, func(c *TypedChatModelAgentConfig[M]) {
				c.ToolsConfig.ToolArgumentsHandler = func(context.Context, string, string) (string, error) {
					misdeed()
					return "", nil
				}
			})
		},
	}
}

type badInfo struct {
	tool.InvokableTool
	misdeed func()
}

func (b badInfo) Info(context.Context) (*schema.ToolInfo, error) { b.misdeed(); return nil, nil }

// Rule agent/L-6.
func TestRobust_UserCodeMisbehaves(t *testing.T) {
	bubbled(t, testMisdeeds[ordinary], testMisdeeds[agentic])
}

func testMisdeeds[M MessageType](t *testing.T, streaming bool) {
	for where, agent := range places[M]() {
		for what, misdeed := range misdeeds {
			all := read(t, ask(t.Context(), agent(t, misdeed), streaming))
			err := failure(t, all)
			switch what {
			case "panic":
				require.ErrorIs(t, err, errBroken, where)
				fallthrough
			case "panic text", "nil map":
				require.ErrorContains(t, err, "panic error:", where)
			case "goexit":
				require.ErrorContains(t, err, "Goexit", where)
			}
		}
	}
}

// TestRobust_PanicInAStream: the stream breaks off for the reader and for the run.
func TestRobust_PanicInAStream(t *testing.T) {
	for _, readFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("ordinary/", readFirst), func(t *testing.T) { testStreamPanic[ordinary](t, readFirst) })
		t.Run(fmt.Sprint("agentic/", readFirst), func(t *testing.T) { testStreamPanic[agentic](t, readFirst) })
	}
}

func testStreamPanic[M MessageType](t *testing.T, readFirst bool) {
	d := dialectOf[M]()
	m := &modelFunc[M]{stream: func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
		return schema.StreamReaderWithConvert(streamOf[M]("a", "b", "c"), func(chunk M) (M, error) {
			if d.line(chunk) == "assistant: b" {
				panic(errBroken)
			}
			return chunk, nil
		}), nil
	}}
	it := setup(t, model.BaseModel[M](m), nil).Run(t.Context(), &TypedAgentInput[M]{EnableStreaming: true})
	var all []*TypedAgentEvent[M]
	var got []observed[M]
	for e := range it.All() {
		all = append(all, e)
		if readFirst {
			got = append(got, readOne(t, e))
		}
	}
	if !readFirst {
		for _, e := range all {
			got = append(got, readOne(t, e))
		}
	}
	require.Len(t, got, 2)
	require.Len(t, got[0].chunks, 1)
	require.ErrorIs(t, got[0].broken, errBroken)
	require.ErrorIs(t, failure(t, got), errBroken)
}

func TestRobust_StreamErrors(t *testing.T) {
	t.Run("ordinary", testStreamErrors[ordinary])
	t.Run("agentic", testStreamErrors[agentic])
}

func testStreamErrors[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	stream := func(s *schema.StreamReader[M]) []observed[M] {
		m := &modelFunc[M]{stream: func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
			return s, nil
		}}
		return read(t, ask(t.Context(), TypedAgent[M](setup(t, model.BaseModel[M](m), nil)), true))
	}
	all := stream(brokenStream[M](errBroken))
	require.ErrorIs(t, all[0].broken, errBroken)
	require.ErrorIs(t, failure(t, all), errBroken)

	all = stream(streamOf[M]())
	require.Len(t, all, 1, "an empty stream is an empty message")
	require.NoError(t, all[0].Err)

	all = stream(nil)
	require.ErrorContains(t, failure(t, all), "neither a stream nor an error")

	m := &modelFunc[M]{stream: func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
		return schema.StreamReaderFromArray([]M{d.chunk("a"), d.nothing, d.chunk("b")}), nil
	}}
	it := ask(t.Context(), TypedAgent[M](setup(t, model.BaseModel[M](m), nil)), true)
	var last error
	for e := range it.All() {
		last = e.Err
		if e.Err == nil {
			for range e.Output.MessageOutput.MessageStream.All() { // the reader survives a nil chunk
			}
		}
	}
	require.ErrorContains(t, last, "nil")
}

func TestRobust_Nil(t *testing.T) { bubbled(t, testNils[ordinary], testNils[agentic]) }

func testNils[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var typedNil *scripted[M]
	m := &modelFunc[M]{
		generate: func(context.Context, []M, ...model.Option) (M, error) { return d.nothing, nil },
		stream:   func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) { return nil, nil },
	}
	for name, a := range map[string]TypedAgent[M]{
		"typed nil model": setup(t, typedNil, nil),
		"no answer":       setup(t, model.BaseModel[M](m), nil),
		"nil tool":        setup(t, says(d.answer("done")), []tool.BaseTool{nil}),
		"typed nil tool":  setup(t, says(d.answer("", wanted{"echo", "1", ""})), []tool.BaseTool{(*toolFunc)(nil)}),
	} {
		all := read(t, ask(t.Context(), a, streaming))
		require.Len(t, all, 1, name)
		failure(t, all)
	}
	for _, nothing := range []tool.BaseTool{
		&streamToolFunc{"echo", func(context.Context, string) (*schema.StreamReader[string], error) { return nil, nil }},
		&enhancedStreamToolFunc{"echo",
			func(context.Context, *schema.ToolArgument) (*schema.StreamReader[*schema.ToolResult], error) {
				return nil, nil
			}},
	} {
		m := says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
		all := read(t, ask(t.Context(), TypedAgent[M](setup(t, m, []tool.BaseTool{nothing})), streaming))
		require.Equal(t, []string{"assistant: [echo#1 ]", "error"}, linesOf(all))
	}
	a := setup(t, says(d.answer("done")), nil)
	require.ErrorContains(t, failure(t, read(t, a.Run(t.Context(), nil))), "input is nil")
	var noContext context.Context
	require.Error(t, failure(t, read(t, a.Run(noContext, &TypedAgentInput[M]{EnableStreaming: streaming}))))
}

func TestRobust_CtxEndsBeforeTheRun(t *testing.T) {
	bubbled(t, testCtxBefore[ordinary], testCtxBefore[agentic])
}

func testCtxBefore[M MessageType](t *testing.T, streaming bool) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := says(dialectOf[M]().answer("done"))
	all := read(t, ask(ctx, TypedAgent[M](setup(t, m, nil)), streaming))
	require.Len(t, all, 1)
	require.ErrorIs(t, failure(t, all), context.Canceled)
	require.Zero(t, m.calls())
}

// Rule agent/L-9.
func TestRobust_CtxEndsInTheModel(t *testing.T) {
	bubbled(t, testCtxModel[ordinary], testCtxModel[agentic])
}

func testCtxModel[M MessageType](t *testing.T, streaming bool) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := says(dialectOf[M]().answer("done"))
	m.hook = func(ctx context.Context, _ int, _ []M) error {
		<-ctx.Done()
		return ctx.Err()
	}
	all := read(t, ask(ctx, TypedAgent[M](setup(t, m, nil)), streaming))
	require.Len(t, all, 1)
	require.ErrorIs(t, failure(t, all), context.DeadlineExceeded)
}

// Rule agent/L-9.
func TestRobust_CtxEndsInATool(t *testing.T) {
	bubbled(t, testCtxTool[ordinary], testCtxTool[agentic])
}

func testCtxTool[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, obeys := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		waits := &toolFunc{"echo", func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			if obeys {
				return "", ctx.Err()
			}
			return "late", nil
		}}
		m := says(d.answer("", wanted{"echo", "1", ""}, wanted{"echo", "2", ""}), d.answer("done"))
		all := read(t, ask(ctx, TypedAgent[M](setup(t, m, []tool.BaseTool{waits})), streaming))
		require.ErrorIs(t, failure(t, all), context.DeadlineExceeded)
		require.Equal(t, 1, m.calls(), "no turn after the end of ctx")
		cancel()
	}
}

// TestRobust_CtxEndsMidStream: the model may or may not look at ctx; the run ends either way.
// Rule agent/L-9.
func TestRobust_CtxEndsMidStream(t *testing.T) {
	t.Run("ordinary", func(t *testing.T) { synctest.Test(t, testCtxStream[ordinary]) })
	t.Run("agentic", func(t *testing.T) { synctest.Test(t, testCtxStream[agentic]) })
}

func testCtxStream[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	const n = 5
	for end := range n + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		m := &modelFunc[M]{stream: func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
			r, w := schema.Pipe[M](n)
			go func() {
				defer w.Close()
				for range end {
					w.Send(d.chunk("x"), nil)
				}
				<-release // deaf to ctx
			}()
			return r, nil
		}}
		it := ask(ctx, TypedAgent[M](setup(t, model.BaseModel[M](m), nil)), true)
		first, ok := it.Next()
		require.True(t, ok)
		synctest.Wait()
		cancel()
		second, ok := it.Next()
		require.True(t, ok)
		require.ErrorIs(t, second.Err, context.Canceled)
		_, ok = it.Next()
		require.False(t, ok)
		close(release)
		require.Len(t, readOne(t, first).chunks, end, "a delivered stream is the reader's, it has every chunk")
	}
}

// TestRobust_ReadersDoNotHoldTheRun: whatever a reader does, the run continues and reaches its end.
// Rule agent/W-3.
func TestRobust_ReadersDoNotHoldTheRun(t *testing.T) {
	t.Run("ordinary", testLazyReaders[ordinary])
	t.Run("agentic", testLazyReaders[agentic])
}

func testLazyReaders[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	agent := func() (*scripted[M], TypedAgent[M]) {
		m := &scripted[M]{answers: [][]M{{d.chunk("a"), d.chunk("b"), d.chunk("", wanted{"echo", "1", ""})},
			{d.chunk("c"), d.chunk("d")}}}
		streams := &streamToolFunc{"echo", func(context.Context, string) (*schema.StreamReader[string], error) {
			r, w := schema.Pipe[string](0)
			go func() {
				defer w.Close()
				for range 10 {
					if w.Send("x", nil) {
						return
					}
				}
			}()
			return r, nil
		}}
		return m, setup(t, m, []tool.BaseTool{streams})
	}
	t.Run("takes no event", func(t *testing.T) {
		m, a := agent()
		it := ask(t.Context(), a, true)
		require.Eventually(t, func() bool { return m.calls() == 2 }, 10*time.Second, time.Millisecond)
		require.Len(t, read(t, it), 3)
	})
	t.Run("closes at once", func(t *testing.T) {
		m, a := agent()
		it := ask(t.Context(), a, true)
		it.Close()
		require.Eventually(t, func() bool { return m.calls() == 2 }, 10*time.Second, time.Millisecond)
		_, ok := it.Next()
		require.False(t, ok)
	})
	t.Run("leaves after one", func(t *testing.T) {
		m, a := agent()
		for range ask(t.Context(), a, true).All() {
			break
		}
		require.Eventually(t, func() bool { return m.calls() == 2 }, 10*time.Second, time.Millisecond)
	})
	t.Run("closes the streams", func(t *testing.T) {
		_, a := agent()
		count := 0
		for e := range ask(t.Context(), a, true).All() {
			require.NoError(t, e.Err)
			e.Output.MessageOutput.MessageStream.Close()
			count++
		}
		require.Equal(t, 3, count)
	})
	t.Run("reads the streams later", func(t *testing.T) {
		_, a := agent()
		var events []*TypedAgentEvent[M]
		for e := range ask(t.Context(), a, true).All() {
			require.NoError(t, e.Err)
			events = append(events, e)
		}
		require.Len(t, events, 3)
		var counts []int
		for _, e := range events {
			counts = append(counts, len(readOne(t, e).chunks))
		}
		require.Equal(t, []int{3, 10, 2}, counts)
	})
}

// TestRobust_ChunksCanBeReadWhileTheModelWrites: streams of events are live.
// Rule agent/W-3.
func TestRobust_ChunksCanBeReadWhileTheModelWrites(t *testing.T) {
	t.Run("ordinary", testLive[ordinary])
	t.Run("agentic", testLive[agentic])
}

func testLive[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	r, w := schema.Pipe[M](0)
	m := &modelFunc[M]{stream: func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
		return r, nil
	}}
	it := ask(t.Context(), TypedAgent[M](setup(t, model.BaseModel[M](m), nil)), true)
	e, ok := it.Next() // before the first chunk
	require.True(t, ok)
	s := e.Output.MessageOutput.MessageStream
	for range 3 {
		w.Send(d.chunk("x"), nil)
		_, err := s.Recv()
		require.NoError(t, err)
	}
	w.Close()
	_, err := s.Recv()
	require.Equal(t, io.EOF, err)
	s.Close()
	_, ok = it.Next()
	require.False(t, ok)
}

func TestRobust_HandlersPanic(t *testing.T) {
	bubbled(t, testHandlerPanics[ordinary], testHandlerPanics[agentic])
}

func testHandlerPanics[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	h := callbacks.NewHandlerBuilder().OnStartFn(func(
		context.Context, *callbacks.RunInfo, callbacks.CallbackInput,
	) context.Context {
		panic(errBroken)
	}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), nil, h)
	all := read(t, ask(ctx, TypedAgent[M](setup(t, says(d.answer("done")), nil)), streaming))
	require.ErrorIs(t, failure(t, all), errBroken)
}

func TestRobust_ToolErrorEndsTheRun(t *testing.T) {
	bubbled(t, testToolError[ordinary], testToolError[agentic])
}

func testToolError[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	fails := &toolFunc{"echo", func(context.Context, string) (string, error) { return "", errBroken }}
	m := says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
	all := read(t, ask(t.Context(), TypedAgent[M](setup(t, m, []tool.BaseTool{fails})), streaming))
	require.Equal(t, []string{"assistant: [echo#1 ]", "error"}, linesOf(all))
	require.ErrorIs(t, failure(t, all), errBroken)

	badStream := &streamToolFunc{"echo", func(context.Context, string) (*schema.StreamReader[string], error) {
		r, w := schema.Pipe[string](2)
		w.Send("a", nil)
		w.Send("", errBroken)
		w.Close()
		return r, nil
	}}
	m = says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
	all = read(t, ask(t.Context(), TypedAgent[M](setup(t, m, []tool.BaseTool{badStream})), streaming))
	require.Equal(t, []string{"assistant: [echo#1 ]", "broken stream", "error"}, linesOf(all))
	require.ErrorIs(t, all[1].broken, errBroken)
	require.ErrorIs(t, failure(t, all), errBroken)
}

func TestRobust_ToolInterruptIsTheLastEvent(t *testing.T) {
	bubbled(t, testToolInterrupt[ordinary], testToolInterrupt[agentic])
}

func testToolInterrupt[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	stops := &toolFunc{"echo",
		func(ctx context.Context, _ string) (string, error) { return "", tool.Interrupt(ctx, "why") }}
	m := says(d.answer("", wanted{"echo", "1", ""}), d.answer("done"))
	all := read(t, ask(t.Context(), TypedAgent[M](setup(t, m, []tool.BaseTool{stops})), streaming))
	require.Len(t, all, 2)
	last := all[1]
	require.NoError(t, last.Err)
	require.Equal(t, "tester", last.AgentName)
	require.NotNil(t, last.Action.Interrupted)
	require.NotEmpty(t, last.Action.Interrupted.InterruptContexts)
	require.Equal(t, "why", last.Action.Interrupted.InterruptContexts[0].Info)
}

func TestRobust_ErrorsKeepTheirIdentity(t *testing.T) {
	typed := &codedError{7}
	m := says(chatDialect.answer("x"))
	m.hook = func(context.Context, int, []Message) error { return typed }
	err := failure(t, read(t, ask(t.Context(), Agent(setup(t, m, nil)), false)))
	var coded *codedError
	require.True(t, errors.As(err, &coded))
	require.Same(t, typed, coded)
	require.ErrorContains(t, err, "code 7")
}

type codedError struct{ code int }

func (e *codedError) Error() string { return fmt.Sprint("code ", e.code) }

// TestRobust_GoexitInAWorker: of two tools at once, the one that is not on the run's own goroutine ends its
// goroutine. It must not count as a tool that returned an empty text.
// Rule agent/L-6.
func TestRobust_GoexitInAWorker(t *testing.T) {
	bubbled(t, testGoexitWorker[ordinary], testGoexitWorker[agentic])
}

func testGoexitWorker[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var started sync.WaitGroup
	started.Add(2)
	leaves := &toolFunc{"echo", func(context.Context, string) (string, error) {
		started.Done()
		started.Wait()
		if !strings.Contains(string(debug.Stack()), "agentRun") {
			runtime.Goexit()
		}
		return "fine", nil
	}}
	m := says(d.answer("", wanted{"echo", "1", ""}, wanted{"echo", "2", ""}), d.answer("done"))
	all := read(t, ask(t.Context(), TypedAgent[M](setup(t, m, []tool.BaseTool{leaves})), streaming))
	require.ErrorContains(t, failure(t, all), "Goexit")
	require.Equal(t, 1, m.calls())
}

// TestRobust_GoexitInABranch: an agent that runs beside others has a goroutine of its own. If it ends that, it has not
// answered.
// Rule agent/L-6.
func TestRobust_GoexitInABranch(t *testing.T) {
	leaves := &custom[ordinary]{"leaves",
		func(context.Context, *AgentInput, []AgentRunOption) *AsyncIterator[*AgentEvent] {
			runtime.Goexit()
			return nil
		}}
	c := newTheatre()
	err := onlyError(t, read(t, ask(t.Context(),
		Agent(sequenceOf(t, "s", parallelOf(t, "w", leaves, newTheatre().says("b")), c.says("c"))), false)))
	require.ErrorContains(t, err, "agent 'leaves'")
	require.ErrorContains(t, err, "Goexit")
	require.Empty(t, c.asked, "the sequence does not continue without the answer")
}

// onlyError returns the only error of a run in which agents beside the failing one continue.
func onlyError[M MessageType](t testing.TB, all []observed[M]) (err error) {
	t.Helper()
	for _, o := range all {
		if o.Err != nil {
			require.NoError(t, err, "there is one error")
			err = o.Err
		}
	}
	require.Error(t, err)
	return err
}
