package adk

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// startsOf is a handler that notes the starts of agents.
func startsOf(names *[]string) callbacks.Handler {
	return callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
	) context.Context {
		if info.Component == ComponentOfAgent || info.Component == ComponentOfAgenticAgent {
			*names = append(*names, info.Name)
		}
		return ctx
	}).Build()
}

// Rule runtime/O4.
func TestOptions_TheLastOfEachKindWins(t *testing.T) {
	matrix(t, testRepeatedOptions[ordinary], testRepeatedOptions[agentic])
}

func testRepeatedOptions[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	type toolFlavor struct{ name string }
	var log []string
	look := &flavorTool{named("look"), func(opts []tool.Option) string {
		return tool.GetImplSpecificOptions(&toolFlavor{}, opts...).name
	}}
	m := says(d.answer("", wanted{"look", "1", "x"}, wanted{"ask", "2", "x"}), d.answer("done"))
	store := memory{}
	r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, m, []tool.BaseTool{look, askTool("ask")}),
		EnableStreaming: streaming, CheckPointStore: store})
	note := func(s string) func(context.Context) error {
		return func(context.Context) error { log = append(log, s); return nil }
	}
	var starts []string
	flavor := func(name string) tool.Option {
		return tool.WrapImplSpecificOptFn(func(f *toolFlavor) { f.name = name })
	}
	opts := []AgentRunOption{
		WithCallbacks(startsOf(&starts)), WithCallbacks(startsOf(&starts), startsOf(&starts)),
		WithCheckPointID("first"), WithCheckPointID("last"),
		WithSessionValues(map[string]any{"a": 1, "b": 1}), WithSessionValues(map[string]any{"a": 2}),
		WithChatModelOptions([]model.Option{model.WithModel("first"), model.WithTopP(1)}),
		WithChatModelOptions([]model.Option{model.WithModel("last")}),
		WithToolOptions([]tool.Option{flavor("first")}), WithToolOptions([]tool.Option{flavor("last")}),
		WithAfterToolCallsHook(note("first")), WithAfterToolCallsHook(note("last")),
	}
	all := read(t, r.Query(t.Context(), "hi", opts...))
	require.Len(t, starts, 3, "callbacks add up")
	require.Equal(t, []string{"last"}, keysOf(store))
	require.Contains(t, linesOf(all), "tool look#1: last")
	common := model.GetCommonOptions(nil, m.options[0]...)
	require.Equal(t, "last", *common.Model)
	require.Nil(t, common.TopP)

	point := all[len(all)-1].Action.Interrupted.InterruptContexts[0]
	it, err := r.ResumeWithParams(t.Context(), "last", &ResumeParams{Targets: map[string]any{point.ID: "yes"}}, opts...)
	require.NoError(t, err)
	read(t, it)
	require.Equal(t, []string{"last"}, log, "rule runtime/O7: also on resume")
	doc, err := openRun(store["last"])
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, keysOf(doc.Values))
}

// flavorTool answers with its options.
type flavorTool struct {
	named
	of func(opts []tool.Option) string
}

func (o *flavorTool) InvokableRun(_ context.Context, _ string, opts ...tool.Option) (string, error) {
	return o.of(opts), nil
}

func keysOf[V any, Map ~map[string]V](m Map) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Rule runtime/O4.
func TestOptions_HistoryModifier(t *testing.T) {
	m := &replies{all: []Message{callOf("ask", "c", "x"), schema.AssistantMessage("done", nil)}}
	r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, askTool("ask")), CheckPointStore: memory{}})
	point := interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))[0]
	change := func(text string) AgentRunOption {
		return WithHistoryModifier(func(_ context.Context, history []Message) []Message {
			return append([]Message{schema.UserMessage(text)}, history...)
		})
	}
	drainAll(t, resumeWith(t, r, map[string]any{point.ID: "yes"}, change("first"), change("last")))
	require.Equal(t, []string{"user: last", "user: hi"}, chatDialect.lines(m.seen[1])[:2])
}

