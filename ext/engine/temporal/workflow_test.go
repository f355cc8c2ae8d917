package temporalengine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/weftgo/weft/runs"
)

// bench is a workflow whose activities are scripted. Its clock skips the time until the next event.
type bench struct {
	*testsuite.TestWorkflowEnvironment
	t     *testing.T
	begun time.Time
}

func newBench(t *testing.T) *bench {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	b := &bench{suite.NewTestWorkflowEnvironment(), t, time.Time{}}
	register(&Engine{}, b)
	// The workflow has a name of its own, so that its children's workflows can be scripted.
	b.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: "root"})
	return b
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// attempt says what the next attempt comes to, and how long it takes.
func (b *bench) attempt(o outcome, takes time.Duration) {
	b.OnActivity(attemptActivity, mock.Anything, mock.Anything).Return(o, nil).Once().After(takes)
}

// does expects a request to the store.
func (b *bench) does(activity string, input any, err error) {
	b.OnActivity(activity, mock.Anything, input).Return(err).Once()
}

// at does something when so much time has passed.
func (b *bench) at(after time.Duration, do func()) { b.RegisterDelayedCallback(do, after) }

func (b *bench) signal(after time.Duration, name string, input any) {
	b.at(after, func() { b.SignalWorkflow(name, input) })
}

// update answers a question, and expects an error of a type, "" for none.
func (b *bench) update(after time.Duration, point, errType string) {
	check := func(err error) {
		if errType == "" {
			require.NoError(b.t, err)
		} else {
			require.True(b.t, isType(err, errType), "%v", err)
		}
	}
	b.at(after, func() {
		b.UpdateWorkflow(ReplyUpdate, fmt.Sprint(after, point), &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: check, OnComplete: func(_ any, err error) { check(err) },
		}, Reply{To: point, Data: json.RawMessage(`"blue"`)})
	})
}

// run executes the workflow, and returns how long it took.
func (b *bench) run(o RunOptions) (took time.Duration, err error) {
	b.begun = b.Now()
	b.ExecuteWorkflow("root", RunInput{"r1", o})
	require.True(b.t, b.IsWorkflowCompleted())
	b.AssertExpectations(b.t)
	return b.Now().Sub(b.begun).Round(time.Second), b.GetWorkflowError()
}

func (b *bench) runsUntilDone(want time.Duration) {
	b.t.Helper()
	took, err := b.run(RunOptions{})
	require.NoError(b.t, err)
	var result RunResult
	require.NoError(b.t, b.GetWorkflowResult(&result))
	require.Equal(b.t, RunResult{"r1", runs.Done}, result)
	require.Equal(b.t, want, took)
}

func (b *bench) status() (s Status) {
	b.t.Helper()
	value, err := b.QueryWorkflow(StatusQuery)
	require.NoError(b.t, err)
	require.NoError(b.t, value.Get(&s))
	return s
}

var done = outcome{Status: runs.Done}

// waiting is a run that waits at points; those whose names begin with "o" are optional.
func waiting(points ...string) outcome {
	o := outcome{Agent: "a", Status: runs.Waiting}
	for _, p := range points {
		o.Waiting = append(o.Waiting, Question{ID: p, Kind: runs.KindQuestion, For: []string{"ana"}, Optional: p[0] == 'o'})
	}
	return o
}

func TestRun_EndsWithItsRun(t *testing.T) {
	b := newBench(t)
	b.attempt(done, time.Minute)
	b.runsUntilDone(time.Minute)
}

// TestRun_FailsWithItsRun, and says nothing of what is in it.
// Rules temporal/W3, temporal/W14.
func TestRun_FailsWithItsRun(t *testing.T) {
	b := newBench(t)
	b.attempt(outcome{Status: runs.Failed}, 0)
	_, err := b.run(RunOptions{})
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, ErrTypeFailed, failed.Type())
	require.True(t, failed.NonRetryable())
	require.Equal(t, "run r1 has failed; the store has the reason", failed.Message())
}

func TestRun_FailsIfItsRunIsGone(t *testing.T) {
	b := newBench(t)
	b.OnActivity(attemptActivity, mock.Anything, mock.Anything).Return(outcome{}, notFound("r1")).Once()
	_, err := b.run(RunOptions{})
	require.True(t, isType(err, ErrTypeNotFound), "%v", err)
}

// TestRun_IsExecutedAgainWhenItsTimeHasCome: a failure that passes, a timer, a question that expires.
// Rules temporal/W3, temporal/W5.
func TestRun_IsExecutedAgainWhenItsTimeHasCome(t *testing.T) {
	b := newBench(t)
	b.attempt(outcome{Status: runs.Ready, WakeIn: time.Hour}, 0)
	timer := waiting("p")
	timer.Waiting[0].Kind, timer.WakeIn = runs.KindTimer, 24*time.Hour
	b.attempt(timer, 0)
	b.attempt(done, 0)
	b.runsUntilDone(25 * time.Hour)
}

