package adk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// parrot is a model that calls the tool t with the last user text, and then answers with the result. It serves many
// runs at once, and gives all of them its own messages.
type parrot[M MessageType] struct{ done M }

func (p *parrot[M]) answer(history []M) M {
	d := dialectOf[M]()
	last := d.line(history[len(history)-1])
	if len(last) > 5 && last[:5] == "user:" {
		return d.answer("", wanted{"t", "c", fmt.Sprintf(`{"text":%q}`, last[6:])})
	}
	return p.done
}

func (p *parrot[M]) Generate(_ context.Context, h []M, _ ...model.Option) (M, error) {
	return p.answer(h), nil
}

func (p *parrot[M]) Stream(_ context.Context, h []M, _ ...model.Option) (*schema.StreamReader[M], error) {
	return schema.StreamReaderFromArray([]M{p.answer(h)}), nil
}

// TestShared_ManyRunsOfOneAgent: runs of one agent with every feature see nothing of each other. Under -race.
// Rules agent/B19.12, agent/B19.13, agent/B19.14, agent/B19.15, agent/L-8.
func TestShared_ManyRunsOfOneAgent(t *testing.T) {
	matrix(t, testSharedAgent[ordinary], testSharedAgent[agentic])
}

func testSharedAgent[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	ops := opsOf[M]()
	type who struct{}
	whoIs := func(ctx context.Context) string { name, _ := ctx.Value(who{}).(string); return name }
	remembers := func(ctx context.Context, s *TypedChatModelAgentState[M]) error {
		v, ok, err := GetRunLocalValue(ctx, "who")
		if err == nil && ok && v != whoIs(ctx) {
			err = fmt.Errorf("%v sees the value of %v", whoIs(ctx), v)
		}
		if err == nil && d.line(s.Messages[0]) != "user: "+whoIs(ctx) {
			err = fmt.Errorf("%v sees the history of %v", whoIs(ctx), d.line(s.Messages[0]))
		}
		return err
	}
	h := &hooked[M]{
		beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
			rc.Tools = append(rc.Tools, &toolFunc{"t", func(ctx context.Context, args string) (string, error) {
				return args, SendToolGenAction(ctx, "", &AgentAction{CustomizedAction: whoIs(ctx)})
			}})
			rc.ReturnDirectly["other"] = true
			return ctx, rc, nil
		},
		beforeModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			s.ToolInfos = append(s.ToolInfos[:0], s.ToolInfos[1:]...)
			return ctx, s, errors.Join(SetRunLocalValue(ctx, "who", whoIs(ctx)), remembers(ctx, s))
		},
		afterModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			ops.extra(s.Messages[len(s.Messages)-1])["who"] = whoIs(ctx)
			return ctx, s, remembers(ctx, s)
		},
		finalAnswer: func(ctx context.Context,
			s *TypedChatModelAgentState[M],
		) (context.Context, FinalAnswerDecision, *TypedChatModelAgentState[M], error) {
			return ctx, AcceptFinalAnswer, s, remembers(ctx, s)
		},
	}
	a := setup(t, &parrot[M]{d.answer("done")}, []tool.BaseTool{echo("first"), echo("second"), echo("third")}, with[M](h),
		eagerly[M],
		retrying(1, func(rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
			return &TypedRetryDecision[M]{AdditionalOptions: []model.Option{model.WithTemperature(1)}}
		}), standIns[M](1, &diary{}))
	ids := sync.Map{}
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			name := fmt.Sprint("user ", i)
			ctx := context.WithValue(context.Background(), who{}, name)
			events := read(t, a.Run(ctx, &TypedAgentInput[M]{Messages: []M{ops.user(name)}, EnableStreaming: streaming}))
			for _, o := range events {
				if o.Err != nil {
					t.Error(o.Err)
					continue
				}
				if _, seen := ids.LoadOrStore(o.id(), true); seen {
					t.Error("two messages with one ID")
				}
				if o.Action != nil && o.Action.CustomizedAction != name {
					t.Errorf("%v has the action of %v", name, o.Action.CustomizedAction)
				}
			}
			if len(events) != 3 {
				t.Errorf("%v: %v", name, linesOf(events))
			}
		})
	}
	all.Wait()
}

// TestShared_ManyReadersOfOneStream: many consumers of one event stream, and a middleware that writes into the Extra
// of every chunk.
func TestShared_ManyReadersOfOneStream(t *testing.T) {
	t.Run("ordinary", testManyReaders[ordinary])
	t.Run("agentic", testManyReaders[agentic])
}

