package adk

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// opened counts tool results that stream: how many were made, and how many have not been read to the end or closed.
type opened struct{ made, open atomic.Int32 }

// endless is a tool whose result never ends by itself.
func (o *opened) endless(name string) tool.BaseTool {
	return &streamToolFunc{named(name), func(ctx context.Context, _ string) (*schema.StreamReader[string], error) {
		s, w := schema.Pipe[string](0)
		o.made.Add(1)
		o.open.Add(1)
		go func() {
			defer o.open.Add(-1)
			for !w.Send("x", nil) {
			}
		}()
		return s, nil
	}}
}

// loud is a tool that does all that shows outside of it: it sends an event, and the first time it gives its result an
// action.
func loud[M MessageType](name string, runs *atomic.Int32) tool.BaseTool {
	return &toolFunc{named(name), func(ctx context.Context, _ string) (string, error) {
		n := runs.Add(1)
		own := &TypedAgentEvent[M]{Output: &TypedAgentOutput[M]{CustomizedOutput: n}}
		if err := TypedSendEvent(ctx, own); err != nil {
			return "", err
		}
		if n > 1 {
			return fmt.Sprint("run ", n), nil
		}
		return fmt.Sprint("run ", n), SendToolGenAction(ctx, name, NewExitAction())
	}}
}

// TestEager_RejectedAttempts: nothing that the tools of a rejected answer did is emitted, and their streams are
// closed. The tools of the accepted answer run for themselves.
// Rules agent/E-17, agent/E-22, agent/E-25.
func TestEager_RejectedAttempts(t *testing.T) {
	streamed(t, testEagerRejected[ordinary], testEagerRejected[agentic])
}

func testEagerRejected[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	for name, c := range map[string]struct {
		breaks map[int]error
		change func(*TypedChatModelAgentConfig[M], model.BaseModel[M])
	}{
		"ShouldRetry of a clean answer": {change: func(c *TypedChatModelAgentConfig[M], _ model.BaseModel[M]) {
			retrying(1, func(rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
				return &TypedRetryDecision[M]{Retry: rc.RetryAttempt == 1 && len(rc.InputMessages) == 1}
			})(c)
		}},
		"retry": {breaks: map[int]error{0: errBroken}, change: func(c *TypedChatModelAgentConfig[M], _ model.BaseModel[M]) {
			retrying[M](1, nil)(c)
		}},
		"failover": {breaks: map[int]error{0: errShaky}, change: func(c *TypedChatModelAgentConfig[M], m model.BaseModel[M]) {
			standIns[M](1, &diary{}, m)(c)
		}},
	} {
		var runs atomic.Int32
		var results opened
		m := &paced[M]{turns: [][]M{
			slices.Concat([]M{chunkAt[M](3, wanted{"endless", "3", "{}"})}, twoCalls[M]("a", "b")),
			twoCalls[M]("a", "b"), {d.chunk("done")},
		}, breaks: c.breaks}
		a := setup[M](t, m, []tool.BaseTool{loud[M]("a", &runs), echo("b"), results.endless("endless")}, eagerly[M],
			func(conf *TypedChatModelAgentConfig[M]) { c.change(conf, m) })
		all := read(t, bare(t.Context(), a, true))
		require.Equal(t, []string{"broken stream", both, "no message", "tool a#1: run 2", `tool b#2: <{"q":1}>`, ended},
			byCall(linesOf(all)), name)
		for _, o := range all {
			if o.message != d.nothing && d.line(o.message) == "tool a#1: run 2" {
				require.Nil(t, o.Action, "%s: the action of the first run", name)
			}
		}
		require.EqualValues(t, 2, runs.Load(), name)
		synctest.Wait()
		require.EqualValues(t, 1, results.made.Load(), name)
		require.Zero(t, results.open.Load(), "%s: rule agent/E-25", name)
	}
}