// TestRun_IsTriedAgainIfAWorkerDies, or could not execute it.
// Rule temporal/W9.
func TestRun_IsTriedAgainIfAWorkerDies(t *testing.T) {
	b := newBench(t)
	again := func(err error) {
		b.OnActivity(attemptActivity, mock.Anything, mock.Anything).Return(outcome{}, err).Once()
	}
	again(retried("r1", ErrTypeBusy, "somebody else has it", 20*time.Second))
	again(retried("r1", ErrTypeWrongWorker, "not mine", 5*time.Second))
	again(temporal.NewApplicationError("the store cannot be reached", ErrTypeBroken))
	b.attempt(done, 0)
	b.runsUntilDone(29 * time.Second) // the third time after 1 s · 2²
}

// TestRun_NeedsTheAnswersToItsQuestions, but not to optional ones.
// Rules temporal/W6, distributed/C8.
func TestRun_NeedsTheAnswersToItsQuestions(t *testing.T) {
	b := newBench(t)
	b.attempt(waiting("p1", "p2", "o"), 0)
	b.signal(time.Minute, ChangedSignal, Changed{Answered: []string{"p1"}})
	b.at(2*time.Minute, func() {
		s := b.status()
		require.Equal(t, runs.Waiting, s.Status)
		require.Equal(t, []bool{true, false, false},
			[]bool{s.Waiting[0].Answered, s.Waiting[1].Answered, s.Waiting[2].Answered})
	})
	b.signal(time.Hour, ChangedSignal, Changed{Answered: []string{"p2"}})
	b.attempt(waiting("o1", "o2"), 0)
	b.signal(2*time.Hour, ChangedSignal, Changed{Answered: []string{"o2"}})
	b.attempt(done, 0)
	b.runsUntilDone(2 * time.Hour)
}

// TestRun_TakesAnswersWhileItIsExecuted: the store has them before the workflow knows the question.
func TestRun_TakesAnswersWhileItIsExecuted(t *testing.T) {
	b := newBench(t)
	b.attempt(waiting("p"), time.Minute)
	b.signal(30*time.Second, ChangedSignal, Changed{Answered: []string{"p"}})
	b.attempt(waiting("q"), time.Minute)
	b.signal(90*time.Second, ChangedSignal, Changed{})
	b.attempt(done, 0)
	b.runsUntilDone(2 * time.Minute)
}

// TestRun_TakesAnswersByUpdate: what cannot be an answer is refused without a trace in the history; the rest, the store
// decides.
// Rule temporal/W6.
func TestRun_TakesAnswersByUpdate(t *testing.T) {
	b := newBench(t)
	b.attempt(waiting("p1", "p2"), time.Minute)
	b.update(time.Second, "p1", ErrTypeNotWaiting) // it is executed
	b.update(2*time.Minute, "p3", ErrTypeNotWaiting)
	b.does(replyActivity, replyInput{"r1", Reply{To: "p1", Data: json.RawMessage(`"blue"`)}}, nil)
	b.update(3*time.Minute, "p1", "")
	b.update(4*time.Minute, "p1", ErrTypeReplied)
	b.does(replyActivity, replyInput{"r1", Reply{To: "p2", Data: json.RawMessage(`"blue"`)}},
		temporal.NewNonRetryableApplicationError("answered", ErrTypeReplied, nil))
	b.update(5*time.Minute, "p2", ErrTypeReplied) // by another caller: it continues
	b.attempt(done, 0)
	b.runsUntilDone(5 * time.Minute)
}

// TestRun_LooksAgainIfTheStoreRefusesAnAnswer that the workflow took for one: it is behind.
func TestRun_LooksAgainIfTheStoreRefusesAnAnswer(t *testing.T) {
	b := newBench(t)
	b.attempt(waiting("p"), 0)
	b.does(replyActivity, mock.Anything, temporal.NewNonRetryableApplicationError("no", ErrTypeNotWaiting, nil))
	b.update(time.Minute, "p", ErrTypeNotWaiting)
	b.attempt(done, 0)
	b.runsUntilDone(time.Minute)
}

// TestRun_StopsAndContinues by signals; its questions are kept.
// Rule temporal/W7.
func TestRun_StopsAndContinues(t *testing.T) {
	b := newBench(t)
	b.attempt(waiting("p"), 0)
	b.does(stopActivity, stopInput{"r1", Stop{Reason: "lunch"}}, nil)
	b.signal(time.Minute, StopSignal, Stop{Reason: "lunch"})
	paused := waiting("p")
	paused.Status = runs.Paused
	b.attempt(paused, 0)
	b.at(2*time.Minute, func() { require.Equal(t, runs.Paused, b.status().Status) })
	b.signal(3*time.Minute, ChangedSignal, Changed{Answered: []string{"p"}}) // is no reason to continue
	b.does(continueActivity, "r1", nil)
	b.signal(time.Hour, ContinueSignal, nil)
	b.attempt(done, 0)
	b.runsUntilDone(time.Hour)
}

