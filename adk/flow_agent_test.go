package adk

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/schema"
)

// Resume of an agent that is called by itself says how to resume.
func TestFlow_ResumeOutsideAResumedRun(t *testing.T) {
	s := newTheatre()
	for _, a := range []Agent{sequenceOf(t, "outer", s.says("a")), flowOf(t, s.says("outer"), s.says("b"))} {
		err := lastError(a.(ResumableAgent).Resume(t.Context(), &ResumeInfo{}))
		require.EqualError(t, err, "agent 'outer' cannot resume: its context does not come from a resumed run; "+
			"call Resume or ResumeWithParams of a Runner, and hand the context of Resume on to agents inside")
	}
}

// Rule runtime/F2.
func TestFlow_TargetsOfATransfer(t *testing.T) {
	notFound := "transfer failed: agent '%s' not found when transferring from '%s'"
	for name, c := range map[string]struct {
		build func(s *theatre) Agent
		last  string // the path of the last agent
		err   []any
	}{
		"a sub-agent": {func(s *theatre) Agent { return flowOf(t, hands(s, "a", "b"), s.says("b")) }, "a b", nil},
		"the parent": {func(s *theatre) Agent {
			visits := 0
			a := actor("a", func(_ context.Context, send func(*AgentEvent)) {
				if visits++; visits == 1 {
					send(&AgentEvent{Action: NewTransferToAgentAction("b")})
					return
				}
				send(said("a again"))
			})
			return flowOf(t, a, hands(s, "b", "a"))
		}, "a b a", nil},
		"the parent, not allowed": {func(s *theatre) Agent {
			return flowOf(t, hands(s, "a", "b"),
				AgentWithOptions(t.Context(), hands(s, "b", "a"), WithDisallowTransferToParent()))
		}, "a b", []any{"a", "b"}},
		"nobody": {func(s *theatre) Agent { return flowOf(t, hands(s, "a", "x"), s.says("b")) }, "a", []any{"x", "a"}},
		"a sibling": {func(s *theatre) Agent { return flowOf(t, hands(s, "a", "b"), hands(s, "b", "c"), s.says("c")) }, "a b",
			[]any{"c", "b"}},
		"a grandparent": {func(s *theatre) Agent {
			return flowOf(t, hands(s, "a", "b"), flowOf(t, hands(s, "b", "c"), hands(s, "c", "a")))
		}, "a b c", []any{"a", "c"}},
		"the outside of a workflow": {func(s *theatre) Agent {
			return sequenceOf(t, "w", hands(s, "a", "w"))
		}, "w a", []any{"w", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var last *AgentEvent
			for e := range ask(t.Context(), c.build(newTheatre()), false).All() {
				require.True(t, last == nil || last.Err == nil)
				last = e
			}
			require.Equal(t, c.last, pathOf(last))
			if c.err == nil {
				require.NoError(t, last.Err)
				return
			}
			require.EqualError(t, last.Err, fmt.Sprintf(notFound, c.err...))
		})
	}
}

// hands makes an agent that hands the run over.
func hands(s *theatre, name, to string) Agent {
	return s.sendsAll(name, said(name), &AgentEvent{Action: NewTransferToAgentAction(to)})
}

// The target's input is the history of the run so far.
// Rule runtime/F3.
func TestFlow_TargetStartsAfterTheSourceHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTheatre()
		proceed := make(chan struct{})
		source := actor("a", func(_ context.Context, send func(*AgentEvent)) {
			send(&AgentEvent{Action: NewTransferToAgentAction("b")})
			<-proceed
			send(&AgentEvent{Output: said("last").Output, Action: NewTransferToAgentAction("b")})
		})
		it := ask(t.Context(), Agent(flowOf(t, source, s.says("b"))), false)
		synctest.Wait()
		require.Empty(t, s.asked)
		close(proceed)
		require.Equal(t, []string{"a:", "a: last", "a b: b"}, pathsOf(t, it))
		require.Equal(t, []string{"user: hi", quotedLine("a", "last")}, s.asked["b"])
	})
}

