package adk

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// loudModel is a middleware that puts answers into capitals.
func loudModel[M MessageType]() *hooked[M] {
	return &hooked[M]{wrapModel: func(
		_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
	) (model.BaseModel[M], error) {
		return rewritten(m), nil
	}}
}

// TestSenders_SendWhatThereIsAtTheirPlace: a sender that the user has placed sends the message of its place, and the
// history has the final one, with the same message ID.
// Rules agent/ID-3, agent/ID-4, agent/W-4.
func TestSenders_SendWhatThereIsAtTheirPlace(t *testing.T) {
	bubbled(t, testSenderPlace[ordinary], testSenderPlace[agentic])
}

func testSenderPlace[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	wraps := &hooked[M]{after: func(text string) string { return "(" + text + ")" }}
	sender, toolSender := NewTypedEventSenderModelWrapper[M](), NewTypedEventSenderToolWrapper[M]()
	for name, c := range map[string]struct {
		handlers []TypedChatModelAgentMiddleware[M]
		model    string
		tool     string
	}{
		"none":             {[]TypedChatModelAgentMiddleware[M]{loudModel[M](), wraps}, "DONE", "(<>)"},
		"outermost":        {[]TypedChatModelAgentMiddleware[M]{sender, toolSender, loudModel[M](), wraps}, "DONE", "(<>)"},
		"innermost":        {[]TypedChatModelAgentMiddleware[M]{loudModel[M](), wraps, sender, toolSender}, "done", "<>"},
		"only the model's": {[]TypedChatModelAgentMiddleware[M]{loudModel[M](), wraps, sender}, "done", "(<>)"},
	} {
		for _, retry := range []string{"", "retry", "should"} { // rule agent/W-4, with both kinds of retry, in both orders
			var final []M
			look := &hooked[M]{afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
				final = s.Messages
				return ctx, nil
			}}
			a := setup(t, says(d.answer("", wanted{"t", "1", ""}), d.answer("done")), []tool.BaseTool{echo("t")},
				with[M](c.handlers...), with[M](look),
				func(conf *TypedChatModelAgentConfig[M]) {
					switch retry {
					case "retry":
						retrying[M](1, nil)(conf)
					case "should":
						retrying(1, func(*TypedRetryContext[M]) *TypedRetryDecision[M] { return nil })(conf)
					}
				})
			all := read(t, bare(t.Context(), a, streaming))
			require.Equal(t, []string{"assistant: [t#1 ]", "tool t#1: " + c.tool, "assistant: " + c.model}, linesOf(all),
				name+retry)
			require.Equal(t, []string{"user: hi", "assistant: [t#1 ]", "tool t#1: (<>)", "assistant: DONE"}, d.lines(final),
				name+retry)
			checkIDs(t, name, all)
			for i, o := range all {
				if i < 2 || c.model == "DONE" || !streaming { // rules agent/ID-3, agent/ID-4
					require.Equal(t, o.id(), GetMessageID(final[i+1]), "%s %s: event %d", name, retry, i)
				}
			}
			require.NotEmpty(t, GetMessageID(final[3]))
		}
	}
}

// TestSenders_HeldAtItsPlace: what a sender inside other wrappers sent is held until the answer is accepted: a wrapper
// around it may still refuse the answer.
// Rules agent/B19.16, agent/RT-8.
func TestSenders_HeldAtItsPlace(t *testing.T) {
	for _, should := range []bool{false, true} {
		n := 0
		refuses := &hooked[Message]{wrapModel: func(
			_ context.Context, m model.BaseModel[Message], _ *ModelContext,
		) (model.BaseModel[Message], error) {
			return &modelFunc[Message]{generate: func(ctx context.Context, h []Message, opts ...model.Option) (Message, error) {
				answer, err := m.Generate(ctx, h, opts...)
				if n++; n < 3 {
					return nil, errShaky
				}
				return answer, err
			}}, nil
		}}
		var decide func(*RetryContext) *RetryDecision
		if should {
			decide = func(rc *RetryContext) *RetryDecision { return &RetryDecision{Retry: rc.Err != nil} }
		}
		m := says(chatAnswer("one"), chatAnswer("two"), chatAnswer("three"))
		a := setup(t, m, nil, with[Message](refuses, NewEventSenderModelWrapper()), retrying(2, decide))
		require.Equal(t, []string{"assistant: three"}, linesOf(read(t, bare(t.Context(), a, false))))
	}
}

// TestSenders_FailOutsideARun: without a run there is no reader to send to.
// Rule agent/W-5.
func TestSenders_FailOutsideARun(t *testing.T) {
	m, err := NewEventSenderModelWrapper().WrapModel(t.Context(), says(chatAnswer("x")), nil)
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), nil)
	require.EqualError(t, err,
		"generator is nil when sending event in Generate: ensure agent state is properly initialized")
	_, err = m.Stream(t.Context(), nil)
	require.EqualError(t, err, "generator is nil when sending event in Stream: ensure agent state is properly initialized")
	e, err := NewEventSenderToolWrapper().WrapInvokableToolCall(t.Context(),
		func(context.Context, string, ...tool.Option) (string, error) { return "", nil }, &ToolContext{})
	require.NoError(t, err)
	_, err = e(t.Context(), "")
	require.ErrorContains(t, err, "no run of a chat model agent")
}