// TestOptions_SessionValuesAreSetBeforeTheAgentStarts: they are set on Resume, too.
// Rule runtime/O5.
func TestOptions_SessionValuesAreSetBeforeTheAgentStarts(t *testing.T) {
	var seen []map[string]any
	a := insisting("a")
	run, resume := a.run, a.resume
	a.run = func(ctx context.Context, input *AgentInput, send func(*AgentEvent)) {
		seen = append(seen, GetSessionValues(ctx))
		AddSessionValue(ctx, "by", "the agent")
		run(ctx, input, send)
	}
	a.resume = func(ctx context.Context, info *ResumeInfo, send func(*AgentEvent)) {
		seen = append(seen, GetSessionValues(ctx))
		resume(ctx, info, send)
	}
	r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
	interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), WithSessionValues(map[string]any{"x": 1, "y": 1})))
	interruptOf(t, resumeWith(t, r, nil, WithSessionValues(map[string]any{"y": 2, "z": 2})))
	drainAll(t, resumeWith(t, r, nil))
	all := map[string]any{"x": 1, "y": 2, "z": 2, "by": "the agent"}
	require.Equal(t, []map[string]any{{"x": 1, "y": 1}, all, all}, seen,
		"those of a resume count more than the saved ones")
}

// Rule runtime/O6.
func TestOptions_ForOneAgentTool(t *testing.T) {
	matrix(t, testAgentToolOptions[ordinary], testAgentToolOptions[agentic])
}

func testAgentToolOptions[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	inner := func(name string) (tool.BaseTool, *scripted[M]) {
		m := says(d.answer(name))
		return NewTypedAgentTool[M](t.Context(), setup(t, m, nil, func(c *TypedChatModelAgentConfig[M]) { c.Name = name })), m
	}
	x, mx := inner("x")
	y, my := inner("y")
	outer := says(d.answer("", wanted{"x", "1", `{"request":"do"}`}, wanted{"y", "2", `{"request":"do"}`}),
		d.answer("done"))
	named := func(m string) []AgentRunOption {
		return []AgentRunOption{WithChatModelOptions([]model.Option{model.WithModel(m)})}
	}
	read(t, ask(t.Context(), TypedAgent[M](setup(t, outer, []tool.BaseTool{x, y})), streaming,
		WithAgentToolRunOptions(map[string][]AgentRunOption{"x": named("first")}),
		WithAgentToolRunOptions(map[string][]AgentRunOption{"x": named("last")})))
	modelOf := func(m *scripted[M]) *string { return model.GetCommonOptions(nil, m.options[0]...).Model }
	require.Equal(t, "last", *modelOf(mx))
	require.Nil(t, modelOf(my))
	require.Nil(t, modelOf(outer))
}

// Rule runtime/O7.
func TestOptions_AfterToolCallsHookRunsOnceARound(t *testing.T) {
	matrix(t, testAfterToolCalls[ordinary], testAfterToolCalls[agentic])
}

func testAfterToolCalls[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	agent := func() (*TypedChatModelAgent[M], *scripted[M]) {
		m := says(d.answer("", wanted{"echo", "1", "a"}, wanted{"echo", "2", "b"}), d.answer("", wanted{"echo", "3", "c"}),
			d.answer("done"))
		return setup(t, m, []tool.BaseTool{echo("echo")}), m
	}
	a, m := agent()
	var history []int
	option, cancel := WithCancel()
	hook := func(ctx context.Context) error {
		messages, err := agentRunFrom[M](ctx).history(ctx)
		history = append(history, len(messages))
		if len(history) == 2 {
			cancel(WithAgentCancelMode(CancelAfterToolCalls))
		}
		return err
	}
	all := read(t, ask(t.Context(), TypedAgent[M](a), streaming, WithAfterToolCallsHook(hook), option))
	require.Equal(t, []int{4, 6}, history, "once a round, with the results in the state")
	require.ErrorAs(t, all[len(all)-1].Err, new(*CancelError), "the cancel is looked at after the hook")
	require.Equal(t, 2, m.calls())

	a, m = agent()
	all = read(t, ask(t.Context(), TypedAgent[M](a), streaming,
		WithAfterToolCallsHook(func(context.Context) error { return errBroken })))
	require.ErrorIs(t, failure(t, all), errBroken)
	require.Equal(t, 1, m.calls())
}

