package adk

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// TestResume_InterruptIsSavedBeforeItIsEmitted: while the store has not acknowledged, the interrupt is not emitted.
func TestResume_InterruptIsSavedBeforeItIsEmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cancelled := range []bool{false, true} {
			store := &slowStore{memory{}, make(chan struct{}), make(chan struct{})}
			option, cancel := WithCancel()
			if cancelled {
				cancel(WithAgentCancelMode(CancelAfterChatModel))
			}
			emitted := make(chan *AgentEvent, 10)
			it := NewRunner(t.Context(), RunnerConfig{Agent: asker(t, "a"), CheckPointStore: store}).Query(t.Context(), "hi",
				WithCheckPointID("1"), option)
			go func() {
				defer close(emitted)
				for e := range it.All() {
					emitted <- e
				}
			}()
			<-store.saving
			synctest.Wait()
			require.Len(t, emitted, 1, "the answer of the model, but not the interrupt")
			close(store.proceed)
			synctest.Wait()
			require.Len(t, emitted, 2)
			require.NotEmpty(t, store.memory["1"])
		}
	})
}

// TestResume_AfterEveryChunk: a run that is stopped after any chunk of a stream, read or not, is saved and can be
// resumed.
func TestResume_AfterEveryChunk(t *testing.T) {
	bubbled(t, testEveryChunk[ordinary], testEveryChunk[agentic])
}

func testEveryChunk[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	const chunks = 4
	for cut := range chunks + 1 {
		for _, reads := range []bool{false, true} {
			option, cancel := WithCancel()
			sent, stuck := 0, make(chan struct{})
			m := &modelFunc[M]{
				generate: func(context.Context, []M, ...model.Option) (M, error) {
					if sent++; sent == 1 {
						close(stuck)
						<-t.Context().Done() // deaf to the cancel
					}
					return d.answer("done"), nil
				},
				stream: func(context.Context, []M, ...model.Option) (*schema.StreamReader[M], error) {
					if sent++; sent > 1 {
						return schema.StreamReaderFromArray([]M{d.answer("done")}), nil
					}
					r, w := schema.Pipe[M](chunks)
					for range cut {
						w.Send(d.chunk("x"), nil)
					}
					close(stuck)
					return r, nil
				},
			}
			store := memory{}
			r := NewTypedRunner(TypedRunnerConfig[M]{Agent: setup(t, model.BaseModel[M](m), nil), EnableStreaming: streaming,
				CheckPointStore: store})
			it := r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
			<-stuck
			synctest.Wait()
			handle, _ := cancel()
			require.NoError(t, handle.Wait())
			require.NotEmpty(t, store["1"])
			if reads {
				all := read(t, it)
				if streaming {
					require.Len(t, all[0].chunks, cut)
					require.ErrorIs(t, all[0].broken, ErrStreamCanceled)
				}
				require.IsType(t, &CancelError{}, all[len(all)-1].Err)
			}
			resumed, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			require.Equal(t, []string{ended}, linesOf(read(t, resumed)))
		}
	}
}

// askUser is code that has to ask the user: it interrupts until there is an answer.
func askUser(ctx context.Context) (string, error) {
	if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
		return "answered " + answer, nil
	}
	return "", tool.StatefulInterrupt(ctx, "may I?", "asked")
}

// origins are agents that ask the user, each from somewhere else, and then are done.
func origins(t *testing.T) map[string]func() Agent {
	calling := func(name string, calls string, change ...func(*ChatModelAgentConfig)) Agent {
		return setup(t, model.BaseChatModel(recall(callOf(calls, "c-"+name, `{"request":"do"}`), chatAnswer("done"))),
			[]tool.BaseTool{askTool("ask"), echo("echo"), graphTool(t)},
			append(change, func(c *ChatModelAgentConfig) { c.Name = name })...)
	}
	asks := compose.ToolMiddleware{Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
		return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
			answer, err := askUser(ctx)
			return &compose.ToolOutput{Result: answer}, err
		}
	}}
	return map[string]func() Agent{
		"tool": func() Agent { return calling("a", "ask") },
		"middleware": func() Agent {
			return calling("a", "echo",
				func(c *ChatModelAgentConfig) { c.ToolsConfig.ToolCallMiddlewares = []compose.ToolMiddleware{asks} })
		},
		"agent": func() Agent { return asking("a") },
		"nested agent": func() Agent {
			return setup(t, model.BaseChatModel(recall(callOf("a", "o", `{"request":"do"}`), chatAnswer("done"))),
				[]tool.BaseTool{NewAgentTool(t.Context(), calling("a", "ask"))},
				func(c *ChatModelAgentConfig) { c.ToolsConfig.EmitInternalEvents = true })
		},
		"graph node": func() Agent { return calling("a", "graph") },
		"workflow":   func() Agent { return sequenceOf(t, "seq", parallelOf(t, "par", calling("a", "ask"))) },
		"sub-agent":  func() Agent { return flowOf(t, newOrdinary(t, "lead", recall(transferTo("a"))), calling("a", "ask")) },
		"wrapped agent": func() Agent {
			return AgentWithDeterministicTransferTo(t.Context(), &DeterministicTransferConfig{Agent: calling("a", "ask")})
		},
	}
}

