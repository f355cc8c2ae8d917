package adk

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// paced is a model that streams its turns with a second before each chunk but the first, and before the end.
type paced[M MessageType] struct {
	turns [][]M
	// breaks, by turn, are errors instead of the end.
	breaks map[int]error
	asked  [][]string
}

func (p *paced[M]) Generate(ctx context.Context, h []M, opts ...model.Option) (none M, _ error) {
	s, err := p.Stream(ctx, h, opts...)
	if err != nil {
		return none, err
	}
	return messageRuntimeOf[M]().concat(ctx, s)
}

func (p *paced[M]) Stream(_ context.Context, h []M, _ ...model.Option) (*schema.StreamReader[M], error) {
	n := len(p.asked)
	p.asked = append(p.asked, dialectOf[M]().lines(h))
	s, w := schema.Pipe[M](0)
	go func() {
		defer w.Close()
		for i, c := range p.turns[min(n, len(p.turns)-1)] {
			if i > 0 {
				time.Sleep(time.Second)
			}
			if w.Send(c, nil) {
				return
			}
		}
		time.Sleep(time.Second)
		if err := p.breaks[n]; err != nil {
			var none M
			w.Send(none, err)
		}
	}()
	return s, nil
}

// clocked notes what tools do, with the second it happens in.
type clocked struct {
	diary
	start time.Time
}

func (c *clocked) at(format string, args ...any) {
	c.add("%ds %s", int(time.Since(c.start).Seconds()), fmt.Sprintf(format, args...))
}

// takes is a tool that works for some seconds, unless its context ends.
func (c *clocked) takes(name string, seconds int) tool.BaseTool {
	return &toolFunc{named(name), func(ctx context.Context, args string) (string, error) {
		id := compose.GetToolCallID(ctx)
		c.at("%s#%s starts", name, id)
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
			c.at("%s#%s ends", name, id)
			return "<" + args + ">", nil
		case <-ctx.Done():
			c.at("%s#%s is given up", name, id)
			return "", ctx.Err()
		}
	}}
}

func eagerly[M MessageType](c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.EagerExecution = true }

func sequentially[M MessageType](c *TypedChatModelAgentConfig[M]) {
	c.ToolsConfig.ExecuteSequentially = true
}

// streamed runs a test for both kinds of message in fake time, streaming.
func streamed(t *testing.T, ordinary, agentic func(t *testing.T)) {
	t.Helper()
	t.Run("ordinary", func(t *testing.T) { synctest.Test(t, ordinary) })
	t.Run("agentic", func(t *testing.T) { synctest.Test(t, agentic) })
}

// timedLines are the events of a run as they come, with their seconds. Streams are read later.
func timedLines[M MessageType](
	t testing.TB, start time.Time, events *AsyncIterator[*TypedAgentEvent[M]],
) (when []string, all []observed[M]) {
	t.Helper()
	var raw []*TypedAgentEvent[M]
	for {
		e, ok := events.Next()
		if !ok {
			break
		}
		raw = append(raw, e)
		when = append(when, fmt.Sprint(int(time.Since(start).Seconds())))
	}
	for i, e := range raw {
		o := readOne(t, e)
		all = append(all, o)
		when[i] += "s " + linesOf([]observed[M]{o})[0]
	}
	return when, all
}

// chunksOf are the chunks of an answer: two calls at seconds 0 and 1 (the first in two pieces), and text at second 2.
func twoCalls[M MessageType](names ...string) []M {
	d := dialectOf[M]()
	split := func(name, id string, at int) []M {
		a, b := d.chunk("", wanted{name, id, `{"q"`}), d.chunk("", wanted{"", "", `:1}`})
		for _, m := range []M{a, b} {
			putAt(m, at)
		}
		return []M{a, b}
	}
	first, second := split(names[0], "1", 1), split(names[1], "2", 2)
	return []M{merge(first[0], first[1]), merge(second[0], second[1]), d.chunk("text")}
}

// putAt puts the call of a chunk at an index.
func putAt(m any, at int) {
	switch m := m.(type) {
	case *schema.Message:
		m.ToolCalls[0].Index = &at
	case *schema.AgenticMessage:
		m.ContentBlocks[0].StreamingMeta = &schema.StreamingMeta{Index: at}
	}
}

