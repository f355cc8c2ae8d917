package adk

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/internal/envelope"
)

// interruptedStore is a store with a loop that was interrupted in a turn on "1", while "2" waited.
func interruptedStore(t *testing.T) *deletable {
	s, store := newScene(t), newDeletable()
	s.stored(store)
	release := make(chan struct{})
	s.agent = actor("a", func(ctx context.Context, send func(*AgentEvent)) {
		<-release
		send(StatefulInterrupt(ctx, "why", "state"))
	})
	l := s.run("1")
	synctest.Wait()
	l.Push("2")
	close(release)
	exit := l.Wait()
	require.ErrorAs(t, exit.ExitReason, new(*InterruptError))
	require.True(t, exit.CheckpointAttempted)
	require.NoError(t, exit.CheckpointErr)
	return store
}

// Rules runtime/L32, runtime/L34.
func TestTurnLoopSave_StoreErrorIsReportedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newScene(t), newDeletable()
		store.failSet = errors.New("full")
		s.stored(store)
		s.agent = asking("a")
		exit := s.run("1").Wait()
		require.ErrorAs(t, exit.ExitReason, new(*InterruptError))
		require.Equal(t, store.failSet, exit.CheckpointErr)
		require.True(t, exit.CheckpointAttempted)
	})
}

// Rules runtime/L28, runtime/L34, runtime/L35.
func TestTurnLoopSave_StopsSaveAndFailuresDelete(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		do    func(s *scene, l *itemLoop)
		fails error
		saved bool
	}{
		"stop with items":      {func(_ *scene, l *itemLoop) { l.Stop(); l.Push("late") }, nil, true},
		"skipped":              {func(_ *scene, l *itemLoop) { l.Stop(WithSkipCheckpoint()); l.Stop() }, nil, false},
		"callback fails":       {func(_ *scene, l *itemLoop) { l.Stop() }, boom, false},
		"callback fails alone": {func(*scene, *itemLoop) {}, boom, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store, w := newScene(t), newDeletable(), newWaiting()
				s.stored(store)
				s.agent = w
				s.cfg.OnAgentEvents = func(_ context.Context, _ *itemTurn, events *itemEvents) error {
					drainTurn(events)
					return test.fails
				}
				l := s.run("1")
				<-w.entered
				l.Push("2")
				test.do(s, l)
				close(w.release)
				exit := l.Wait()
				require.Equal(t, []string{"2"}, exit.UnhandledItems)
				require.Equal(t, test.saved, exit.CheckpointAttempted)
				require.Equal(t, test.saved, store.writings == 1)
				require.Equal(t, test.saved, store.deleted == 0)
				if !test.saved {
					return
				}
				s = newScene(t)
				s.stored(store)
				l = s.run("3")
				synctest.Wait()
				require.Equal(t, [][]string{{"2", "3"}}, s.turns, "without a run no GenResume is needed")
				l.Stop()
				l.Wait()
				require.Empty(t, store.memory, "nothing is left")
			})
		})
	}
}

func actsNot(context.Context, *AgentInput, func(*AgentEvent)) {}

// noDelete is a store that cannot delete.
type noDelete struct{ CheckPointStore }

// Rule runtime/L35.
func TestTurnLoopSave_StoreWithoutDeleteKeepsTheOldCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := interruptedStore(t)
		before := bytes.Clone(store.memory["id"])
		s := newScene(t)
		var seen [][]string
		s.resumable(&seen)
		s.stored(noDelete{store})
		agent := asking("a")
		agent.run = actsNot
		s.agent = agent
		l := s.run()
		synctest.Wait()
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
		require.Equal(t, before, store.memory["id"], "it is left as it is")
	})
}