// TestRun_StopsWhileItIsExecuted: the store has the worker stop it.
// Rule temporal/W7.
func TestRun_StopsWhileItIsExecuted(t *testing.T) {
	b := newBench(t)
	b.does(stopActivity, stopInput{"r1", Stop{Timeout: time.Second}}, nil)
	b.signal(time.Minute, StopSignal, Stop{Timeout: time.Second})
	b.attempt(outcome{Status: runs.Paused}, 2*time.Minute)
	b.attempt(outcome{Status: runs.Paused}, 0) // what changed meanwhile is looked at
	b.signal(time.Hour, ChangedSignal, Changed{})
	b.attempt(done, 0)
	b.runsUntilDone(time.Hour)
}

// TestRun_IsPausedIfItIsCanceled while it waits.
// Rule temporal/W7.
func TestRun_IsPausedIfItIsCanceled(t *testing.T) {
	b := newBench(t)
	b.attempt(waiting("p"), 0)
	b.at(time.Minute, b.CancelWorkflow)
	b.does(stopActivity, stopInput{"r1",
		Stop{Timeout: 7 * time.Second, Reason: "its workflow was canceled"}}, nil)
	_, err := b.run(RunOptions{StopGrace: 7 * time.Second})
	require.True(t, temporal.IsCanceledError(err), "%v", err)
}

// TestRun_IsPausedIfItIsCanceledWhileItIsExecuted.
// Rule temporal/W7.
func TestRun_IsPausedIfItIsCanceledWhileItIsExecuted(t *testing.T) {
	b := newBench(t)
	stopped := make(chan struct{})
	b.OnActivity(attemptActivity, mock.Anything, mock.Anything).
		Return(func(context.Context, attemptInput) (outcome, error) {
			b.CancelWorkflow()
			<-stopped
			return outcome{Status: runs.Paused}, nil
		}).Once()
	b.OnActivity(stopActivity, mock.Anything, mock.Anything).
		Return(func(context.Context, stopInput) error {
			close(stopped)
			return nil
		}).Once()
	_, err := b.run(RunOptions{})
	require.True(t, temporal.IsCanceledError(err), "%v", err)
}

// waitingForRuns is a run that waits for others, of which the workflow has to execute those with a name.
func waitingForRuns(children ...string) outcome {
	o := outcome{Status: runs.Waiting, LookIn: time.Minute}
	for i, c := range children {
		o.Waiting = append(o.Waiting, Question{ID: fmt.Sprint("p", i), Kind: runs.KindRun, Child: c, TaskQueue: "q"})
	}
	return o
}

// child scripts how the workflow of a child ends.
func (b *bench) child(id string, takes time.Duration, err error) {
	b.OnWorkflow(RunWorkflow, mock.Anything, mock.MatchedBy(func(in RunInput) bool { return in.ID == id })).
		Return(func(ctx workflow.Context, in RunInput) (RunResult, error) {
			require.Equal(b.t, "weft/"+id, workflow.GetInfo(ctx).WorkflowExecution.ID)
			require.Equal(b.t, "q", workflow.GetInfo(ctx).TaskQueueName)
			return RunResult{in.ID, runs.Done}, err
		}).Once().After(takes)
}

// TestRun_WaitsForRuns, of which each is a child workflow.
// Rules temporal/W5, temporal/W16.
func TestRun_WaitsForRuns(t *testing.T) {
	b := newBench(t)
	b.attempt(waitingForRuns("c1", "c2"), 0)
	b.child("c1", time.Hour, nil)
	b.child("c2", 2*time.Hour, temporal.NewNonRetryableApplicationError("failed", ErrTypeFailed, nil))
	b.attempt(done, 0)
	b.runsUntilDone(2 * time.Hour)
}

// TestRun_LooksForTheEndOfARunThatItDoesNotExecute: its workflow was canceled, or another workflow executes it.
func TestRun_LooksForTheEndOfARunThatItDoesNotExecute(t *testing.T) {
	b := newBench(t)
	b.attempt(waitingForRuns("c1"), 0)
	b.child("c1", time.Hour, temporal.NewCanceledError())
	b.attempt(waitingForRuns("c1"), 0) // at once
	b.attempt(waitingForRuns(""), 0)   // a minute later
	b.attempt(done, 0)
	b.runsUntilDone(time.Hour + 2*time.Minute)
}