// merge makes one chunk of two pieces of a call.
func merge[M MessageType](a, b M) M {
	switch a := any(a).(type) {
	case *schema.Message:
		a.ToolCalls = append(a.ToolCalls, any(b).(*schema.Message).ToolCalls...)
	case *schema.AgenticMessage:
		a.ContentBlocks = append(a.ContentBlocks, any(b).(*schema.AgenticMessage).ContentBlocks...)
	}
	return a
}

const both = `assistant: text [a#1 {"q":1}] [b#2 {"q":1}]`

// TestEager_CallsStartWhenTheyAreComplete: and events are emitted in the order in which they happen.
// Rules agent/E-4, agent/E-12, agent/E-13.
func TestEager_CallsStartWhenTheyAreComplete(t *testing.T) {
	streamed(t, testOverlap[ordinary], testOverlap[agentic])
}

func testOverlap[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	one := func(name string) string {
		return fmt.Sprintf(`tool %s#%s: <{"q":1}>`, name, map[string]string{"a": "1", "b": "2"}[name])
	}
	for name, c := range map[string]struct {
		a, b   int // how long the tools take
		change []func(*TypedChatModelAgentConfig[M])
		tools  []string
		events []string
	}{
		"off": {a: 1, b: 1, tools: []string{"3s a#1 starts", "4s a#1 ends", "3s b#2 starts", "4s b#2 ends"},
			events: []string{"0s " + both, "4s " + one("a"), "4s " + one("b"), "4s assistant: done"}},
		"as they come": {a: 1, b: 1, change: []func(*TypedChatModelAgentConfig[M]){eagerly[M]},
			tools:  []string{"0s a#1 starts", "1s a#1 ends", "1s b#2 starts", "2s b#2 ends"},
			events: []string{"0s " + both, "3s " + one("a"), "3s " + one("b"), "3s assistant: done"}},
		"waits": {a: 9, b: 1, change: []func(*TypedChatModelAgentConfig[M]){eagerly[M]},
			tools:  []string{"0s a#1 starts", "1s b#2 starts", "2s b#2 ends", "9s a#1 ends"},
			events: []string{"0s " + both, "3s " + one("b"), "9s " + one("a"), "9s assistant: done"}},
		"sequential": {a: 2, b: 2, change: []func(*TypedChatModelAgentConfig[M]){eagerly[M], sequentially[M]},
			tools:  []string{"0s a#1 starts", "2s a#1 ends", "2s b#2 starts", "4s b#2 ends"},
			events: []string{"0s " + both, "4s " + one("a"), "4s " + one("b"), "4s assistant: done"}},
	} {
		clock := &clocked{start: time.Now()}
		m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b"), {d.chunk("done")}}}
		a := setup[M](t, m, []tool.BaseTool{clock.takes("a", c.a), clock.takes("b", c.b)}, c.change...)
		events, _ := timedLines(t, clock.start, bare(t.Context(), a, true))
		require.ElementsMatch(t, c.tools, clock.all(), name)
		require.ElementsMatch(t, c.events, events, name)
		require.Equal(t, c.events[0], events[0], name)
		require.Equal(t, []string{"user: hi", both, one("a"), one("b")}, m.asked[1], "%s: results in call order", name)
	}
}

// TestEager_CallsGoThroughEverything: an early call is the same call as one that is not early.
// Rules agent/E-11, agent/E-18.
func TestEager_CallsGoThroughEverything(t *testing.T) {
	streamed(t, testSameCall[ordinary], testSameCall[agentic])
}