// Rule runtime/L36.
func TestTurnLoopLoad_UnreadableCheckpointEndsTheLoopAndStays(t *testing.T) {
	seal := func(d turnDocument[string]) []byte {
		data, err := sealTurns(&d)
		require.NoError(t, err)
		return data
	}
	good := seal(turnDocument[string]{UnhandledItems: []string{"1"}})
	newer := turnKind
	newer.Version++
	foreign := new(bytes.Buffer)
	require.NoError(t, gob.NewEncoder(foreign).Encode("text"))
	for name, test := range map[string]struct {
		data []byte
		get  error
		want string
		is   error
	}{
		"store fails": {nil, errors.New("down"), "failed to load checkpoint[id]: down", nil},
		"damaged": {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), nil,
			"failed to unmarshal checkpoint[id]: ", envelope.ErrCorrupt},
		"cut off":      {good[:len(good)-3], nil, "failed to unmarshal checkpoint[id]: ", envelope.ErrTruncated},
		"newer":        {newer.Seal(runCodec, nil), nil, "failed to unmarshal checkpoint[id]: ", envelope.ErrNewer},
		"foreign":      {foreign.Bytes(), nil, "failed to unmarshal checkpoint[id]: ", envelope.ErrForeign},
		"no run bytes": {seal(turnDocument[string]{HasRunnerState: true}), nil, "has runner state but bytes are empty", nil},
		"other codec":  {turnKind.Seal("x", nil), nil, "does not know", nil},
		"other gob":    {turnKind.Seal(runCodec, foreign.Bytes()), nil, "failed to unmarshal checkpoint[id]: ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newScene(t), newDeletable()
				store.memory["id"] = test.data
				store.failGet = test.get
				s.stored(store)
				l := s.run("new")
				exit := l.Wait()
				require.ErrorContains(t, exit.ExitReason, test.want)
				if test.is != nil {
					require.ErrorIs(t, exit.ExitReason, test.is)
				}
				if test.get != nil {
					require.ErrorIs(t, exit.ExitReason, test.get)
				}
				require.Equal(t, []string{"new"}, exit.UnhandledItems)
				require.Zero(t, store.deleted, "what could not be read is not destroyed")
				require.Equal(t, test.data, store.memory["id"])
			})
		})
	}
	for name, data := range map[string][]byte{"missing": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newScene(t), newDeletable()
				if data != nil {
					store.memory["id"] = data
				}
				s.stored(store)
				l := s.run("1")
				synctest.Wait()
				l.Stop()
				require.NoError(t, l.Wait().ExitReason)
				require.Len(t, s.turns, 1)
			})
		})
	}
}

// Rule runtime/L36.
func TestTurnLoopLoad_ItemsThatCannotBeSavedEndTheLoopEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTurnLoop(TurnLoopConfig[func(), Message]{
			GenInput: func(context.Context, *TurnLoop[func(), Message], []func()) (*GenInputResult[func(), Message], error) {
				return nil, nil
			},
			PrepareAgent: func(context.Context, *TurnLoop[func(), Message], []func()) (Agent, error) { return nil, nil },
			Store:        memory{}, CheckpointID: "id",
		})
		l.Run(t.Context())
		require.ErrorContains(t, l.Wait().ExitReason, "items of type func() cannot be saved")
	})
}

// Rule runtime/L38.
func TestTurnLoopResume_FailureKeepsTheCheckpointAndNewItems(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		change func(*scene)
		want   string
	}{
		"no GenResume":   {func(s *scene) { s.cfg.GenResume = nil }, "GenResume is required for resume"},
		"no plan":        {func(s *scene) { s.cfg.GenResume = resumePlan(nil, nil) }, "GenResumeResult is nil"},
		"GenResume":      {func(s *scene) { s.cfg.GenResume = resumePlan(nil, boom) }, "boom"},
		"PrepareAgent":   {func(s *scene) { s.cfg.PrepareAgent = preparing(nil, boom) }, "boom"},
		"stop in a plan": {func(s *scene) { s.cfg.PrepareAgent = stopping }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := interruptedStore(t)
				s := newScene(t)
				s.stored(store)
				var seen [][]string
				s.resumable(&seen)
				test.change(s)
				exit := s.run("3").Wait()
				if test.want != "" {
					require.ErrorContains(t, exit.ExitReason, test.want)
				} else {
					require.NoError(t, exit.ExitReason)
				}
				// The checkpoint is as it was, with the new item.
				require.Equal(t, []string{"1"}, exit.InterruptedItems)
				require.Equal(t, []string{"2", "3"}, exit.UnhandledItems)
				require.True(t, exit.CheckpointAttempted)
				require.Zero(t, store.deleted)

				s = newScene(t)
				s.stored(store)
				seen = nil
				s.resumable(&seen)
				s.agent = asking("a")
				l := s.run()
				synctest.Wait()
				require.Equal(t, [][]string{{"1"}, {"2", "3"}, nil}, seen)
				l.Stop()
				l.Wait()
			})
		})
	}
}

func stopping(_ context.Context, l *itemLoop, _ []string) (Agent, error) {
	l.Stop()
	return asking("a"), nil
}

func resumePlan(plan *GenResumeResult[string, Message],
	err error,
) func(context.Context, *itemLoop, []string, []string, []string) (*GenResumeResult[string, Message], error) {
	return func(context.Context, *itemLoop, []string, []string, []string) (*GenResumeResult[string, Message], error) {
		return plan, err
	}
}

// Rule runtime/L38.
func TestTurnLoopResume_InterruptedAgainIsSavedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := interruptedStore(t)
		var seen [][]string
		for round := range 3 {
			s := newScene(t)
			s.stored(store)
			s.resumable(&seen)
			agent := asking("a")
			agent.run = actsNot
			agent.resume = func(ctx context.Context, info *ResumeInfo, send func(*AgentEvent)) {
				require.True(t, info.WasInterrupted)
				require.False(t, info.EnableStreaming)
				require.True(t, info.ImplicitResume)
				if round < 2 {
					send(StatefulInterrupt(ctx, "again", "state"))
				}
			}
			s.agent = agent
			l := s.run(string(rune('a' + round)))
			synctest.Wait()
			l.Stop()
			exit := l.Wait()
			if round < 2 {
				require.ErrorAs(t, exit.ExitReason, new(*InterruptError))
				continue
			}
			require.NoError(t, exit.ExitReason)
		}
		require.Equal(t, [][]string{{"1"}, {"2"}, {"a"}, {"1"}, {"2", "a"}, {"b"}, {"1"}, {"2", "a", "b"}, {"c"}}, seen)
	})
}