// TestSenders_EventsAreNotChangedLater: what hooks do to an answer does not reach its event, nor race with its reader.
// Rules agent/B19.16, agent/W-2.
func TestSenders_EventsAreNotChangedLater(t *testing.T) {
	bubbled(t, testEventsKept[ordinary], testEventsKept[agentic])
}

func testEventsKept[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	ops := opsOf[M]()
	for _, should := range []bool{false, true} {
		scribble := &hooked[M]{afterModel: func(
			ctx context.Context, s *TypedChatModelAgentState[M], _ *TypedModelContext[M],
		) (context.Context, *TypedChatModelAgentState[M], error) {
			last := s.Messages[len(s.Messages)-1]
			ops.extra(last)["scribbled"] = true
			switch m := any(last).(type) {
			case *schema.Message:
				m.Content = "scribbled"
			case *schema.AgenticMessage:
				m.Role = "scribbled"
			}
			return ctx, s, nil
		}}
		own := d.answer("done") // the model gives the same message each time
		a := setup(t, says(own), nil, with[M](scribble), func(c *TypedChatModelAgentConfig[M]) {
			if should {
				retrying(1, func(*TypedRetryContext[M]) *TypedRetryDecision[M] { return nil })(c)
			}
		})
		for range 3 {
			all := read(t, bare(t.Context(), a, streaming))
			require.Equal(t, []string{ended}, linesOf(all))
			require.NotContains(t, ops.extra(all[0].message), "scribbled")
		}
		require.Equal(t, ended, d.line(own), "rule agent/L-8")
		require.Empty(t, ops.extra(own), "rule agent/ID-2")
	}
}

// TestSenders_WrappersKeepChunks: a wrapper that does nothing keeps the chunks, one that joins makes one of them, and
// one that puts something in front or answers by itself gives a message with one ID.
// Rules agent/H-11, agent/ID-2, agent/L-8.
func TestSenders_WrappersKeepChunks(t *testing.T) {
	t.Run("ordinary", testWrapperChunks[ordinary])
	t.Run("agentic", testWrapperChunks[agentic])
}

func testWrapperChunks[M MessageType](t *testing.T) {
	d := dialectOf[M]()
	wrap := func(stream func(context.Context, *schema.StreamReader[M]) (*schema.StreamReader[M], error)) *hooked[M] {
		return &hooked[M]{wrapModel: func(
			_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
		) (model.BaseModel[M], error) {
			return &modelFunc[M]{stream: func(
				ctx context.Context, h []M, opts ...model.Option,
			) (*schema.StreamReader[M], error) {
				s, err := m.Stream(ctx, h, opts...)
				if err != nil {
					return nil, err
				}
				return stream(ctx, s)
			}}, nil
		}}
	}
	for name, c := range map[string]struct {
		wrap *hooked[M]
		want []string
	}{
		"nothing": {wrap(func(_ context.Context, s *schema.StreamReader[M]) (*schema.StreamReader[M], error) {
			return s, nil
		}),
			[]string{"assistant: a", "assistant: b"}},
		"joins": {wrap(func(ctx context.Context, s *schema.StreamReader[M]) (*schema.StreamReader[M], error) {
			whole, err := messageRuntimeOf[M]().concat(ctx, s)
			return schema.StreamReaderFromArray([]M{whole}), err
		}), []string{"assistant: ab"}},
		"in front": {wrap(func(_ context.Context, s *schema.StreamReader[M]) (*schema.StreamReader[M], error) {
			all := []M{d.chunk("first ")}
			for chunk, err := range s.All() {
				if err != nil {
					return nil, err
				}
				all = append(all, chunk)
			}
			return schema.StreamReaderFromArray(all), nil
		}), []string{"assistant: first ", "assistant: a", "assistant: b"}},
		"of its own": {wrap(func(_ context.Context, s *schema.StreamReader[M]) (*schema.StreamReader[M], error) {
			s.Close()
			return schema.StreamReaderFromArray([]M{d.chunk("cached")}), nil
		}), []string{"assistant: cached"}},
		"nothing at all": {wrap(func(_ context.Context, s *schema.StreamReader[M]) (*schema.StreamReader[M], error) {
			s.Close()
			return schema.StreamReaderFromArray[M](nil), nil
		}), []string{}},
	} {
		var final []M
		look := &hooked[M]{afterAgent: func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
			final = s.Messages
			return ctx, nil
		}}
		m := &scripted[M]{answers: [][]M{{d.chunk("a"), d.chunk("b")}}}
		all := read(t, bare(t.Context(), setup[M](t, m, nil, with[M](c.wrap, look)), true))
		require.Len(t, all, 1, name)
		require.Equal(t, c.want, d.lines(all[0].chunks), name)
		id := GetMessageID(final[1])
		require.Len(t, id, 36, name)
		if len(c.want) > 0 {
			require.Equal(t, all[0].id(), id, name)
		}
	}
}