// TestRun_TriesAgainToExecuteARunWhoseWorkflowIsAboutToEnd, or is another parent's.
func TestRun_TriesAgainToExecuteARunWhoseWorkflowIsAboutToEnd(t *testing.T) {
	b := newBench(t)
	b.attempt(waitingForRuns("c1"), 0)
	b.OnWorkflow(RunWorkflow, mock.Anything, mock.Anything).
		Return(RunResult{}, &temporal.ChildWorkflowExecutionAlreadyStartedError{}).Once()
	b.attempt(waitingForRuns("c1"), 0) // after 15 seconds
	b.child("c1", time.Hour, nil)
	b.attempt(done, 0)
	b.runsUntilDone(time.Hour + 15*time.Second)
}

// TestRun_ContinuesAsNew when its history is long, and not while it would lose a child.
// Rule temporal/W11.
func TestRun_ContinuesAsNew(t *testing.T) {
	var again *workflow.ContinueAsNewError
	b := newBench(t)
	b.SetContinueAsNewSuggested(true)
	b.attempt(waitingForRuns("c1"), 0)
	b.child("c1", time.Hour, nil)
	b.signal(time.Minute, ChangedSignal, Changed{})
	b.attempt(waitingForRuns("c1"), 0)
	took, err := b.run(RunOptions{StopGrace: time.Second})
	require.ErrorAs(t, err, &again)
	require.Equal(t, time.Hour, took)
	require.Equal(t, RunWorkflow, again.WorkflowType.Name)

	b = newBench(t)
	b.OnActivity(attemptActivity, mock.Anything, mock.Anything).
		Return(outcome{Status: runs.Ready, WakeIn: time.Second}, nil)
	took, err = b.run(RunOptions{})
	require.ErrorAs(t, err, &again)
	require.Equal(t, mostAttempts*time.Second, took)
}

// TestRun_SaysWhatItWaitsFor by search attributes, details and a query.
// Rule temporal/W12.
func TestRun_SaysWhatItWaitsFor(t *testing.T) {
	b := newBench(t)
	var shown []string
	b.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		a := args.Get(0).(temporal.SearchAttributes)
		status, _ := a.GetKeyword(statusAttribute)
		people, _ := a.GetKeywordList(waitingAttribute)
		shown = append(shown, fmt.Sprint(status, people))
	})
	o := waiting("p1", "p2")
	o.Details = "waits for ana"
	b.attempt(o, 0)
	b.at(time.Minute, func() {
		s := b.status()
		require.Equal(t, "r1", s.ID)
		require.Equal(t, "a", s.Agent)
		require.Equal(t, o.Waiting, s.Waiting)
		b.SignalWorkflow(ChangedSignal, Changed{Answered: []string{"p1", "p2"}})
	})
	b.attempt(done, 0)
	_, err := b.run(RunOptions{SearchAttributes: true})
	require.NoError(t, err)
	require.Equal(t, []string{"running[]", "waiting[ana]", "running[]", "done[]"}, shown)
}

// TestRun_GivesUpNothingIfTheStoreRefusesToStop it: it has ended.
func TestRun_GivesUpNothingIfTheStoreRefusesToStop(t *testing.T) {
	b := newBench(t)
	b.attempt(waiting("p"), 0)
	b.does(stopActivity, mock.Anything, notFound("r1"))
	b.signal(time.Minute, StopSignal, Stop{})
	b.OnActivity(attemptActivity, mock.Anything, mock.Anything).Return(outcome{}, notFound("r1")).Once()
	_, err := b.run(RunOptions{})
	require.True(t, isType(err, ErrTypeNotFound), "%v", err)
}

// TestRun_LooksAfterEachAnswerIfItDoesNotKnowAllQuestions, and only then.
// Rules temporal/W4, temporal/W6.
func TestRun_LooksAfterEachAnswerIfItDoesNotKnowAllQuestions(t *testing.T) {
	b := newBench(t)
	some := waiting("p1")
	some.More = 2
	b.attempt(some, 0)
	b.signal(time.Minute, ChangedSignal, Changed{Answered: []string{"p7"}})
	b.at(30*time.Second, func() { require.Equal(t, 2, b.status().More) })
	some.Waiting[0].Answered = true
	some.More = 1
	b.attempt(some, time.Minute)
	b.signal(90*time.Second, ChangedSignal, Changed{Answered: []string{"p8"}}) // is looked at afterwards
	b.attempt(some, 0)
	b.does(replyActivity, replyInput{"r1", Reply{To: "p9", Data: json.RawMessage(`"blue"`)}}, nil)
	b.update(time.Hour, "p9", "") // the store knows it
	b.attempt(done, 0)
	b.runsUntilDone(time.Hour)
}