// An interrupt wins over a transfer in the same event.
// Rules runtime/F4, runtime/R5.
func TestFlow_InterruptWinsOverATransfer(t *testing.T) {
	s := newTheatre()
	source := actor("a", func(ctx context.Context, send func(*AgentEvent)) {
		e := Interrupt(ctx, "why")
		e.Action.TransferToAgent = &TransferToAgentAction{"b"}
		send(e)
	})
	_, last := drainAll(t, ask(t.Context(), Agent(flowOf(t, source, s.says("b"))), false))
	require.NotNil(t, last.Action.Interrupted)
	require.Nil(t, last.Action.TransferToAgent, "rule runtime/R5: the other actions are dropped")
	require.Empty(t, s.asked)
}

// An agent that was interrupted itself is resumed itself; it may transfer then.
// Rule runtime/F5.
func TestFlow_TheInterruptedAgentIsResumed(t *testing.T) {
	s := newTheatre()
	a := asking("a")
	a.resume = func(_ context.Context, _ *ResumeInfo, send func(*AgentEvent)) {
		send(said("a again"))
		send(&AgentEvent{Action: NewTransferToAgentAction("b")})
	}
	r := NewRunner(t.Context(), RunnerConfig{Agent: flowOf(t, a, s.says("b")), CheckPointStore: memory{}})
	interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
	require.Equal(t, []string{"a: a again", "a:", "a b: b"}, pathsOf(t, resumeWith(t, r, nil)))
	require.Equal(t, []string{"user: hi", quotedLine("a", "a again")}, s.asked["b"])
}

// What an agent sees of the streams of others.
// Rule runtime/F6.
func TestFlow_HistoryOfStreams(t *testing.T) {
	for name, c := range map[string]struct {
		broken error
		want   []string
		fails  bool
	}{
		"whole":    {nil, []string{"user: hi", quotedLine("a", "ab"), quotedLine("a", "last")}, false},
		"retried":  {&WillRetryError{ErrStr: "again"}, []string{"user: hi", quotedLine("a", "last")}, false},
		"canceled": {&StreamCanceledError{}, []string{"user: hi", quotedLine("a", "last")}, false},
		"broken":   {errBroken, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			stream := streamOf[Message]("a", "b")
			if c.broken != nil {
				stream = brokenStream[Message](c.broken)
			}
			s := newTheatre()
			seq := sequenceOf(t, "seq", s.sendsAll("a", EventFromMessage(nil, stream, schema.Assistant, ""),
				&AgentEvent{Output: &AgentOutput{CustomizedOutput: 1}}, said("last")), s.says("b"))
			all := read(t, ask(t.Context(), Agent(seq), true))
			if c.fails {
				require.ErrorIs(t, all[len(all)-1].Err, errBroken)
				require.Empty(t, s.asked["b"])
				return
			}
			require.NoError(t, all[len(all)-1].Err)
			require.Equal(t, c.want, s.asked["b"])
		})
	}
}