func testManyReaders[M MessageType](t *testing.T) {
	d, ops := dialectOf[M](), opsOf[M]()
	const chunks, readers = 2000, 8
	m := &scripted[M]{answers: [][]M{nil}}
	for range chunks {
		m.answers[0] = append(m.answers[0], d.chunk("x"))
	}
	writes := &hooked[M]{wrapModel: func(
		_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
	) (model.BaseModel[M], error) {
		return &modelFunc[M]{stream: func(ctx context.Context, h []M, opts ...model.Option) (*schema.StreamReader[M], error) {
			s, err := m.Stream(ctx, h, opts...)
			return schema.StreamReaderWithConvert(s, func(c M) (M, error) {
				return ops.withExtra(c, ops.markedExtra(c, map[string]any{"k": "v"})), nil
			}), err
		}}, nil
	},
		afterModel: func(ctx context.Context, s *TypedChatModelAgentState[M],
			_ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			ops.extra(s.Messages[len(s.Messages)-1])["later"] = true
			return ctx, s, nil
		}}
	it := bare(t.Context(), setup[M](t, m, nil, with[M](writes)), true)
	e, ok := it.Next()
	require.True(t, ok)
	var all sync.WaitGroup
	for _, s := range e.Output.MessageOutput.MessageStream.Copy(readers) {
		all.Go(func() {
			n, ids := 0, 0
			for c, err := range s.All() {
				if err != nil {
					t.Error(err)
					return
				}
				n++
				if GetMessageID(c) != "" {
					ids++
				}
				_ = ops.extra(c)["k"]
			}
			if n != chunks || ids != 1 {
				t.Errorf("%d chunks, %d IDs", n, ids)
			}
		})
	}
	all.Wait()
	_, ok = it.Next()
	require.False(t, ok)
}

// TestShared_ResumeManyAtOnce: runs of one agent are resumed at the same time.
func TestShared_ResumeManyAtOnce(t *testing.T) {
	matrix(t, testResumeMany[ordinary], testResumeMany[agentic])
}

func testResumeMany[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var ran diary
	done := d.answer("done")
	a := setup[M](t, &parrot[M]{done}, []tool.BaseTool{asksFirst("t", &ran)}, eagerly[M],
		with[M](everyHook[M]("h", &diary{})))
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			name := fmt.Sprint("user ", i)
			first := read(t, a.Run(context.Background(),
				&TypedAgentInput[M]{Messages: []M{opsOf[M]().user(name)}, EnableStreaming: streaming}))
			if last := first[len(first)-1]; last.Action == nil || last.Action.Interrupted == nil {
				t.Errorf("%v: %v", linesOf(first), last.Err)
				return
			}
			rest := read(t, continueFrom(context.Background(), t, a, first, streaming))
			want := fmt.Sprintf(`[tool t#c: <{"text":%q}> assistant: done]`, name)
			if got := fmt.Sprint(linesOf(rest)); got != want {
				t.Errorf("%s: want %s", got, want)
			}
		})
	}
	all.Wait()
	require.Len(t, ran.all(), 100)
}

// TestShared_AbandonedIterators: a reader that goes away leaves nothing behind, whatever it has read.
// Rule agent/W-3.
func TestShared_AbandonedIterators(t *testing.T) {
	bubbled(t, testAbandoned[ordinary], testAbandoned[agentic])
}

func testAbandoned[M MessageType](t *testing.T, streaming bool) {
	for _, closes := range []bool{false, true} {
		for n := range 5 {
			m := &fickle[M]{tries: []try[M]{breaks[M](errShaky, "a", "b"), says1[M]("c", "d")}}
			a := setup[M](t, m, nil, retrying(2, func(rc *TypedRetryContext[M]) *TypedRetryDecision[M] {
				return &TypedRetryDecision[M]{Retry: rc.RetryAttempt < 3}
			}))
			it := bare(t.Context(), a, streaming)
			for range n {
				if _, ok := it.Next(); !ok {
					break
				}
			}
			if closes {
				it.Close()
			}
			synctest.Wait()
			require.Equal(t, 3, m.calls())
			require.Zero(t, m.open, "the streams of all attempts are read or closed")
		}
	}
}

// TestShared_DamagedCheckpoints: what comes back from a store may be anything. The run ends with one error.
func TestShared_DamagedCheckpoints(t *testing.T) {
	bubbled(t, testDamaged[ordinary], testDamaged[agentic])
}