// graphTool is a tool that is a graph, one node of which asks the user.
func graphTool(t *testing.T) tool.BaseTool {
	t.Helper()
	g := compose.NewGraph[string, string]()
	require.NoError(t, g.AddLambdaNode("node",
		compose.InvokableLambda(func(ctx context.Context, _ string) (string, error) { return askUser(ctx) })))
	require.NoError(t, g.AddEdge(compose.START, "node"))
	require.NoError(t, g.AddEdge("node", compose.END))
	run, err := g.Compile(t.Context())
	require.NoError(t, err)
	return &toolFunc{"graph", func(ctx context.Context, args string) (string, error) {
		result, err := run.Invoke(ctx, args)
		if _, interrupted := compose.ExtractInterruptInfo(err); interrupted {
			return "", tool.CompositeInterrupt(ctx, "the graph asks", "state", err)
		}
		return result, err
	}}
}

// TestResume_WhereverTheInterruptComesFrom: it continues from there, in a runner and in a loop.
func TestResume_WhereverTheInterruptComesFrom(t *testing.T) {
	for name, build := range origins(t) {
		for _, streaming := range []bool{false, true} {
			for host, run := range map[string]func(*testing.T, func() Agent, bool) string{"runner": inRunner, "loop": inLoop} {
				t.Run(fmt.Sprintf("%s/%s/streaming=%v", name, host, streaming), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						said := run(t, build, streaming)
						require.Regexp(t, "(answered|got) yes", said)
						if name != "agent" {
							require.Contains(t, said, "done")
						}
					})
				})
			}
		}
	}
}

