package adk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// A loop whose GenResume fails keeps everything, however often; one that starts a new turn gets out of it.
func TestTurnLoopResume_StartNewTurnEndsAFailingResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := interruptedStore(t)
		for range 2 {
			s := newScene(t)
			s.stored(store)
			s.cfg.GenResume = resumePlan(nil, errors.New("no approval among the new items"))
			require.ErrorContains(t, s.run().Wait().ExitReason, "no approval")
		}

		s := newScene(t)
		s.stored(store)
		var asked []*schema.Message
		agent := asking("a")
		agent.run = func(_ context.Context, input *AgentInput, _ func(*AgentEvent)) { asked = input.Messages }
		agent.resume = func(context.Context, *ResumeInfo, func(*AgentEvent)) { t.Error("the run was given up") }
		s.agent = agent
		s.cfg.GenResume = func(_ context.Context, _ *itemLoop,
			interrupted, unhandled, fresh []string,
		) (*GenResumeResult[string, Message], error) {
			return &GenResumeResult[string, Message]{
				Decision:  TurnLoopResumeDecisionStartNewTurn,
				Input:     &AgentInput{Messages: []*schema.Message{schema.UserMessage(interrupted[0])}},
				Consumed:  interrupted,
				Remaining: append(unhandled, fresh...),
			}, nil
		}
		l := s.run("3")
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"2", "3"}}, s.turns)
		require.Empty(t, asked, "the last turn comes from GenInput")
		l.Stop()
		exit := l.Wait()
		require.NoError(t, exit.ExitReason)
		require.Empty(t, exit.InterruptedItems)
		require.Empty(t, exit.UnhandledItems)
		require.Empty(t, store.memory, "the checkpoint is used up")
	})
}

func TestTurnLoopResume_NewTurnKeepsItems(t *testing.T) {
	input := &AgentInput{Messages: []*schema.Message{schema.UserMessage("new")}}
	const startNew = TurnLoopResumeDecisionStartNewTurn
	for name, test := range map[string]struct {
		plan  GenResumeResult[string, Message]
		turns [][]string
	}{
		"no input, no lists: all wait": {GenResumeResult[string, Message]{}, [][]string{{"1", "2", "3"}}},
		"no input, some remain":        {GenResumeResult[string, Message]{Remaining: []string{"2"}}, [][]string{{"2"}}},
		"no input, nothing remains":    {GenResumeResult[string, Message]{Remaining: []string{}}, nil},
		"input, no lists: all wait":    {GenResumeResult[string, Message]{Input: input}, [][]string{nil, {"1", "2", "3"}}},
		"input, some consumed": {GenResumeResult[string, Message]{Input: input, Consumed: []string{"3"}},
			[][]string{{"3"}}},
		"input, nothing consumed or kept": {GenResumeResult[string, Message]{Input: input, Remaining: []string{}},
			[][]string{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := interruptedStore(t)
				s := newScene(t)
				s.stored(store)
				test.plan.Decision = startNew
				s.cfg.GenResume = resumePlan(&test.plan, nil)
				l := s.run("3")
				synctest.Wait()
				require.Equal(t, test.turns, s.turns)
				l.Stop()
				exit := l.Wait()
				require.NoError(t, exit.ExitReason)
				require.Empty(t, store.memory)
			})
		})
	}
}

// Until the new turn has begun nothing has happened to the saved run.
func TestTurnLoopResume_NewTurnThatDoesNotBeginKeepsTheCheckpoint(t *testing.T) {
	boom := errors.New("boom")
	input := &AgentInput{}
	for name, change := range map[string]func(*scene){
		"PrepareAgent fails": func(s *scene) { s.cfg.PrepareAgent = preparing(nil, boom) },
		"stopped meanwhile":  func(s *scene) { s.cfg.PrepareAgent = stopping },
		"stopped in the plan": func(s *scene) {
			s.cfg.GenResume = func(_ context.Context, l *itemLoop, _, _, _ []string) (*GenResumeResult[string, Message], error) {
				l.Stop()
				return &GenResumeResult[string, Message]{Decision: TurnLoopResumeDecisionStartNewTurn}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := interruptedStore(t)
				s := newScene(t)
				s.stored(store)
				plan := &GenResumeResult[string, Message]{Decision: TurnLoopResumeDecisionStartNewTurn, Input: input}
				s.cfg.GenResume = resumePlan(plan, nil)
				change(s)
				exit := s.run("3").Wait()
				require.Equal(t, []string{"1"}, exit.InterruptedItems)
				require.Equal(t, []string{"2", "3"}, exit.UnhandledItems)
				require.True(t, exit.CheckpointAttempted)
				require.NoError(t, exit.CheckpointErr)
				require.NotEmpty(t, store.memory)
			})
		})
	}
}

func TestTurnLoopResume_RefusesPlansThatContradictThemselves(t *testing.T) {
	type plan = GenResumeResult[string, Message]
	for name, test := range map[string]struct {
		plan plan
		want string
	}{
		"unknown decision":  {plan{Decision: 7}, "unknown Decision 7"},
		"resume with input": {plan{Input: &AgentInput{}}, "Input is for TurnLoopResumeDecisionStartNewTurn"},
		"new turn with params": {plan{Decision: 1, Input: &AgentInput{}, ResumeParams: &ResumeParams{}},
			"ResumeParams is for TurnLoopResumeDecisionResume"},
		"consumed by nobody": {plan{Decision: 1, Consumed: []string{"1"}}, "Consumed needs Input"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := interruptedStore(t)
				s := newScene(t)
				s.stored(store)
				s.cfg.GenResume = resumePlan(&test.plan, nil)
				exit := s.run("3").Wait()
				require.ErrorContains(t, exit.ExitReason, test.want)
				require.Equal(t, []string{"1"}, exit.InterruptedItems)
				require.NotEmpty(t, store.memory)
			})
		})
	}
}

// A stop from within GenResume that skips the checkpoint ends the loop and deletes what was saved.
func TestTurnLoopResume_StopWithSkipCheckpointGivesTheRunUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := interruptedStore(t)
		s := newScene(t)
		s.stored(store)
		boom := errors.New("cannot resume")
		s.cfg.GenResume = func(_ context.Context, l *itemLoop, _, _, _ []string) (*GenResumeResult[string, Message], error) {
			l.Stop(WithSkipCheckpoint())
			return nil, boom
		}
		exit := s.run("3").Wait()
		require.ErrorIs(t, exit.ExitReason, boom)
		require.Equal(t, []string{"1"}, exit.InterruptedItems)
		require.Equal(t, []string{"2", "3"}, exit.UnhandledItems)
		require.False(t, exit.CheckpointAttempted)
		require.Empty(t, store.memory)
	})
}