// byCall puts the events of tools into the order of their calls, events of their own first.
func byCall(lines []string) []string {
	isTool := func(l string) bool { return l == "no message" || len(l) > 5 && l[:5] == "tool " }
	for i := 1; i < len(lines); i++ {
		for j := i; j > 0 && isTool(lines[j]) && isTool(lines[j-1]) && lines[j] < lines[j-1]; j-- {
			lines[j], lines[j-1] = lines[j-1], lines[j]
		}
	}
	return lines
}

// TestEager_ResultsCountForCallsOfTheFinalMessage: a result counts only for a call in the message that the run
// continues with.
// Rules agent/E-13, agent/E-23.
func TestEager_ResultsCountForCallsOfTheFinalMessage(t *testing.T) {
	streamed(t, testEagerChanged[ordinary], testEagerChanged[agentic])
}

func testEagerChanged[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	for name, c := range map[string]struct {
		last M
		want []string
		ran  []string
	}{
		"other arguments": {d.answer("", wanted{"a", "1", "2"}, wanted{"b", "2", object}),
			[]string{`tool b#2: <{"q":1}>`, `tool a#1: <2>`, ended},
			[]string{"0s a#1 starts", "1s b#2 starts", "2s b#2 ends", "3s a#1 is given up", "3s a#1 starts", "12s a#1 ends"}},
		"other name": {d.answer("", wanted{"b", "1", object}), []string{`tool b#1: <{"q":1}>`, ended},
			[]string{"0s a#1 starts", "1s b#2 starts", "2s b#2 ends", "3s a#1 is given up", "3s b#1 starts", "4s b#1 ends"}},
		"other ID": {d.answer("", wanted{"b", "7", object}), []string{`tool b#7: <{"q":1}>`, ended},
			[]string{"0s a#1 starts", "1s b#2 starts", "2s b#2 ends", "3s a#1 is given up", "3s b#7 starts", "4s b#7 ends"}},
		"another first, at once": {d.answer("", wanted{"b", "7", object}, wanted{"a", "1", object}),
			[]string{`tool b#7: <{"q":1}>`, `tool a#1: <{"q":1}>`, ended},
			[]string{"0s a#1 starts", "1s b#2 starts", "2s b#2 ends", "3s b#7 starts", "4s b#7 ends", "9s a#1 ends"}},
		"no calls": {d.answer("never mind"), nil,
			[]string{"0s a#1 starts", "1s b#2 starts", "2s b#2 ends", "3s a#1 is given up"}},
	} {
		clock := &clocked{start: time.Now()}
		turn := 0
		h := &hooked[M]{afterModel: func(
			ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			if turn++; turn == 1 {
				s.Messages = append(s.Messages[:len(s.Messages)-1:len(s.Messages)-1], c.last)
			}
			return ctx, s, nil
		},
			finalAnswer: func(ctx context.Context,
				s *TypedChatModelAgentState[M],
			) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
				time.Sleep(time.Minute) // calls of a rejected answer are given up before the end of the run
				return ctx, AcceptFinalAnswer, s, nil
			}}
		m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b"), {d.chunk("done")}}}
		a := setup[M](t, m, []tool.BaseTool{clock.takes("a", 9), clock.takes("b", 1)}, eagerly[M], with[M](h))
		all := read(t, bare(t.Context(), a, true))
		require.Equal(t, append([]string{both}, c.want...), linesOf(all), name)
		synctest.Wait()
		require.ElementsMatch(t, c.ran, clock.all(), name)
	}
}

// TestEager_AFailingHookAbandonsWhatRuns: a run that ends between the answer and its tools abandons those that run.
// Rule agent/E-23.
func TestEager_AFailingHookAbandonsWhatRuns(t *testing.T) {
	streamed(t, testEagerHookFails[ordinary], testEagerHookFails[agentic])
}