// inRunner runs an agent to its interrupt, resumes with another one of the same make, and returns what the second said.
func inRunner(t *testing.T, build func() Agent, streaming bool) string {
	store := memory{}
	conf := RunnerConfig{Agent: build(), EnableStreaming: streaming, CheckPointStore: store}
	points := interruptOf(t, NewRunner(t.Context(), conf).Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Len(t, points, 1)
	conf.Agent, conf.EnableStreaming = build(), !streaming // the saved run's mode counts
	var said []string
	for e := range resumeWith(t, NewRunner(t.Context(), conf), map[string]any{points[0].ID: "yes"}).All() {
		require.NoError(t, e.Err)
		text := textOf(t, e)
		said = append(said, text)
		if v := e.Output.MessageOutput; text == "done" && v.Role == schema.Assistant {
			require.Equal(t, streaming, v.IsStreaming)
		}
	}
	return strings.Join(said, "\n")
}

func textOf(t *testing.T, e *AgentEvent) string {
	t.Helper()
	m, _, err := GetMessage(e)
	require.NoError(t, err)
	return m.Content
}

// inLoop is inRunner in a turn loop.
func inLoop(t *testing.T, build func() Agent, streaming bool) string {
	var points []*InterruptCtx
	var said []string
	store := memory{}
	life := func() *itemLoop {
		s := newScene(t)
		s.stored(store)
		s.agent = build()
		s.cfg.GenInput = func(_ context.Context, _ *itemLoop, items []string) (*itemPlan, error) {
			return &itemPlan{Input: &AgentInput{Messages: []Message{schema.UserMessage("hi")}, EnableStreaming: streaming},
				Consumed: items}, nil
		}
		s.cfg.GenResume = func(_ context.Context, _ *itemLoop,
			interrupted, _, _ []string,
		) (*GenResumeResult[string, Message], error) {
			return &GenResumeResult[string, Message]{Consumed: interrupted,
				ResumeParams: &ResumeParams{Targets: map[string]any{points[0].ID: "yes"}}}, nil
		}
		s.cfg.OnAgentEvents = func(_ context.Context, _ *itemTurn, events *itemEvents) error {
			for e := range events.All() {
				if e.Err != nil {
					return e.Err
				}
				if e.Output != nil {
					said = append(said, textOf(t, e))
				}
			}
			return nil
		}
		return s.run()
	}
	first := life()
	first.Push("1")
	var interrupted *InterruptError
	require.ErrorAs(t, first.Wait().ExitReason, &interrupted)
	points, said = interrupted.InterruptContexts, nil
	require.Len(t, points, 1)
	second := life()
	synctest.Wait()
	second.Stop()
	require.NoError(t, second.Wait().ExitReason)
	return strings.Join(said, "\n")
}

// TestResume_TheSameToolTwiceAtDepthThree: the same tool in the same agent, twice at once, three agents deep: all
// interrupt, and are resumed one after the other in any order, or together.
func TestResume_TheSameToolTwiceAtDepthThree(t *testing.T) {
	build := func() Agent {
		deepest := newOrdinary(t, "deepest",
			recall(chatAnswer("", wanted{"ask", "1", "x"}, wanted{"ask", "2", "y"}), chatAnswer(""), chatAnswer("deepest done")),
			askTool("ask"))
		middle := newOrdinary(t, "middle",
			recall(chatAnswer("", wanted{"deepest", "1", `{"request":"a"}`}, wanted{"deepest", "2", `{"request":"b"}`}),
				chatAnswer(""), chatAnswer("middle done")),
			NewAgentTool(t.Context(), deepest))
		return newOrdinary(t, "top", recall(chatAnswer("", wanted{"middle", "1", `{"request":"a"}`},
			wanted{"middle", "2", `{"request":"b"}`}), chatAnswer(""), chatAnswer("top done")),
			NewAgentTool(t.Context(), middle))
	}
	for _, streaming := range []bool{false, true} {
		for seed := range uint64(20) {
			store := memory{}
			r := func() *Runner {
				return NewRunner(t.Context(), RunnerConfig{Agent: build(), EnableStreaming: streaming, CheckPointStore: store})
			}
			points := interruptOf(t, r().Query(t.Context(), "hi", WithCheckPointID("1")))
			require.Len(t, points, 8)
			open := map[string]bool{}
			for _, p := range points {
				open[p.Address.String()] = true
			}
			require.Len(t, open, 8, "each has its own address")
			shuffled := rand.New(rand.NewPCG(seed, 9))
			answered := map[string]bool{}
			for {
				shuffled.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
				targets := map[string]any{}
				for _, p := range points[:1+shuffled.IntN(len(points))] {
					targets[p.ID] = p.Address.String()
					answered[p.Address.String()] = true
				}
				texts, last := drainAll(t, resumeWith(t, r(), targets))
				if last.Action == nil {
					require.Equal(t, "top: top done", texts[len(texts)-1])
					break
				}
				points = last.Action.Interrupted.InterruptContexts
				require.Len(t, points, 8-len(answered), "those that were not answered, and no others")
				for _, p := range points {
					require.False(t, answered[p.Address.String()])
				}
			}
			require.Equal(t, open, answered)
		}
	}
}

// rich is a call whose message has everything that a copy may lose.
func rich(id, args string) *schema.Message {
	m := callOf("ask", id, args)
	index := 0
	m.ToolCalls[0].Index = &index
	m.ToolCalls[0].Extra = map[string]any{"signature": "s", "none": []string{}}
	m.ReasoningContent, m.Name = "because", "name"
	m.Extra = map[string]any{"big": int64(1)<<62 + 1, "list": []string{"a"}}
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: "tool_calls", Usage: &schema.TokenUsage{TotalTokens: 3}}
	m.AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeImageURL,
		Image: &schema.MessageOutputImage{}}}
	return m
}