func testDamaged[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	a := setup[M](t, says(d.answer("", wanted{"t", "1", ""})), []tool.BaseTool{asksFirst("t", &diary{})})
	all := read(t, bare(t.Context(), a, streaming))
	saved := all[len(all)-1].Action.Interrupted.Data.(*ChatModelAgentInterruptInfo).Data
	resume := func(info *ResumeInfo) []observed[M] { return read(t, a.Resume(t.Context(), info)) }
	const refusal = "ChatModelAgent.Resume: agent 'tester' was asked to resume but "
	for _, c := range []struct {
		info *ResumeInfo
		want string
	}{
		{nil, refusal + "info is nil"},
		{&ResumeInfo{}, refusal + "has no state"},
		{&ResumeInfo{InterruptState: 7}, refusal + "has invalid interrupt state type: int"},
		{&ResumeInfo{InterruptState: saved, ResumeData: "x"}, refusal + "has invalid resume data type: string"},
		{&ResumeInfo{InterruptState: []byte(nil)}, ""},
		{&ResumeInfo{InterruptState: []byte{}}, ""},
		{&ResumeInfo{InterruptState: []byte("junk")}, ""},
	} {
		out := resume(c.info)
		require.Len(t, out, 1)
		require.ErrorContains(t, endError(t, out), c.want)
	}
	for cut := 0; cut < len(saved); cut += 1 + len(saved)/50 {
		require.Error(t,
			endError(t, resume(&ResumeInfo{InterruptState: saved[:cut], WasInterrupted: true, IsResumeTarget: true})))
		flipped := append([]byte(nil), saved...)
		flipped[cut] ^= 0x10
		out := resume(&ResumeInfo{InterruptState: flipped, WasInterrupted: true, IsResumeTarget: true})
		require.NotEmpty(t, out, "bit of byte %d: what the runner saves has a checksum, this has none; but the run ends", cut)
	}
}

// TestShared_DynamicTools: the tools of a run are those that BeforeAgent leaves, also if that is none, and everything
// else of the configuration stays with them.
// Rules agent/B19.19, agent/L-4.
func TestShared_DynamicTools(t *testing.T) {
	bubbled(t, testDynamicTools[ordinary], testDynamicTools[agentic])
}

func testDynamicTools[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	run := func(change func(rc *ChatModelAgentContext), tools ...tool.BaseTool) (lines []string, m *scripted[M]) {
		h := &hooked[M]{beforeAgent: func(
			ctx context.Context, rc *ChatModelAgentContext,
		) (context.Context, *ChatModelAgentContext, error) {
			change(rc)
			return ctx, rc, nil
		}}
		m = says(d.answer("", wanted{"nick", "1", ""}, wanted{"what", "2", ""}), d.answer("done"))
		a := setup[M](t, m, tools, with[M](h), sequentially[M], func(c *TypedChatModelAgentConfig[M]) {
			c.ToolsConfig.UnknownToolsHandler = func(_ context.Context, name, _ string) (string, error) {
				return "no " + name, nil
			}
			c.ToolsConfig.ToolArgumentsHandler = func(context.Context, string, string) (string, error) { return "handled", nil }
			c.ToolsConfig.ToolAliases = map[string]compose.ToolAliasConfig{"new": {NameAliases: []string{"nick"}}}
		})
		for range 2 {
			m.histories, m.options = nil, nil
			lines = linesOf(read(t, bare(t.Context(), a, streaming)))
		}
		return lines, m
	}
	lines, m := run(func(rc *ChatModelAgentContext) { rc.Tools = nil }, echo("old"))
	require.Len(t, lines, 1, "the first answer is the last, whatever it calls")
	require.Equal(t, []string{}, toolNames(m.options[0]))

	lines, m = run(func(rc *ChatModelAgentContext) { rc.Tools = append(rc.Tools, echo("new")) })
	require.Equal(t, []string{"tool nick#1: <handled>", "tool what#2: no what", ended}, lines[1:])
	require.Equal(t, []string{"new"}, toolNames(m.options[0]))

	lines, m = run(func(rc *ChatModelAgentContext) {
		rc.Tools = append(rc.Tools[:0],
			&toolFunc{"new", func(context.Context, string) (string, error) { return "first", nil }}, echo("new"))
	}, echo("old"))
	require.Equal(t, []string{"tool nick#1: <handled>", "tool what#2: no what", ended}, lines[1:],
		"rule agent/L-4: of two with one name the last runs")
	require.Equal(t, []string{"new"}, toolNames(m.options[0]))
}
