// Package dispatchtest has the tests that every dispatch.Client passes, whichever processes execute its runs.
package dispatchtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Front is the front under test: a dispatch.Client whose runs continue after they were stopped.
type Front interface {
	dispatch.Client[*schema.Message]
	Continue(ctx context.Context, id string) error
}

// RunFront tests a front. open makes one, on a store that has no runs, with workers that execute them until the test
// ends; the configuration has agents, and the front may change the rest of it. It is called once.
func RunFront(t *testing.T, open func(t *testing.T, conf dispatch.Config) Front) {
	t.Helper()
	g := &gate{open: make(chan struct{})}
	all, err := agents(g)
	require.NoError(t, err)
	s := &suite{Front: open(t, dispatch.Config{Agents: all, TTL: 2 * time.Second, Retry: retrySoon}), gate: g}
	for name, test := range map[string]func(t *testing.T){
		"ARunIsExecuted":                       s.executed,
		"AJobSubmittedTwiceIsOneRun":           s.submittedTwice,
		"ABadJobIsRefused":                     s.badJob,
		"ARunThatIsNotThere":                   s.notThere,
		"AQuestionIsAnsweredOnce":              s.answeredOnce,
		"OfManyAnswersAtOnceOneIsTaken":        s.answersAtOnce,
		"ARunNeedsAllAnswers":                  s.allAnswers,
		"ARunSleeps":                           s.sleeps,
		"ARunWaitsForAnother":                  s.waitsForAnother,
		"ARunThatWaitsIsStoppedAndContinues":   s.stoppedWhileItWaits,
		"ARunThatIsExecutedIsStopped":          s.stoppedWhileItWorks,
		"ARunThatFails":                        s.fails,
		"ARunThatFailsForAMomentIsTriedAgain":  s.triedAgain,
		"ARunBeginsWhenItsTimeHasCome":         s.notBefore,
		"ARunPastItsDeadlineFails":             s.deadline,
		"RunsOfOneKeyAreExecutedOneByOne":      s.oneByOne,
		"ARunIsListedByWhomItWaitsFor":         s.listed,
		"ARunThatHasEndedTakesNoAnswerNorStop": s.ended,
	} {
		t.Run(name, test)
	}
}

// retrySoon tries again what passes.
func retrySoon(err error, failures int) (time.Duration, bool) {
	var p passing
	return 100 * time.Millisecond, errors.As(err, &p) && failures < 3
}

// gate is the place where the agent waits that works.
type gate struct {
	entered  atomic.Int32
	stumbled atomic.Int32
	open     chan struct{}
	once     sync.Once
}

func (g *gate) pass(ctx context.Context) (string, error) {
	g.entered.Add(1)
	select {
	case <-g.open:
		return "worked", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (g *gate) stumble(context.Context) (string, error) {
	if g.stumbled.Add(1) == 1 {
		return "", passing{errors.New("too many requests")}
	}
	return "stood up", nil
}

type suite struct {
	Front
	gate *gate
}

func job(id, agent string) dispatch.Job {
	return dispatch.Job{ID: id, Agent: agent, Messages: []*schema.Message{schema.UserMessage("go")}}
}

func (s *suite) submit(t *testing.T, j dispatch.Job) {
	t.Helper()
	info, err := s.Submit(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, j.ID, info.ID)
}

// comesTo waits until a run has a status. A run may have others before.
func (s *suite) comesTo(t *testing.T, id string, status runs.Status) dispatch.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		o, err := s.Wait(ctx, id)
		require.NoError(t, err)
		if o.Status == status {
			return o
		}
		require.NotContains(t, []runs.Status{runs.Done, runs.Failed}, o.Status, "%v", o.Err)
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *suite) says(t *testing.T, id, text string) {
	t.Helper()
	o := s.comesTo(t, id, runs.Done)
	require.Equal(t, text, o.Message.Content)
}

func answerTo(t *testing.T, point string, value any) runs.Reply {
	t.Helper()
	a, err := runs.EncodeReply(point, value)
	require.NoError(t, err)
	return a
}

func (s *suite) executed(t *testing.T) {
	s.submit(t, job("executed", speaks))
	s.says(t, "executed", "done:")
	info, exists, err := s.Inspect(t.Context(), "executed")
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, runs.Done, info.Status)
	require.Equal(t, speaks, info.Agent)
}