// TestResume_SameTranscriptAsWithoutInterrupts: the messages that the model gets at the end are the same, to every
// field, whether the run was interrupted and saved three times or never, and none is there twice.
func TestResume_SameTranscriptAsWithoutInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, streaming := range []bool{false, true} {
			for _, durability := range []Durability{OnInterrupt, EveryStep} {
				var ends [2][]Message
				for i, interrupts := range []bool{false, true} {
					ask := tool.BaseTool(&toolFunc{"ask",
						func(_ context.Context, args string) (string, error) { return "answered yes", nil }})
					if interrupts {
						ask = askTool("ask")
					}
					var rounds []Message
					for n := range 3 {
						rounds = append(rounds, rich(fmt.Sprint("c", n), fmt.Sprintf(`{"n":9007199254740993,"i":%d}`, n)))
					}
					m := recall(append(rounds, chatAnswer("done"))...)
					r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, ask), EnableStreaming: streaming,
						CheckPointStore: checkpoint.NewMemoryStore(), Durability: durability})
					image := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{}}
					question := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{image}}
					it := r.Run(t.Context(), []Message{question}, WithCheckPointID("1"))
					ids := map[string]int{}
					for life := 0; ; life++ {
						var stopped *InterruptInfo
						for e := range it.All() {
							require.NoError(t, e.Err)
							if e.Action != nil {
								stopped = e.Action.Interrupted
								continue
							}
							message, _, err := GetMessage(e)
							require.NoError(t, err)
							ids[GetMessageID(message)]++
						}
						if stopped == nil {
							break
						}
						it = resumeWith(t, r, map[string]any{stopped.InterruptContexts[0].ID: "yes"})
					}
					require.Len(t, ids, 7)
					for id, n := range ids {
						require.Equal(t, 1, n, "message %q was emitted twice", id)
					}
					ends[i] = m.seen[len(m.seen)-1]
				}
				require.Len(t, ends[0], 7)
				seen := map[string]bool{}
				for i := range ends[0] {
					id := GetMessageID(ends[1][i])
					require.False(t, id != "" && seen[id])
					seen[id] = true
					require.Equal(t, withoutID(ends[0][i]), withoutID(ends[1][i]))
				}
			}
		}
	})
}

// withoutID is a message without its ID, which is new in every run.
func withoutID(m Message) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	for _, key := range slices.Collect(maps.Keys(c.Extra)) {
		if text, ok := c.Extra[key].(string); ok && text == GetMessageID(m) {
			delete(c.Extra, key)
		}
	}
	return &c
}

// TestResume_TwoApprovalsInOneRun: two approvals in one run, and two runs in one store: each point has its own ID, and
// the data of one resume reaches no other point.
func TestResume_TwoApprovalsInOneRun(t *testing.T) {
	for _, durability := range []Durability{OnInterrupt, EveryStep} {
		ids := map[string]bool{}
		note := func(points []*InterruptCtx) map[string]any {
			require.Len(t, points, 1)
			require.False(t, ids[points[0].ID])
			ids[points[0].ID] = true
			return map[string]any{points[0].ID: "yes"}
		}
		store := checkpoint.NewMemoryStore()
		for range 2 {
			m := recall(callOf("ask", "c", "1"), callOf("ask", "c", "2"), chatAnswer("done")) // one call ID for both
			r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, askTool("ask")), CheckPointStore: store,
				Durability: durability})
			old := note(interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), WithRestart())))
			second := interruptOf(t, resumeWith(t, r, old))
			require.Equal(t, "may I?", second[0].Info, "it is asked anew")
			again := interruptOf(t, resumeWith(t, r, old))
			require.Equal(t, "again", again[0].Info, "the old answer is for nobody")
			note(second)
			texts, _ := drainAll(t, resumeWith(t, r, note(again)))
			require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
		}
	}
}