func testEagerHookFails[M MessageType](t *testing.T) {
	clock := &clocked{start: time.Now()}
	var results opened
	h := &hooked[M]{afterModel: func(
		ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
	) (context.Context, *TypedChatModelAgentState[M], error) {
		return ctx, s, errBroken
	}}
	m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}}
	a := setup[M](t, m, []tool.BaseTool{clock.takes("a", 9), results.endless("b")}, eagerly[M], with[M](h))
	require.ErrorIs(t, endError(t, read(t, bare(t.Context(), a, true))), errBroken)
	synctest.Wait()
	require.Equal(t, []string{"0s a#1 starts", "3s a#1 is given up"}, clock.all())
	require.Zero(t, results.open.Load())
}

// TestEager_CallsWithOneIDAreCallsOfTheirOwn: calls with the same ID, name and arguments each run, and each has its result.
// Rule agent/E-24.
func TestEager_CallsWithOneIDAreCallsOfTheirOwn(t *testing.T) {
	streamed(t, testEagerShared[ordinary], testEagerShared[agentic])
}

func testEagerShared[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	var runs atomic.Int32
	tools := []tool.BaseTool{
		&toolFunc{"t", func(_ context.Context, args string) (string, error) { runs.Add(1); return "<" + args + ">", nil }},
		&streamToolFunc{"s", func(context.Context, string) (*schema.StreamReader[string], error) {
			runs.Add(1)
			return schema.StreamReaderFromArray([]string{"<", object, ">"}), nil
		}},
	}
	for _, name := range []string{"t", "s"} {
		runs.Store(0)
		chunk := chunkAt[M](1, wanted{name, "1", object})
		for at := 2; at <= 3; at++ {
			merge(chunk, chunkAt[M](at, wanted{name, "1", object}))
		}
		m := &paced[M]{turns: [][]M{{chunk}, {d.chunk("done")}}}
		all := read(t, bare(t.Context(), setup[M](t, m, tools, eagerly[M]), true))
		result := fmt.Sprintf("tool %s#1: <%s>", name, object)
		require.Equal(t, []string{"user: hi", linesOf(all)[0], result, result, result}, m.asked[1])
		require.EqualValues(t, 3, runs.Load())
		require.NotEmpty(t, all[len(all)-1].message)
	}
}

// TestEager_InterruptHasItsOrdinaryAddress: a tool that interrupts is interrupted at its own address, and what has
// finished beside it is not run again.
// Rule agent/E-20.
func TestEager_InterruptHasItsOrdinaryAddress(t *testing.T) {
	streamed(t, testEagerInterrupt[ordinary], testEagerInterrupt[agentic])
}

func testEagerInterrupt[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	for _, sequential := range []bool{false, true} {
		var addresses []string
		for _, eager := range []bool{false, true} {
			var ran diary
			siblings := 0
			sibling := &toolFunc{"b",
				func(_ context.Context, args string) (string, error) { siblings++; return "<" + args + ">", nil }}
			m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b"), {d.chunk("done")}}}
			a := setup[M](t, m, []tool.BaseTool{asksFirst("a", &ran), sibling}, func(c *TypedChatModelAgentConfig[M]) {
				c.ToolsConfig.EagerExecution, c.ToolsConfig.ExecuteSequentially = eager, sequential
			})
			all := read(t, bare(t.Context(), a, true))
			require.Equal(t, []string{both, `tool b#2: <{"q":1}>`, "no message"}, linesOf(all))
			contexts := all[2].Action.Interrupted.InterruptContexts
			require.Len(t, contexts, 1)
			require.Equal(t, "may I?", contexts[0].Info)
			addresses = append(addresses, contexts[0].Address.String())

			rest := read(t, continueFrom(t.Context(), t, a, all, true))
			require.Equal(t, []string{`tool a#1: <{"q":1}>`, ended}, linesOf(rest), "eager=%v", eager)
			require.Equal(t, []string{"a#1 resumed=false", "a#1 resumed=true"}, ran.all())
			require.Equal(t, 1, siblings)
			require.Equal(t, []string{"user: hi", both, `tool a#1: <{"q":1}>`, `tool b#2: <{"q":1}>`}, m.asked[1])
		}
		require.Equal(t, addresses[0], addresses[1], "its normal address")
	}
}