func testSameCall[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	var trace [2][]string
	for i, eager := range []bool{false, true} {
		var notes diary
		var rec recorder
		t1 := &optionTool{named: "t", got: make(chan string, 9)}
		dynamic := &toolFunc{"dynamic", func(ctx context.Context, args string) (string, error) {
			notes.add("dynamic %s %s", args, compose.GetToolCallID(ctx))
			require.NoError(t, SetRunLocalValue(ctx, "k", "v"))
			return "dyn", nil
		}}
		h := everyHook[M]("h", &notes)
		h.beforeAgent = func(ctx context.Context,
			rc *ChatModelAgentContext,
		) (context.Context, *ChatModelAgentContext, error) {
			rc.Tools = append(rc.Tools, dynamic)
			return ctx, rc, nil
		}
		m := &paced[M]{turns: [][]M{
			{merge(chunkAt[M](1, wanted{"alias", "1", "{}"}),
				merge(chunkAt[M](2, wanted{"dynamic", "2", "{}"}), chunkAt[M](3, wanted{"missing", "3", "{}"})))},
			{d.chunk("done")},
		}}
		a := setup[M](t, m, []tool.BaseTool{t1}, with[M](h), sequentially[M], func(c *TypedChatModelAgentConfig[M]) {
			c.ToolsConfig.EagerExecution = eager
			c.ToolsConfig.ToolAliases = map[string]compose.ToolAliasConfig{"t": {NameAliases: []string{"alias"}}}
			c.ToolsConfig.ToolArgumentsHandler = func(_ context.Context, name, args string) (string, error) {
				notes.add("arguments of %s", name)
				return args + " ", nil
			}
			c.ToolsConfig.UnknownToolsHandler = func(ctx context.Context, name, args string) (string, error) {
				notes.add("unknown %s %s", name, compose.GetToolCallID(ctx))
				return "no such tool", nil
			}
			c.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{{Streamable: func(
				next compose.StreamableToolEndpoint,
			) compose.StreamableToolEndpoint {
				return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
					notes.add("middleware %s %s %q", in.Name, in.CallID, in.Arguments)
					return next(ctx, in)
				}
			}}}
		})
		ctx := callbacks.InitCallbacks(t.Context(), nil, rec.handler())
		all := read(t, bare(ctx, a, true,
			WithToolOptions([]tool.Option{tool.WrapImplSpecificOptFn(func(o *toolFlavor) { o.v = "sweet" })})))
		trace[i] = append(notes.all(), linesOf(all)...)
		for _, f := range rec.of("Tool") {
			trace[i] = append(trace[i], fmt.Sprint(f.timing, f.name, f.typ))
		}
		trace[i] = append(trace[i], <-t1.got, strings.Join(m.asked[1], "\n"))
	}
	require.ElementsMatch(t, trace[0], trace[1])
	require.Contains(t, trace[1], "dynamic {}  2")
}

func chunkAt[M MessageType](at int, call wanted) M {
	m := dialectOf[M]().chunk("", call)
	putAt(m, at)
	return m
}

// TestEager_AFailedCallFailsTheTurn: a call that fails, panics, ends its goroutine or has no tool fails the turn. It
// does not run again.
// Rules agent/E-14, agent/E-19.
func TestEager_AFailedCallFailsTheTurn(t *testing.T) {
	streamed(t, testEagerFailures[ordinary], testEagerFailures[agentic])
}

func testEagerFailures[M MessageType](t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":  func() error { return errBroken },
		"panic":  func() error { panic(errBroken) },
		"goexit": func() error { misdeeds["goexit"](); return nil },
	} {
		for _, sequential := range []bool{false, true} {
			runs := 0
			bad := &toolFunc{"a", func(context.Context, string) (string, error) { runs++; return "", fail() }}
			m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}}
			a := setup[M](t, m, []tool.BaseTool{bad, echo("b")}, eagerly[M],
				func(c *TypedChatModelAgentConfig[M]) { c.ToolsConfig.ExecuteSequentially = sequential })
			err := endError(t, read(t, bare(t.Context(), a, true)))
			require.ErrorContains(t, err, "eager tool call 1 failed: ", name)
			if name == "goexit" {
				require.ErrorContains(t, err, "Goexit")
			} else {
				require.ErrorIs(t, err, errBroken, name)
			}
			require.Equal(t, 1, runs, name)
		}
	}
	m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}}
	err := endError(t, read(t, bare(t.Context(), setup[M](t, m, []tool.BaseTool{echo("b")}, eagerly[M]), true)))
	require.ErrorContains(t, err, "not found")
	require.ErrorContains(t, err, "a")
}

// TestEager_AFailureLeavesItsSiblingsAlone: calls that run beside one that fails end, and their results are emitted.
// Rule agent/E-14.
func TestEager_AFailureLeavesItsSiblingsAlone(t *testing.T) {
	streamed(t, testEagerSiblings[ordinary], testEagerSiblings[agentic])
}

func testEagerSiblings[M MessageType](t *testing.T) {
	start := time.Now()
	bad := &toolFunc{"a", func(context.Context, string) (string, error) {
		time.Sleep(5 * time.Second) // the answer is complete in second 3
		return "", errBroken
	}}
	slow := &toolFunc{"b", func(ctx context.Context, _ string) (string, error) {
		time.Sleep(8 * time.Second)
		return "ended", ctx.Err()
	}}
	m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}}
	a := setup[M](t, m, []tool.BaseTool{bad, slow}, eagerly[M])
	lines, all := timedLines(t, start, bare(t.Context(), a, true))
	require.ErrorIs(t, all[len(all)-1].Err, errBroken)
	require.Contains(t, lines[len(lines)-2], "tool b#2: ended")
}