// The rewriter gets all entries unchanged; what it returns is the input, and its error ends the agent.
// Rule runtime/F6.
func TestFlow_RewriterMakesTheInput(t *testing.T) {
	var seen []HistoryEntry
	rewrite := func(_ context.Context, entries []*HistoryEntry) ([]Message, error) {
		for _, e := range entries {
			seen = append(seen, *e)
		}
		return []Message{schema.UserMessage("rewritten")}, nil
	}
	for _, streaming := range []bool{false, true} {
		seen = nil
		s := newTheatre()
		var input *AgentInput
		b := &acting{"b", func(_ context.Context, in *AgentInput, _ func(*AgentEvent)) { input = in }}
		answer := schema.AssistantMessage("a", nil)
		seq := sequenceOf(t, "seq", s.sendsAll("a", EventFromMessage(answer, nil, schema.Assistant, "")),
			AgentWithOptions(t.Context(), b, WithHistoryRewriter(rewrite)))
		drainAll(t, ask(t.Context(), Agent(seq), streaming))
		require.Equal(t, &AgentInput{Messages: []Message{schema.UserMessage("rewritten")}, EnableStreaming: streaming}, input)
		require.Equal(t, []HistoryEntry{{IsUserInput: true, Message: schema.UserMessage("hi")},
			{AgentName: "a", Message: answer}}, seen)
	}
	fails := func(context.Context, []*HistoryEntry) ([]Message, error) { return nil, errBroken }
	for _, a := range []Agent{
		AgentWithOptions(t.Context(), newTheatre().says("x"), WithHistoryRewriter(fails)), // also for the outermost one
		sequenceOf(t, "seq", AgentWithOptions(t.Context(), newTheatre().says("x"), WithHistoryRewriter(fails))),
	} {
		require.ErrorIs(t, lastError(ask(t.Context(), a, false)), errBroken)
	}
}

// Rule runtime/F7.
func TestFlow_TransferTool(t *testing.T) {
	defer func() { require.NoError(t, SetLanguage(LanguageEnglish)) }()
	for _, c := range []struct {
		language                        Language
		list, desc, result, instruction string
	}{
		{LanguageEnglish, "\n- Agent name: %s\n  Agent description: %s", TransferToAgentToolDesc,
			"successfully transferred to agent [child]", TransferToAgentInstruction},
		{LanguageChinese, "\n- Agent 名称：%s\n  Agent 描述：%s", TransferToAgentToolDescChinese, "成功移交任务至 agent [child]",
			TransferToAgentInstructionChinese},
	} {
		require.NoError(t, SetLanguage(c.language))
		m := says(transferTo("child"))
		child := says(chatAnswer("done"))
		flow := flowOf(t, setup(t, m, nil,
			func(c *ChatModelAgentConfig) { c.Name, c.Description, c.Instruction = "parent", "leads", "Be brief." }),
			setup(t, child, nil, func(c *ChatModelAgentConfig) { c.Name, c.Description = "child", "helps" }))
		all := read(t, ask(t.Context(), Agent(flow), false))
		require.Equal(t, []string{"assistant: [transfer_to_agent#t-child " + `{"agent_name":"child"}` + "]",
			"tool transfer_to_agent#t-child: " + c.result, "assistant: done"},
			linesOf(all), "the result ends the turn of the parent")
		require.Equal(t, "child", all[1].Action.TransferToAgent.DestAgentName)
		require.Equal(t, 1, m.calls())
		list := func(name, desc string) string { return fmt.Sprintf(c.list, name, desc) }
		text := func(agents string) string {
			return fmt.Sprintf(c.instruction, agents, TransferToAgentToolName)
		}
		require.Equal(t, "Be brief.\n\n"+text(list("child", "helps")), m.histories[0][0].Content)
		require.Equal(t, text(list("parent", "leads")), child.histories[0][0].Content, "a child may hand back")

		require.Equal(t, []string{TransferToAgentToolName}, toolNames(m.options[0]))
		info, err := (&transferTool[*schema.Message]{}).Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.desc, info.Desc)
		params, err := info.ToJSONSchema()
		require.NoError(t, err)
		require.Equal(t, []string{"agent_name"}, params.Required)
		require.Equal(t, jsonschema.FalseSchema, params.AdditionalProperties)
		require.Equal(t, "transferToAgent", (&transferTool[*schema.Message]{}).GetType())
		p, _ := params.Properties.Get("agent_name")
		require.Equal(t, []string{"string", "the name of the agent to transfer to"}, []string{p.Type, p.Description})
	}
	require.EqualError(t, SetLanguage(7), "invalid language: 7")
	sealed := says(chatAnswer("done"))
	only := AgentWithOptions(t.Context(), setup(t, sealed, nil, func(c *ChatModelAgentConfig) { c.Name = "only" }),
		WithDisallowTransferToParent())
	drainAll(t, ask(t.Context(), Agent(flowOf(t, setup(t, says(transferTo("only")), nil), only)), false))
	require.Empty(t, toolNames(sealed.options[0]), "there is nobody that it may hand over to")
}

