package conversation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/turnloop"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// pays asks before it pays.
type pays struct{ *adktest.Tool }

func (p pays) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	if _, given, answer := tool.GetResumeContext[string](ctx); given {
		return "paid: " + answer, nil
	}
	return "", tool.Interrupt(ctx, "May I pay?")
}

func agentOf(t *testing.T, script ...adktest.Answer) adk.Agent {
	t.Helper()
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "desk", Description: "answers", Model: adktest.NewModel(t, script...),
		ToolsConfig: adktest.Tools(pays{adktest.NewTool("pay")}, adktest.NewTool("look", adktest.Says("found").Repeated())),
	})
	require.NoError(t, err)
	return agent
}

func runnerOf(t *testing.T, store adk.CheckPointStore, script ...adktest.Answer) *adk.Runner {
	t.Helper()
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agentOf(t, script...), CheckPointStore: store})
}

// finish reads a run to its end, and returns its error and the ID of the point where it has stopped.
func finish(events *adk.AsyncIterator[*adk.AgentEvent]) (point string, err error) {
	for e := range events.All() {
		if e.Err != nil {
			err = e.Err
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			point = e.Action.Interrupted.InterruptContexts[0].ID
		}
	}
	return point, err
}

func contents(messages []*schema.Message) (all []string) {
	for _, m := range messages {
		text := string(m.Role) + ": " + m.Content
		for _, call := range m.ToolCalls {
			text += "[" + call.Function.Name + "]"
		}
		all = append(all, text)
	}
	return all
}

func TestRunOption_MakesRunsTheTurnsOfAConversation(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		for _, streaming := range []bool{false, true} {
			require.NoError(t, c.Delete(t.Context()))
			runner := adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: streaming, Agent: agentOf(t,
				adktest.Calls(adktest.Call("look", "{}")), adktest.Streams("He", "llo"),
				adktest.Says("Again.").Seeing("user: Hi", "assistant: [look#call_1 {}]", "tool look#call_1: found", "assistant: Hello",
					"user: And?"))})
			_, err := finish(runner.Query(t.Context(), "Hi", c.RunOption(HistoryOptions{})))
			require.NoError(t, err)
			_, err = finish(runner.Query(t.Context(), "And?", c.RunOption(HistoryOptions{})))
			require.NoError(t, err)
			h, err := c.History(t.Context())
			require.NoError(t, err)
			require.Nil(t, h.Open)
			require.Len(t, h.Turns, 2)
			require.Equal(t, []string{"user: Hi", "assistant: [look]", "tool: found", "assistant: Hello"}, contents(h.Turns[0].Messages()))
			require.Equal(t, "desk", h.Turns[0].Said[0].AgentName)
		}
	})
}

func TestRunOption_KeepsTheTurnOpenWhileTheRunWaits(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		pay := adktest.Calls(adktest.Call("pay", "{}"))
		point, err := finish(runnerOf(t, store, pay).Query(t.Context(), "Pay!", c.RunOption(HistoryOptions{}), adk.WithCheckPointID("run")))
		require.NoError(t, err)
		h, err := c.History(t.Context())
		require.NoError(t, err)
		require.Empty(t, h.Turns)
		require.Equal(t, "run", h.Open.ID)
		require.Equal(t, Waiting, h.Open.Status)
		require.Equal(t, point, h.Open.Questions[0].ID)

		_, err = finish(runnerOf(t, store).Query(t.Context(), "Hello?", c.RunOption(HistoryOptions{}), adk.WithCheckPointID("other")))
		var isOpen *OpenError
		require.ErrorAs(t, err, &isOpen)
		require.Equal(t, "run", isOpen.Turn)

		_, err = c.Note(t.Context(), "note", schema.UserMessage("by the way"))
		require.NoError(t, err)
		events, err := runnerOf(t, store, adktest.Says("Done.").Seeing("user: Pay!", "assistant: [pay#call_1 {}]",
			"tool pay#call_1: paid: yes")).ResumeWithParams(t.Context(), "run", &adk.ResumeParams{Targets: map[string]any{point: "yes"}},
			c.RunOption(HistoryOptions{}))
		require.NoError(t, err)
		_, err = finish(events)
		require.NoError(t, err)
		h, err = c.History(t.Context())
		require.NoError(t, err)
		require.Nil(t, h.Open)
		require.Len(t, h.Turns, 2)
		require.Equal(t, Note, h.Turns[0].Kind)
		require.Equal(t, []string{"user: Pay!", "assistant: [pay]", "tool: paid: yes", "assistant: Done."}, contents(h.Turns[1].Messages()))
	})
}