// Agents inside do not get the option of the cancel, and obey it all the same.
// Rule runtime/O8.
func TestOptions_TheCancelOptionStaysOutside(t *testing.T) {
	var given []AgentRunOption
	inner := &custom[Message]{"inner",
		func(ctx context.Context, _ *AgentInput, opts []AgentRunOption) *AsyncIterator[*AgentEvent] {
			given = opts
			done, mode := CancelRequested(ctx)
			require.NotNil(t, done)
			_, asked := mode()
			require.False(t, asked)
			return sends[Message](said("x")).Run(ctx, nil)
		}}
	option, _ := WithCancel()
	other := WithCallbacks().DesignateAgent("inner")
	drainAll(t, ask(t.Context(), Agent(sequenceOf(t, "seq", inner)), false, option, other))
	require.Len(t, given, 1)
	require.Nil(t, given[0].cancel)
}

// An agent that is resumed gets the options that are meant for it, as one that is run does.
// Rule runtime/O9.
func TestOptions_DesignationOnResume(t *testing.T) {
	type flavor struct{ trail []string }
	add := func(s string) AgentRunOption {
		return WrapImplSpecificOptFn(func(f *flavor) { f.trail = append(f.trail, s) })
	}
	var mu sync.Mutex
	seen := map[string]string{}
	child := func(name string) Agent {
		return &optionNoting{insisting(name), &mu, seen, func(opts []AgentRunOption) string {
			return strings.Join(GetImplSpecificOptions(&flavor{}, opts...).trail, " ")
		}}
	}
	for what, a := range map[string]Agent{
		"outermost": child("x"),
		"sequence":  sequenceOf(t, "w", child("x")),
		"parallel":  parallelOf(t, "w", child("x"), child("y")),
		"transfer":  flowOf(t, newOrdinary(t, "boss", &replies{all: []Message{transferTo("x")}}), child("x")),
	} {
		clear(seen)
		r := NewRunner(t.Context(), RunnerConfig{Agent: a, CheckPointStore: memory{}})
		opts := []AgentRunOption{add("all"), add("x").DesignateAgent("x"), add("y").DesignateAgent("y", "z")}
		interruptOf(t, r.Query(t.Context(), "hi", append(slices.Clone(opts), WithCheckPointID("1"))...))
		interruptOf(t, resumeWith(t, r, nil, opts...))
		require.Equal(t, []string{"all x", "all x"}, []string{seen["run x"], seen["resume x"]}, what)
		if what == "parallel" {
			require.Equal(t, []string{"all y", "all y"}, []string{seen["run y"], seen["resume y"]})
		}
	}
}

// optionNoting notes the options of an agent.
type optionNoting struct {
	*interruptible
	mu   *sync.Mutex
	seen map[string]string
	read func([]AgentRunOption) string
}

func (o *optionNoting) note(how string, opts []AgentRunOption) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[how+" "+o.name] = o.read(opts)
}

func (o *optionNoting) Run(ctx context.Context, input *AgentInput, opts ...AgentRunOption) *itemEvents {
	o.note("run", opts)
	return o.interruptible.Run(ctx, input, opts...)
}

func (o *optionNoting) Resume(ctx context.Context, info *ResumeInfo, opts ...AgentRunOption) *itemEvents {
	o.note("resume", opts)
	return o.interruptible.Resume(ctx, info, opts...)
}

// Options that are made of one another share no memory.
// Rule runtime/B15.19.
func TestOptions_DesignationsShareNothing(t *testing.T) {
	base := WithCallbacks().DesignateAgent("a", "b", "c") // with room behind it
	base.agents = slices.Grow(base.agents, 8)
	x, y := base.DesignateAgent("x"), base.DesignateAgent("y")
	require.Equal(t, []string{"a", "b", "c", "x"}, x.agents)
	require.Equal(t, []string{"a", "b", "c", "y"}, y.agents)
	opts := make([]AgentRunOption, 0, 8)
	opts = append(opts, base, x)
	require.Len(t, optionsFor("x", opts), 1)
	require.Equal(t, []string{"a", "b", "c"}, opts[0].agents)
}