// TestEager_StreamsStayStreams: the result of a tool that streams is an event while it comes.
// Rule agent/E-15.
func TestEager_StreamsStayStreams(t *testing.T) {
	streamed(t, testEagerStreams[ordinary], testEagerStreams[agentic])
}

func testEagerStreams[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	slow := &streamToolFunc{"a", func(context.Context, string) (*schema.StreamReader[string], error) {
		s, w := schema.Pipe[string](5) // with room: there is no reader before the answer is complete
		go func() {
			defer w.Close()
			for range 5 {
				if w.Send("x", nil) {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		return s, nil
	}}
	m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b"), {d.chunk("done")}}}
	start := time.Now()
	events, all := timedLines(t, start,
		bare(t.Context(), setup[M](t, m, []tool.BaseTool{slow, echo("b")}, eagerly[M]), true))
	require.ElementsMatch(t, []string{"0s " + both, "3s tool a#1: xxxxx", `3s tool b#2: <{"q":1}>`, "5s assistant: done"},
		events)
	for _, o := range all {
		if dialectOf[M]().line(o.message) == "tool a#1: xxxxx" {
			require.Len(t, o.chunks, 5)
		}
	}
}

// TestEager_IncompleteCallsAreLeftToTheToolsNode: calls that never become complete reach their tools as they are.
// Rules agent/E-1, agent/E-13, agent/R-9.
func TestEager_IncompleteCallsAreLeftToTheToolsNode(t *testing.T) {
	streamed(t, testEagerRest[ordinary], testEagerRest[agentic])
}

func testEagerRest[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	for _, args := range []string{"", " ", `{"q"`, "[1]", "null", "word", `{"q":1} `, ` {"n":9223372036854775807}`} {
		m := &paced[M]{turns: [][]M{{chunkAt[M](1, wanted{"t", "c", args}), d.chunk("x")}, {d.chunk("done")}}}
		all := read(t, bare(t.Context(), setup[M](t, m, []tool.BaseTool{echo("t")}, eagerly[M]), true))
		require.Equal(t, []string{fmt.Sprintf("assistant: x [t#c %s]", args), fmt.Sprintf("tool t#c: <%s>", args), ended},
			linesOf(all), "as they are")
	}
	// white space after the object, in a chunk of its own: the call has run
	runs := 0
	counting := &toolFunc{"t", func(context.Context, string) (string, error) { runs++; return "ok", nil }}
	m := &paced[M]{turns: [][]M{{chunkAt[M](1, wanted{"t", "c", "{}"}), chunkAt[M](1, wanted{"", "", "\n"})},
		{d.chunk("done")}}}
	require.Len(t, read(t, bare(t.Context(), setup[M](t, m, []tool.BaseTool{counting}, eagerly[M]), true)), 3)
	require.Equal(t, 1, runs, "rule agent/E-13")
}

// TestEager_NothingOfABrokenStreamCounts: nothing of an answer that broke off counts, and tools that run are abandoned.
// Rule agent/E-16.
func TestEager_NothingOfABrokenStreamCounts(t *testing.T) {
	streamed(t, testEagerBreaks[ordinary], testEagerBreaks[agentic])
}

func testEagerBreaks[M MessageType](t *testing.T) {
	for _, err := range []error{errBroken, ErrStreamCanceled} {
		clock := &clocked{start: time.Now()}
		m := &paced[M]{turns: [][]M{twoCalls[M]("a", "b")}, breaks: map[int]error{0: err}}
		a := setup[M](t, m, []tool.BaseTool{clock.takes("a", 1), clock.takes("b", 9)}, eagerly[M])
		all := read(t, bare(t.Context(), a, true))
		require.ErrorIs(t, endError(t, all), err)
		require.Equal(t, []string{"broken stream", "error"}, linesOf(all), "no event of a tool")
		synctest.Wait()
		require.ElementsMatch(t, []string{"0s a#1 starts", "1s a#1 ends", "1s b#2 starts", "3s b#2 is given up"}, clock.all())
	}
}