// TestResume_PartialOutputIsEmittedOnce: what a tool has sent before it interrupts, and the results of those beside
// it, are emitted before the interrupt, and once.
func TestResume_PartialOutputIsEmittedOnce(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		partial := &toolFunc{"partial", func(ctx context.Context, _ string) (string, error) {
			if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
				return "answered " + answer, nil
			}
			if err := SendEvent(ctx, EventFromMessage(schema.ToolMessage("half", "2"), nil, schema.Tool,
				"partial")); err != nil {
				return "", err
			}
			return "", tool.StatefulInterrupt(ctx, "may I?", "half")
		}}
		m := recall(chatAnswer("", wanted{"echo", "1", "x"}, wanted{"partial", "2", "y"}, wanted{"echo", "3", "z"}),
			chatAnswer(""), chatAnswer(""), chatAnswer("done"))
		r := NewRunner(t.Context(), RunnerConfig{Agent: newOrdinary(t, "a", m, echo("echo"), partial),
			EnableStreaming: streaming, CheckPointStore: memory{}})
		texts, last := drainAll(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
		require.ElementsMatch(t, []string{"a: ", "a: <x>", "a: <z>", "a: half"}, texts)
		texts, _ = drainAll(t, resumeWith(t, r, map[string]any{last.Action.Interrupted.InterruptContexts[0].ID: "yes"}))
		require.Equal(t, []string{"a: answered yes", "a: done"}, texts)
		require.Equal(t, []string{"tool echo#1: <x>", "tool partial#2: answered yes", "tool echo#3: <z>"},
			chatDialect.lines(m.seen[1][2:]))
	}
}

// TestResume_StreamsThatBrokeOff: a stream that broke off at any chunk, and that a reader has seen so far, is saved
// with an interrupted run: the agents after it get the same history as if the run had not stopped.
func TestResume_StreamsThatBrokeOff(t *testing.T) {
	texts := []string{"a", "b", "c"}
	for cut := range len(texts) + 1 {
		var inputs [2][]Message
		for i, interrupts := range []bool{false, true} {
			cuts := &fickle[Message]{tries: []try[Message]{breaks[Message](errShaky, texts[:cut]...), says1[Message]("whole")}}
			first := setup[Message](t, cuts, nil, retrying[Message](1, nil))
			asking := tool.BaseTool(echo("t"))
			if interrupts {
				asking = asksFirst("t", &diary{})
			}
			second := newOrdinary(t, "second", recall(callOf("t", "c1", object), chatAnswer("second done")), asking)
			m := recall(chatAnswer("third done"))
			seq, err := NewSequentialAgent(t.Context(),
				&SequentialAgentConfig{Name: "seq", SubAgents: []Agent{first, second, newOrdinary(t, "third", m)}})
			require.NoError(t, err)
			r := NewRunner(t.Context(), RunnerConfig{Agent: seq, EnableStreaming: true, CheckPointStore: memory{}})
			all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			require.ErrorContains(t, all[0].broken, errShaky.Error())
			require.Len(t, all[0].chunks, cut, "what came before is the reader's")
			if interrupts {
				it, err := r.Resume(t.Context(), "1")
				require.NoError(t, err)
				all = read(t, it)
			}
			require.Equal(t, "assistant: third done", linesOf(all)[len(all)-1])
			inputs[i] = m.seen[0]
		}
		require.Equal(t, chatDialect.lines(inputs[0]), chatDialect.lines(inputs[1]), "cut after %d chunks", cut)
		require.Contains(t, fmt.Sprint(chatDialect.lines(inputs[0])), "whole")
	}
}

// TestResume_ResultsKeepTheIDsOfTheirEvents: a result that was emitted before the run stopped has in the history of the
// resumed run the ID of its event.
func TestResume_ResultsKeepTheIDsOfTheirEvents(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := says(chatAnswer("", wanted{"echo", "1", object}, wanted{"echo", "2", object}, wanted{"ask", "3", object}), chatAnswer("done"))
		asks := &toolFunc{"ask", func(ctx context.Context, _ string) (string, error) {
			if again, _, _ := tool.GetInterruptState[any](ctx); again {
				return "ok", nil
			}
			return "", tool.Interrupt(ctx, "may I?")
		}}
		agent := setup(t, m, []tool.BaseTool{echo("echo"), asks})
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: memory{}})
		var emitted []string
		for _, e := range read(t, r.Query(t.Context(), "hi", WithCheckPointID("1"))) {
			if e.Output != nil && e.Output.MessageOutput.Role == schema.Tool {
				emitted = append(emitted, e.id())
			}
		}
		require.Len(t, emitted, 2)
		it, err := r.Resume(t.Context(), "1")
		require.NoError(t, err)
		read(t, it)
		history := m.histories[1]
		require.ElementsMatch(t, emitted, []string{GetMessageID(history[2]), GetMessageID(history[3])})
	}
}