// Rule runtime/F9.
func TestFlow_GenTransferMessages(t *testing.T) {
	call, result := GenTransferMessages(t.Context(), "dest")
	require.Equal(t, schema.Assistant, call.Role)
	require.Empty(t, call.Content)
	require.Len(t, call.ToolCalls, 1)
	require.Equal(t, schema.FunctionCall{Name: "transfer_to_agent", Arguments: "dest"}, call.ToolCalls[0].Function)
	require.Equal(t, schema.ToolMessage("successfully transferred to agent [dest]", call.ToolCalls[0].ID,
		schema.WithToolName("transfer_to_agent")), result)
	other, _ := GenTransferMessages(t.Context(), "dest")
	require.NotEmpty(t, call.ToolCalls[0].ID)
	require.NotEqual(t, call.ToolCalls[0].ID, other.ToolCalls[0].ID)
}

// Rules runtime/F10, runtime/O3.
func TestFlow_TransferMessagesCanBeLeftOut(t *testing.T) {
	for _, skip := range []bool{false, true} {
		s := newTheatre()
		leads := newOrdinary(t, "a", &replies{all: []Message{transferTo("b")}})
		wrapped := AgentWithDeterministicTransferTo(t.Context(),
			&DeterministicTransferConfig{Agent: s.says("b"), ToAgentNames: []string{"c"}})
		seq := sequenceOf(t, "seq", flowOf(t, leads, flowOf(t, wrapped, s.says("c"))), s.says("d"))
		var opts []AgentRunOption
		if skip {
			opts = append(opts, WithSkipTransferMessages().DesignateAgent("nobody")) // rule runtime/O3
		}
		drainAll(t, ask(t.Context(), Agent(seq), false, opts...))
		want := []string{"user: hi", quotedLine("b", "b"), quotedLine("c", "c")}
		if skip {
			require.Equal(t, want, s.asked["d"])
		} else {
			require.Len(t, s.asked["d"], len(want)+4)
		}
	}
}

type fromParent struct{}

// What a handler puts into the context of an agent is not there in the agent that takes over.
// Rule runtime/F11.
func TestFlow_ContextValuesOfCallbacksStayWithTheirAgent(t *testing.T) {
	seen := map[string]any{}
	look := func(name string, e *AgentEvent) Agent {
		return actor(name, func(ctx context.Context, send func(*AgentEvent)) {
			seen[name] = ctx.Value(fromParent{})
			send(e)
		})
	}
	h := callbacks.NewHandlerBuilder().OnStartFn(func(
		ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput,
	) context.Context {
		if info.Name != "a" {
			return ctx
		}
		return context.WithValue(ctx, fromParent{}, "a's")
	}).Build()
	flow := flowOf(t, look("a", &AgentEvent{Action: NewTransferToAgentAction("b")}), look("b", said("x")))
	drainAll(t, ask(t.Context(), Agent(flow), false, WithCallbacks(h)))
	require.Equal(t, map[string]any{"a": "a's", "b": nil}, seen)
}

// Rule runtime/F12.
func TestFlow_PanicsAreErrorEvents(t *testing.T) {
	boom := func() *AsyncIterator[*AgentEvent] { panic("boom") }
	starts := &custom[Message]{"a",
		func(context.Context, *AgentInput, []AgentRunOption) *AsyncIterator[*AgentEvent] { return boom() }}
	rewrites := AgentWithOptions(t.Context(), newTheatre().says("a"),
		WithHistoryRewriter(func(context.Context, []*HistoryEntry) ([]Message, error) { panic("boom") }))
	for name, a := range map[string]Agent{
		"start": starts, "start of a child": sequenceOf(t, "w", starts), "start of a branch": parallelOf(t, "w", starts),
		"start of a target": flowOf(t, hands(newTheatre(), "b", "a"), starts), "rewriter": rewrites,
		"rewriter of a child": sequenceOf(t, "w", rewrites),
	} {
		require.ErrorContains(t, lastError(ask(t.Context(), a, false)), "boom", name)
	}
}