// TestEager_ReturnDirectlyEventComesLast: the event of the result that ends the run is the last, also if its tool was
// the first.
// Rule agent/E-21.
func TestEager_ReturnDirectlyEventComesLast(t *testing.T) {
	streamed(t, testEagerDirect[ordinary], testEagerDirect[agentic])
}

func testEagerDirect[M MessageType](t *testing.T) {
	clock := &clocked{start: time.Now()}
	m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}}
	a := setup[M](t, m, []tool.BaseTool{clock.takes("a", 1), clock.takes("b", 5)}, eagerly[M],
		func(c *TypedChatModelAgentConfig[M]) {
			c.ToolsConfig.ReturnDirectly = map[string]bool{"a": true}
		})
	require.Equal(t, []string{both, `tool b#2: <{"q":1}>`, `tool a#1: <{"q":1}>`},
		linesOf(read(t, bare(t.Context(), a, true))))
	require.Len(t, m.asked, 1)
}

// TestEager_ContextEnds: the end of the caller's context ends a run that waits for early calls, whether or not they
// heed it.
func TestEager_ContextEnds(t *testing.T) { streamed(t, testEagerCtx[ordinary], testEagerCtx[agentic]) }

func testEagerCtx[M MessageType](t *testing.T) {
	for _, sequential := range []bool{false, true} {
		stubborn := &toolFunc{"a",
			func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "late", nil }}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}}
		a := setup[M](t, m, []tool.BaseTool{stubborn, echo("b")}, eagerly[M],
			func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.ExecuteSequentially = sequential })
		start := time.Now()
		err := endError(t, read(t, bare(ctx, a, true)))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(start), "sequential=%v", sequential)
		cancel()
		time.Sleep(2 * time.Hour)
	}
}

// TestEager_Nested: a run inside an early call is a run of its own; its events are not held back.
func TestEager_Nested(t *testing.T) { streamed(t, testEagerNested[ordinary], testEagerNested[agentic]) }

func testEagerNested[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	inner := setup[M](t, &paced[M]{turns: [][]M{{chunkAt[M](1, wanted{"t", "c1", object})},
		{d.chunk("", wanted{"t", "c2", ""})}, {d.chunk("done")}}},
		[]tool.BaseTool{echo("t")}, eagerly[M])
	var lines []string
	nests := &toolFunc{"a", func(ctx context.Context, _ string) (string, error) {
		lines = linesOf(read(t, bare(ctx, inner, true)))
		return "ok", nil
	}}
	m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b"), {d.chunk("done")}}}
	require.Len(t, read(t, bare(t.Context(), setup[M](t, m, []tool.BaseTool{nests, echo("b")}, eagerly[M]), true)), 4)
	require.Equal(t, []string{asked, answered, "assistant: [t#c2 ]", "tool t#c2: <>", ended}, lines)
}

// TestEager_TurnsCountAsWithoutIt: turns count as without eager tools.
// Rule agent/E-27.
func TestEager_TurnsCountAsWithoutIt(t *testing.T) {
	streamed(t, testEagerIterations[ordinary], testEagerIterations[agentic])
}

func testEagerIterations[M MessageType](t *testing.T) {
	m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}}
	a := setup[M](t, m, []tool.BaseTool{echo("a"), echo("b")}, eagerly[M],
		func(c *TypedChatModelAgentConfig[M]) { c.MaxIterations = 3 })
	require.ErrorIs(t, endError(t, read(t, bare(t.Context(), a, true))), ErrExceedMaxIterations)
	require.Len(t, m.asked, 3)
}