func (s *suite) submittedTwice(t *testing.T) {
	s.submit(t, job("twice", asks))
	info, err := s.Submit(t.Context(), job("twice", speaks))
	require.ErrorIs(t, err, runs.ErrExists)
	require.Equal(t, asks, info.Agent)
	s.comesTo(t, "twice", runs.Waiting)
	_, err = s.Submit(t.Context(), job("twice", speaks))
	require.ErrorIs(t, err, runs.ErrExists)
}

func (s *suite) badJob(t *testing.T) {
	_, err := s.Submit(t.Context(), dispatch.Job{ID: "bad", Agent: speaks})
	require.ErrorContains(t, err, "no messages")
	_, exists, err := s.Inspect(t.Context(), "bad")
	require.NoError(t, err)
	require.False(t, exists)
}

func (s *suite) notThere(t *testing.T) {
	_, exists, err := s.Inspect(t.Context(), "nobody")
	require.NoError(t, err)
	require.False(t, exists)
	_, err = s.Wait(t.Context(), "nobody")
	require.ErrorIs(t, err, runs.ErrNotFound)
	require.ErrorIs(t, s.Reply(t.Context(), "nobody", answerTo(t, "p", "x")), runs.ErrNotFound)
	require.ErrorIs(t, s.Stop(t.Context(), "nobody", runs.StopRequest{}), runs.ErrNotFound)
	require.ErrorIs(t, s.Continue(t.Context(), "nobody"), runs.ErrNotFound)
}

func (s *suite) answeredOnce(t *testing.T) {
	s.submit(t, job("once", asks))
	o := s.comesTo(t, "once", runs.Waiting)
	require.Len(t, o.Questions, 1)
	require.Equal(t, runs.KindQuestion, o.Questions[0].Kind)
	require.ErrorIs(t, s.Reply(t.Context(), "once", answerTo(t, "no such question", "x")), runs.ErrNotWaiting)
	require.NoError(t, s.Reply(t.Context(), "once", answerTo(t, o.Questions[0].ID, "blue")))
	s.says(t, "once", "done: blue")
}