// Rule runtime/L38.
func TestTurnLoopResume_AnotherAgentIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := interruptedStore(t)
		s := newScene(t)
		s.stored(store)
		var seen [][]string
		s.resumable(&seen)
		s.agent = asking("other")
		exit := s.run().Wait()
		require.ErrorContains(t, exit.ExitReason, "no child agents leading to interrupted agent were found")
	})
}

// Rule runtime/L39.
func TestTurnLoopResume_StopsBeforeItKeepAllItemsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := interruptedStore(t)
		for _, item := range []string{"3", "4"} {
			s := newScene(t)
			s.stored(store)
			l := NewTurnLoop(s.cfg)
			l.Push(item)
			l.Stop()
			l.Run(t.Context())
			exit := l.Wait()
			require.NoError(t, exit.ExitReason)
			require.True(t, exit.CheckpointAttempted)
		}
		s := newScene(t)
		s.stored(store)
		var seen [][]string
		s.resumable(&seen)
		s.agent = asking("a")
		l := s.run("5")
		synctest.Wait()
		require.Equal(t, [][]string{{"1"}, {"2", "3", "4"}, {"5"}}, seen)
		require.Equal(t, [][]string{{"1"}, {"2", "3", "4", "5"}}, s.turns)
		l.Stop()
		l.Wait()
	})
}

// The items of a run that could not be saved are not lost: they begin again.
// Rule runtime/B15.3.
func TestTurnLoopSave_ItemsOfARunThatCannotBeSavedBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newScene(t), newDeletable()
		s.stored(store)
		s.agent = actor("a", func(ctx context.Context, send func(*AgentEvent)) {
			send(StatefulInterrupt(ctx, "why", func() {}))
		})
		s.cfg.OnAgentEvents = func(_ context.Context, _ *itemTurn, events *itemEvents) error {
			drainTurn(events)
			return nil
		}
		l := s.run("1")
		exit := l.Wait()
		require.ErrorAs(t, exit.ExitReason, new(*InterruptError))
		require.Equal(t, []string{"1"}, exit.InterruptedItems)

		s = newScene(t)
		s.stored(store)
		l = s.run("2")
		synctest.Wait()
		require.Equal(t, [][]string{{"1", "2"}}, s.turns)
		l.Stop()
		l.Wait()
	})
}

// What is saved is the run and the items, of any type that gob can encode.
// Rule runtime/L33.
func TestTurnLoopSave_KeepsTheRunAndItemsOfAnyGobType(t *testing.T) {
	type item struct {
		Text string
		Tags map[string]int
	}
	store := memory{}
	loop := func() *TurnLoop[item, Message] {
		return NewTurnLoop(TurnLoopConfig[item, Message]{
			GenInput: func(_ context.Context, _ *TurnLoop[item, Message], items []item) (*GenInputResult[item, Message], error) {
				return &GenInputResult[item, Message]{Input: &AgentInput{}, Consumed: items[:1], Remaining: items[1:]}, nil
			},
			PrepareAgent: func(context.Context, *TurnLoop[item, Message], []item) (Agent, error) { return asking("a"), nil },
			Store:        store, CheckpointID: "id",
		})
	}
	l := loop()
	first, second := item{"1", map[string]int{"x": 1}}, item{"2", nil}
	l.Push(first)
	l.Push(second)
	l.Run(t.Context())
	exit := l.Wait()
	require.ErrorAs(t, exit.ExitReason, new(*InterruptError))
	require.True(t, exit.CheckpointAttempted)
	d, err := openTurns[item](store["id"])
	require.NoError(t, err)
	require.True(t, d.HasRunnerState)
	require.NotEmpty(t, d.RunnerCheckpoint)
	require.Equal(t, []item{first}, d.CanceledItems)
	require.Equal(t, []item{second}, d.UnhandledItems)
}

// Items that were only waiting come before those that were pushed since, and no turn is resumed.
// Rule runtime/L37.
func TestTurnLoopLoad_SavedItemsComeBeforePushedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.stored(memory{})
		l := NewTurnLoop(s.cfg)
		l.Push("1")
		l.Push("2")
		l.Stop()
		l.Run(t.Context())
		require.True(t, l.Wait().CheckpointAttempted)

		var resumed [][]string
		s.resumable(&resumed)
		l = s.run("3", "4")
		synctest.Wait()
		require.Equal(t, [][]string{{"1", "2", "3", "4"}}, s.turns)
		require.Empty(t, resumed)
		l.Stop()
		require.NoError(t, l.Wait().ExitReason)
	})
}