// TestSenders_BothEndpoints: a wrapper may call either endpoint of the model that it was given.
// Rule agent/W-6.
func TestSenders_BothEndpoints(t *testing.T) {
	bubbled(t, testBothEndpoints[ordinary], testBothEndpoints[agentic])
}

func testBothEndpoints[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	other := &hooked[M]{wrapModel: func(
		_ context.Context, m model.BaseModel[M], _ *TypedModelContext[M],
	) (model.BaseModel[M], error) {
		return &modelFunc[M]{
			generate: func(ctx context.Context, h []M, opts ...model.Option) (none M, _ error) {
				s, err := m.Stream(ctx, h, opts...)
				if err != nil {
					return none, err
				}
				return messageRuntimeOf[M]().concat(ctx, s)
			},
			stream: func(ctx context.Context, h []M, opts ...model.Option) (*schema.StreamReader[M], error) {
				answer, err := m.Generate(ctx, h, opts...)
				return schema.StreamReaderFromArray([]M{answer}), err
			},
		}, nil
	}}
	for _, sender := range []bool{false, true} {
		handlers := []TypedChatModelAgentMiddleware[M]{other}
		if sender {
			handlers = append(handlers, NewTypedEventSenderModelWrapper[M]())
		}
		all := read(t, bare(t.Context(), setup(t, says(d.answer("done")), nil, with[M](handlers...)), streaming))
		require.Equal(t, []string{ended}, linesOf(all))
		checkIDs(t, "", all)
	}
}

// TestToolContext_Alias: hooks get the name that the model wrote, and arguments that aliases have renamed. The event
// and the result in the history have one ID.
// Rules agent/H-12, agent/ID-4.
func TestToolContext_Alias(t *testing.T) {
	bubbled(t, testToolAlias[ordinary], testToolAlias[agentic])
}

func testToolAlias[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	var saw diary
	h := &hooked[M]{around: func(ctx context.Context, tc *ToolContext, args string) (context.Context, string, error) {
		saw.add("%s#%s %s", tc.Name, tc.CallID, args)
		return ctx, `{"query":"changed"}`, nil
	}}
	var final []M
	h.afterAgent = func(ctx context.Context, s *TypedChatModelAgentState[M]) (context.Context, error) {
		final = s.Messages
		return ctx, nil
	}
	m := says(d.answer("", wanted{"find", "1", `{"q":"x"}`}), d.answer("done"))
	a := setup(t, m, []tool.BaseTool{echo("search")}, with[M](h), func(c *TypedChatModelAgentConfig[M]) {
		c.ToolsConfig.ToolAliases = map[string]compose.ToolAliasConfig{"search": {
			NameAliases: []string{"find"}, ArgumentsAliases: map[string][]string{"query": {"q"}}}}
	})
	all := read(t, bare(t.Context(), a, streaming))
	require.Equal(t, []string{`find#1 {"query":"x"}`}, saw.all())
	require.Equal(t, `<{"query":"changed"}>`, fmt.Sprint(linesOf(all)[1][len("tool find#1: "):]))
	require.Equal(t, all[1].id(), GetMessageID(final[2]))
}

// TestSenders_InACancelledRun: senders that the user has placed find their run also where it can be cancelled, when
// calls run in goroutines of their own, and a cancel does not make their calls fail in another way.
// Rule agent/W-5.
func TestSenders_InACancelledRun(t *testing.T) {
	bubbled(t, testSendersCancelled[ordinary], testSendersCancelled[agentic])
}

func testSendersCancelled[M MessageType](t *testing.T, streaming bool) {
	d := dialectOf[M]()
	for _, cancels := range []bool{false, true} {
		option, cancel := WithCancel()
		m := says(d.answer("", wanted{"t", "c1", object}), d.answer("done"))
		m.hook = func(ctx context.Context, turn int, _ []M) error {
			if cancels && turn == 1 {
				cancel()
				<-ctx.Done()
			}
			return nil
		}
		a := setup(t, m, []tool.BaseTool{echo("t")},
			with[M](loudModel[M](), NewTypedEventSenderModelWrapper[M](), NewTypedEventSenderToolWrapper[M]()))
		all := read(t, bare(t.Context(), a, streaming, option))
		if !cancels {
			require.Equal(t, []string{asked, answered, ended}, linesOf(all))
			continue
		}
		require.Equal(t, []string{asked, answered, "error"}, linesOf(all))
		require.IsType(t, &CancelError{}, endError(t, all))
	}
}