func (s *suite) answersAtOnce(t *testing.T) {
	s.submit(t, job("at-once", asks))
	point := s.comesTo(t, "at-once", runs.Waiting).Questions[0].ID
	var taken atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		answer := answerTo(t, point, "blue")
		all.Go(func() {
			if err := s.Reply(t.Context(), "at-once", answer); err == nil {
				taken.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, taken.Load())
	s.says(t, "at-once", "done: blue")
}

func (s *suite) allAnswers(t *testing.T) {
	s.submit(t, job("all", asksTwo))
	points := s.comesTo(t, "all", runs.Waiting).Questions
	require.Len(t, points, 2)
	require.NoError(t, s.Reply(t.Context(), "all", answerTo(t, points[0].ID, points[0].For[0])))
	require.ErrorIs(t, s.Reply(t.Context(), "all", answerTo(t, points[0].ID, "x")), runs.ErrReplied)
	require.Equal(t, runs.Waiting, s.comesTo(t, "all", runs.Waiting).Status)
	require.NoError(t, s.Reply(t.Context(), "all", answerTo(t, points[1].ID, points[1].For[0])))
	s.says(t, "all", "done: ana bob")
}

func (s *suite) sleeps(t *testing.T) {
	begun := time.Now()
	s.submit(t, job("sleeps", sleeps))
	s.says(t, "sleeps", "done: slept")
	require.GreaterOrEqual(t, time.Since(begun), 300*time.Millisecond)
}

// childOf waits until a run waits for another one, and that one for an answer.
func (s *suite) childOf(t *testing.T, id string) (child runs.Info) {
	t.Helper()
	s.comesTo(t, id, runs.Waiting)
	for run, err := range s.List(t.Context(), runs.Query{Parent: id}) {
		require.NoError(t, err)
		child = run
	}
	require.NotEmpty(t, child.ID)
	s.comesTo(t, child.ID, runs.Waiting)
	child, _, err := s.Inspect(t.Context(), child.ID)
	require.NoError(t, err)
	return child
}

func (s *suite) waitsForAnother(t *testing.T) {
	s.submit(t, job("parent", delegate))
	child := s.childOf(t, "parent")
	require.NoError(t, s.Reply(t.Context(), child.ID, answerTo(t, child.Waiting[0].ID, "blue")))
	s.says(t, "parent", "done: done: blue")
}

func (s *suite) stoppedWhileItWaits(t *testing.T) {
	s.submit(t, job("stopped-parent", delegate))
	child := s.childOf(t, "stopped-parent")
	how := runs.StopRequest{Reason: "lunch", Children: true}
	require.NoError(t, s.Stop(t.Context(), "stopped-parent", how))
	require.EqualError(t, s.comesTo(t, "stopped-parent", runs.Paused).Err, "lunch")
	s.comesTo(t, child.ID, runs.Paused)
	// Answers are kept.
	require.NoError(t, s.Reply(t.Context(), child.ID, answerTo(t, child.Waiting[0].ID, "blue")))
	require.NoError(t, s.Continue(t.Context(), "stopped-parent"))
	s.says(t, "stopped-parent", "done: done: blue")
}

func (s *suite) stoppedWhileItWorks(t *testing.T) {
	s.submit(t, job("working", works))
	require.Eventually(t, func() bool { return s.gate.entered.Load() == 1 }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, s.Stop(t.Context(), "working", runs.StopRequest{Reason: "lunch"}))
	time.Sleep(200 * time.Millisecond)
	info, _, err := s.Inspect(t.Context(), "working")
	require.NoError(t, err)
	require.Equal(t, runs.Running, info.Status, "it stops where nothing is lost")
	s.gate.once.Do(func() { close(s.gate.open) })
	s.comesTo(t, "working", runs.Paused)
	require.NoError(t, s.Continue(t.Context(), "working"))
	s.says(t, "working", "done: worked rested")
	require.EqualValues(t, 1, s.gate.entered.Load(), "what was done is not done again")
}

func (s *suite) fails(t *testing.T) {
	s.submit(t, job("fails", fails))
	o, err := s.Wait(t.Context(), "fails")
	require.NoError(t, err)
	require.Equal(t, runs.Failed, o.Status)
	require.ErrorContains(t, o.Err, "no such order")
}

func (s *suite) triedAgain(t *testing.T) {
	s.submit(t, job("again", stumbles))
	s.says(t, "again", "done: stood up")
}

func (s *suite) notBefore(t *testing.T) {
	j := job("later", speaks)
	j.NotBefore = time.Now().Add(500 * time.Millisecond)
	s.submit(t, j)
	s.says(t, "later", "done:")
	require.False(t, time.Now().Before(j.NotBefore))
}

func (s *suite) deadline(t *testing.T) {
	j := job("late", speaks)
	j.Deadline = time.Now().Add(-time.Second)
	s.submit(t, j)
	o, err := s.Wait(t.Context(), "late")
	require.NoError(t, err)
	require.Equal(t, runs.Failed, o.Status)
	require.ErrorContains(t, o.Err, "deadline")
}

func (s *suite) oneByOne(t *testing.T) {
	first, second := job("first", asks), job("second", speaks)
	first.Key, second.Key = "conversation", "conversation"
	s.submit(t, first)
	point := s.comesTo(t, "first", runs.Waiting).Questions[0].ID
	s.submit(t, second)
	rejected := job("rejected", speaks)
	rejected.Key, rejected.OnBusy = "conversation", dispatch.Reject
	_, err := s.Submit(t.Context(), rejected)
	require.ErrorIs(t, err, runs.ErrBusy)
	time.Sleep(300 * time.Millisecond)
	info, _, err := s.Inspect(t.Context(), "second")
	require.NoError(t, err)
	require.Equal(t, runs.Ready, info.Status)
	require.NoError(t, s.Reply(t.Context(), "first", answerTo(t, point, "blue")))
	s.says(t, "first", "done: blue")
	s.says(t, "second", "done:")
}

func (s *suite) listed(t *testing.T) {
	j := job("listed", asksTwo)
	j.Tags = map[string]string{"team": "listed"}
	s.submit(t, j)
	s.comesTo(t, "listed", runs.Waiting)
	var found []string
	q := runs.Query{WaitingFor: "bob", Tags: j.Tags, Status: []runs.Status{runs.Waiting}}
	for run, err := range s.List(t.Context(), q) {
		require.NoError(t, err)
		found = append(found, run.ID)
	}
	require.Equal(t, []string{"listed"}, found)
}

func (s *suite) ended(t *testing.T) {
	s.submit(t, job("ended", speaks))
	s.says(t, "ended", "done:")
	require.ErrorIs(t, s.Stop(t.Context(), "ended", runs.StopRequest{}), runs.ErrEnded)
	require.ErrorIs(t, s.Continue(t.Context(), "ended"), runs.ErrEnded)
	require.ErrorIs(t, s.Reply(t.Context(), "ended", answerTo(t, "p", "x")), runs.ErrNotWaiting)
	_, err := s.Submit(t.Context(), job("ended", speaks))
	require.ErrorIs(t, err, runs.ErrExists)
}