// Agents on agentic messages have names, paths, sessions, callbacks, interrupts and cancels, but no transfers.
// Rule runtime/F13.
func TestFlow_AgenticAgentsHaveAllButTransfer(t *testing.T) {
	a := &custom[agentic]{"a",
		func(ctx context.Context, _ *TypedAgentInput[agentic], _ []AgentRunOption) *AsyncIterator[*TypedAgentEvent[agentic]] {
			AddSessionValue(ctx, "k", "v")
			return sends(&TypedAgentEvent[agentic]{Action: NewTransferToAgentAction("b")},
				TypedInterrupt[agentic](ctx, "why")).Run(ctx, nil)
		}}
	var starts []string
	store := memory{}
	r := NewTypedRunner(TypedRunnerConfig[agentic]{Agent: a, CheckPointStore: store})
	all := read(t, r.Query(t.Context(), "hi", WithCheckPointID("1"), WithCallbacks(startsOf(&starts))))
	require.Len(t, all, 2, "a transfer leads nowhere")
	require.Equal(t, "a", pathOf(all[0].TypedAgentEvent))
	require.Equal(t, "agent:a", all[1].Action.Interrupted.InterruptContexts[0].Address.String())
	require.Equal(t, []string{"a"}, starts)
	doc, err := openRun(store["1"])
	require.NoError(t, err)
	require.Len(t, doc.Values, 1)
}

// nameless is an agent that panics when it is asked for its name, once the test says so.
type nameless struct {
	*interruptible
	gone *bool
}

func (a nameless) Name(context.Context) string {
	if *a.gone {
		panic(errBroken)
	}
	return a.name
}

// TestFlow_ANameThatPanics: agents are asked for their names at a transfer and at a resume too. A panic there is the
// error of the run, also beside other agents, in a goroutine of their own.
// Rule runtime/F2.
func TestFlow_ANameThatPanics(t *testing.T) {
	for name, around := range map[string]func(Agent) Agent{
		"alone":    func(a Agent) Agent { return a },
		"sequence": func(a Agent) Agent { return sequenceOf(t, "w", a) },
		"parallel": func(a Agent) Agent { return parallelOf(t, "w", a, newTheatre().says("c")) },
	} {
		t.Run(name+", handed over", func(t *testing.T) {
			gone := false
			a := actor("a", func(_ context.Context, send func(*AgentEvent)) {
				gone = true
				send(&AgentEvent{Action: NewTransferToAgentAction("b")})
			})
			agent := around(flowOf(t, a, nameless{asking("b"), &gone}))
			err := onlyError(t, read(t, ask(t.Context(), agent, false)))
			require.ErrorIs(t, err, errBroken)
			require.ErrorContains(t, err, "agent 'a'")
		})
		t.Run(name+", resumed", func(t *testing.T) {
			gone := false
			agent := around(flowOf(t, hands(newTheatre(), "a", "b"), nameless{asking("b"), &gone}))
			r := NewRunner(t.Context(), RunnerConfig{Agent: agent, CheckPointStore: memory{}})
			interruptOf(t, r.Query(t.Context(), "hi", WithCheckPointID("1")))
			gone = true
			it, err := r.Resume(t.Context(), "1")
			require.NoError(t, err)
			err = onlyError(t, read(t, it))
			require.ErrorIs(t, err, errBroken)
			require.ErrorContains(t, err, "agent 'a'")
		})
	}
}