// M8: the question of a turn that was discarded is refused.
func TestRunOption_RefusesToResumeATurnThatWasDiscarded(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	c := open(t, store)
	_, err := finish(runnerOf(t, store, adktest.Calls(adktest.Call("pay", "{}"))).Query(t.Context(), "Pay!",
		c.RunOption(HistoryOptions{}), adk.WithCheckPointID("run")))
	require.NoError(t, err)
	_, err = c.Discard(t.Context())
	require.NoError(t, err)
	_, err = runnerOf(t, store).Resume(t.Context(), "run", c.RunOption(HistoryOptions{}))
	require.ErrorIs(t, err, ErrLost)
	info, _, err := store.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.Empty(t, info.Owner, "the lease is given back")
}

// M3, M4: a run that is resumed after its process died is appended once, whole.
func TestRunOption_AppendsARunThatSurvivedItsProcessOnce(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	c := open(t, store)
	durable := func(script ...adktest.Answer) *adk.Runner {
		return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agentOf(t, script...), CheckPointStore: store, Durability: adk.EveryStep})
	}
	_, err := finish(durable(adktest.Calls(adktest.Call("look", "{}")), adktest.Fails(errors.New("overloaded"))).Query(t.Context(), "Hi",
		c.RunOption(HistoryOptions{}), adk.WithCheckPointID("run")))
	require.ErrorContains(t, err, "overloaded")
	h, err := c.History(t.Context())
	require.NoError(t, err)
	require.Empty(t, h.Turns)
	require.Equal(t, "run", h.Open.ID, "the run can be resumed")

	events, err := durable(adktest.Says("Hello")).Resume(t.Context(), "run", c.RunOption(HistoryOptions{}))
	require.NoError(t, err)
	_, err = finish(events)
	require.NoError(t, err)
	for range 2 {
		h, err = c.History(t.Context())
		require.NoError(t, err)
		require.Len(t, h.Turns, 1)
		require.Equal(t, []string{"user: Hi", "assistant: [look]", "tool: found", "assistant: Hello"}, contents(h.Turns[0].Messages()))
		events, err = durable().Resume(t.Context(), "run", c.RunOption(HistoryOptions{}))
		require.NoError(t, err)
		_, err = finish(events)
		require.NoError(t, err)
	}
}

func TestRunOption_KeepsARunThatFailedAsFarAsItGot(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	c := open(t, store)
	_, err := finish(runnerOf(t, nil, adktest.Calls(adktest.Call("look", "{}")), adktest.Fails(errors.New("overloaded"))).
		Query(t.Context(), "Hi", c.RunOption(HistoryOptions{})))
	require.Error(t, err)
	_, err = finish(runnerOf(t, nil, adktest.Fails(errors.New("overloaded"))).Query(t.Context(), "Hm", c.RunOption(HistoryOptions{})))
	require.Error(t, err)
	h, err := c.History(t.Context())
	require.NoError(t, err)
	require.Nil(t, h.Open)
	require.Len(t, h.Turns, 1, "a turn in which nothing was said is discarded")
	require.Equal(t, []string{"user: Hi", "assistant: [look]", "tool: found"}, contents(h.Turns[0].Messages()))
}

func TestRunOption_KeepsWhoAnswersNext(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	c := open(t, store)
	billing, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "billing", Description: "invoices",
		Model: adktest.NewModel(t, adktest.Says("Paid."), adktest.Says("Yes."))})
	require.NoError(t, err)
	desk, err := adk.SetSubAgents(t.Context(), agentOf(t, adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"billing"}`))),
		[]adk.Agent{billing})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: desk})
	for _, question := range []string{"my invoice?", "sure?"} {
		_, err = finish(runner.Query(t.Context(), question, c.RunOption(HistoryOptions{})))
		require.NoError(t, err)
	}
	h, err := c.History(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"user: sure?", "assistant: Yes."}, contents(h.Turns[1].Messages()))
	require.Equal(t, "billing", h.Turns[1].Entry)
	require.Equal(t, "billing", h.Agent())
}

func TestRunOption_BoundsWhatARunIsGiven(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	c := open(t, store)
	runner := runnerOf(t, nil, adktest.Says("1"), adktest.Says("2"), adktest.Says("3").Seeing("user: b", "assistant: 2", "user: c"))
	for _, question := range []string{"a", "b", "c"} {
		_, err := finish(runner.Query(t.Context(), question, c.RunOption(HistoryOptions{MaxTurns: 1})))
		require.NoError(t, err)
	}
}

// chatLoop is a loop whose items are questions in a conversation.
func chatLoop(t *testing.T, c *Conversation, store adk.CheckPointStore, agent adk.Agent, answer any) *turnloop.TurnLoop[string] {
	t.Helper()
	loop := turnloop.NewTurnLoop(turnloop.TurnLoopConfig[string]{
		GenInput: func(_ context.Context, _ *turnloop.TurnLoop[string], items []string) (*turnloop.GenInputResult[string], error) {
			return &turnloop.GenInputResult[string]{
				Input: &adk.AgentInput{Messages: ask(items[0])}, Consumed: items[:1], Remaining: items[1:],
				RunOpts: []adk.AgentRunOption{c.RunOption(HistoryOptions{})},
			}, nil
		},
		GenResume: func(ctx context.Context, _ *turnloop.TurnLoop[string], interrupted, unhandled, added []string) (
			*adk.GenResumeResult[string, *schema.Message], error,
		) {
			h, err := c.History(ctx)
			if err != nil {
				return nil, err
			}
			return &adk.GenResumeResult[string, *schema.Message]{
				RunOpts: []adk.AgentRunOption{c.RunOption(HistoryOptions{})}, Consumed: interrupted, Remaining: append(unhandled, added...),
				ResumeParams: &adk.ResumeParams{Targets: map[string]any{h.Open.Questions[0].ID: answer}},
			}, nil
		},
		PrepareAgent: func(context.Context, *turnloop.TurnLoop[string], []string) (adk.Agent, error) { return agent, nil },
		Store:        store, CheckpointID: "loop",
	})
	return loop
}

func TestRunOption_OfATurnLoopKeepsItsTurns(t *testing.T) {
	stores(t, func(t *testing.T, store adk.CheckPointStore) {
		c := open(t, store)
		loop := chatLoop(t, c, store, agentOf(t, adktest.Says("A."), adktest.Calls(adktest.Call("pay", "{}")).
			Seeing("user: a", "assistant: A.", "user: b")), nil)
		loop.Push("a")
		loop.Push("b")
		loop.Run(t.Context())
		require.ErrorAs(t, loop.Wait().ExitReason, new(*adk.InterruptError))
		h, err := c.History(t.Context())
		require.NoError(t, err)
		require.Len(t, h.Turns, 1)
		require.Equal(t, Waiting, h.Open.Status)

		loop = chatLoop(t, c, store, agentOf(t, adktest.Says("B."), adktest.Says("C.")), "yes")
		loop.Push("c")
		loop.Run(t.Context())
		loop.Stop(turnloop.UntilIdleFor(1))
		require.NoError(t, loop.Wait().ExitReason)
		h, err = c.History(t.Context())
		require.NoError(t, err)
		require.Nil(t, h.Open)
		require.Len(t, h.Turns, 3)
		require.Equal(t, []string{"user: b", "assistant: [pay]", "tool: paid: yes", "assistant: B."}, contents(h.Turns[1].Messages()))
	})
}

// A turn that is preempted is saved nowhere, so it must not stay open.
func TestRunOption_OfATurnLoopEndsAPreemptedTurn(t *testing.T) {
	store := checkpoint.NewMemoryStore()
	c := open(t, store)
	called := make(chan struct{})
	slow := adktest.Does(func(ctx context.Context, _ string) (string, error) {
		close(called)
		<-ctx.Done()
		return "", ctx.Err()
	})
	loop := chatLoop(t, c, store, agentOf(t, adktest.Calls(adktest.Call("look", "{}")), slow,
		adktest.Says("B.").Seeing("user: a", "assistant: [look#call_1 {}]", "tool look#call_1: found", "user: b")), nil)
	loop.Push("a")
	loop.Run(t.Context())
	<-called
	loop.Push("b", turnloop.WithPreempt[string]())
	loop.Stop(turnloop.UntilIdleFor(1))
	require.NoError(t, loop.Wait().ExitReason)
	h, err := c.History(t.Context())
	require.NoError(t, err)
	require.Nil(t, h.Open)
	require.Len(t, h.Turns, 2)
	require.Equal(t, []string{"user: a", "assistant: [look]", "tool: found"}, contents(h.Turns[0].Messages()))
}

// cutOff is a store whose leases cannot be renewed.
type cutOff struct{ *checkpoint.MemoryStore }

func (s cutOff) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	l, err := s.MemoryStore.Acquire(ctx, id, req)
	return cutOffLease{l}, err
}

type cutOffLease struct{ runs.Lease }

func (cutOffLease) Renew(context.Context) error { return errors.New("out of reach") }

// slow is a store of conversations that answers when no caller waits any more.
type slow struct{ Store }

func (slow) State(ctx context.Context, _ string, _ Branch) (BranchState, error) {
	<-ctx.Done()
	return BranchState{}, ctx.Err()
}

// TestRunOption_ARunThatIsLostBeforeItsTurnBeginsSaysSo.
// Rule distributed/F6.
func TestRunOption_ARunThatIsLostBeforeItsTurnBeginsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agentOf(t), Durability: adk.EveryStep,
			CheckPointStore: cutOff{checkpoint.NewMemoryStore()}})
		talk := Open(slow{}, "talk").RunOption(HistoryOptions{})
		_, err := finish(runner.Query(t.Context(), "hello", adk.WithCheckPointID("1"), talk))
		require.ErrorIs(t, err, runs.ErrLeaseLost)
	})
}
