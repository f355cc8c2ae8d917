package sqlruntest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

var inboxRules = map[string]func(*testing.T, *fixture){
	"submit":                  submit,
	"submit at once":          submitAtOnce,
	"submit in a transaction": submitTx,
	"one of many answers":     oneAnswer,
	"all answers or none":     allAnswersOrNone,
	"optional questions":      optionalQuestions,
	"answers are kept":        answersAreKept,
	"stop":                    stop,
	"stop children":           stopChildren,
}

func submit(t *testing.T, f *fixture) {
	run := checkpoint.NewRun{Agent: "agent", Queue: "queue", Key: "key\x00", Parent: "parent", ParentPoint: "p",
		Priority: 3,
		Tags:     map[string]string{"a%": "b\xff"}, Build: "v1", Trace: "00-1", Records: [][]byte{[]byte("one")},
		Deadline: time.UnixMicro(1800000000000000)}
	info := f.submit(t, "id", run)
	require.Equal(t, checkpoint.Ready, info.Status)
	got := f.inspect(t, "id")
	require.Equal(t, info, got)
	require.Equal(t, []any{"agent", "queue", "key\x00", "parent", 3, run.Tags, "v1", "00-1", run.Deadline, 1},
		[]any{got.Agent, got.Queue, got.Key, got.Parent, got.Priority, got.Tags, got.Build, got.Trace, got.Deadline,
			got.Steps})
	records(t, f, "id", "one")
	again, err := f.Submit(t.Context(), "id", checkpoint.NewRun{Agent: "other"})
	require.ErrorIs(t, err, checkpoint.ErrRunExists)
	require.Equal(t, info, again)
	tags := map[string]string{}
	for i := range 17 {
		tags[fmt.Sprint(i)] = ""
	}
	_, err = f.Submit(t.Context(), "tags", checkpoint.NewRun{Tags: tags})
	require.ErrorContains(t, err, "at most 16")
	_, ok, err := f.Inspect(t.Context(), "tags")
	require.NoError(t, err)
	require.False(t, ok)
}

func submitAtOnce(t *testing.T, f *fixture) {
	var made, exists atomic.Int64
	together(16, func(i int) {
		switch _, err := f.Submit(t.Context(), "id", checkpoint.NewRun{Records: [][]byte{fmt.Append(nil, i)}}); {
		case err == nil:
			made.Add(1)
		case errors.Is(err, checkpoint.ErrRunExists):
			exists.Add(1)
		default:
			t.Error(err)
		}
	})
	require.EqualValues(t, 1, made.Load())
	require.EqualValues(t, 15, exists.Load())
	require.Equal(t, 1, f.inspect(t, "id").Steps)
}

func submitTx(t *testing.T, f *fixture) {
	for _, commit := range []bool{false, true} {
		tx, err := f.conf.DB.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		info, err := f.SubmitTx(t.Context(), tx, "id", checkpoint.NewRun{Agent: "a"})
		require.NoError(t, err)
		require.Equal(t, checkpoint.Ready, info.Status)
		_, err = f.SubmitTx(t.Context(), tx, "id", checkpoint.NewRun{Agent: "a"})
		require.ErrorIs(t, err, checkpoint.ErrRunExists)
		if commit {
			require.NoError(t, tx.Commit())
		} else {
			require.NoError(t, tx.Rollback())
		}
		_, ok, err := f.Inspect(t.Context(), "id")
		require.NoError(t, err)
		require.Equal(t, commit, ok)
	}
}

func oneAnswer(t *testing.T, f *fixture) {
	f.waitFor(t, "id", checkpoint.WaitPoint{ID: "p"}, checkpoint.WaitPoint{ID: "other"})
	var taken, refused atomic.Int64
	together(32, func(i int) {
		a := checkpoint.Answer{Point: "p", Data: fmt.Append(nil, i), JSON: true, By: "ana"}
		switch err := f.Answer(t.Context(), "id", a); {
		case err == nil:
			taken.Add(1)
		case errors.Is(err, checkpoint.ErrAnswered):
			refused.Add(1)
		default:
			t.Error(err)
		}
	})
	require.EqualValues(t, 1, taken.Load())
	require.EqualValues(t, 31, refused.Load())
	f.status(t, "id", checkpoint.Waiting)
	require.NoError(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "other"}))
	f.status(t, "id", checkpoint.Ready)
	err := f.Answer(t.Context(), "id", checkpoint.Answer{Point: "other"})
	require.ErrorIs(t, err, checkpoint.ErrAnswered)
	var state *checkpoint.RunError
	require.ErrorAs(t, err, &state)
	require.Equal(t, checkpoint.Ready, state.Info.Status)
	require.Len(t, state.Info.Waiting, 2)
	require.Equal(t, "id", f.due(t, checkpoint.Due{}))
}

func allAnswersOrNone(t *testing.T, f *fixture) {
	f.waitFor(t, "id", checkpoint.WaitPoint{ID: "p"}, checkpoint.WaitPoint{ID: "q"})
	require.ErrorIs(t, f.Answer(t.Context(), "none", checkpoint.Answer{Point: "p"}), checkpoint.ErrNotFound)
	require.ErrorIs(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "p"}, checkpoint.Answer{Point: "x"}),
		checkpoint.ErrNotWaiting)
	require.ErrorIs(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "p"}, checkpoint.Answer{Point: "p"}),
		checkpoint.ErrAnswered)
	require.False(t, f.inspect(t, "id").Waiting[0].Answered)
	require.NoError(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "p"}, checkpoint.Answer{Point: "q"}))
	f.status(t, "id", checkpoint.Ready)
	l := f.take(t, "id")
	require.NoError(t, l.AppendRecord(t.Context(), "id", nil))
	require.ErrorIs(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "x"}), checkpoint.ErrNotWaiting)
	done(t, l)
	require.ErrorIs(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "p"}), checkpoint.ErrNotWaiting)
}

func optionalQuestions(t *testing.T, f *fixture) {
	f.waitFor(t, "some", checkpoint.WaitPoint{ID: "needed"}, checkpoint.WaitPoint{ID: "optional", Optional: true})
	require.NoError(t, f.Answer(t.Context(), "some", checkpoint.Answer{Point: "optional"}))
	f.status(t, "some", checkpoint.Waiting)
	require.NoError(t, f.Answer(t.Context(), "some", checkpoint.Answer{Point: "needed"}))
	f.status(t, "some", checkpoint.Ready)
	f.waitFor(t, "all", checkpoint.WaitPoint{ID: "a", Optional: true}, checkpoint.WaitPoint{ID: "b", Optional: true})
	require.NoError(t, f.Answer(t.Context(), "all", checkpoint.Answer{Point: "b"}))
	f.status(t, "all", checkpoint.Ready)
}

func answersAreKept(t *testing.T, f *fixture) {
	f.waitFor(t, "id", checkpoint.WaitPoint{ID: "p"})
	require.NoError(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "p", Data: []byte(`"yes"`), JSON: true,
		By: "ana\x00"}))
	want := []checkpoint.Answer{{Point: "p", Data: []byte(`"yes"`), JSON: true, By: "ana\x00", At: f.inspect(t,
		"id").Updated}}
	for range 2 {
		l := f.take(t, "id")
		require.NoError(t, l.AppendRecord(t.Context(), "id", nil))
		answers, err := l.Answers(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, answers)
		f.pass(t, time.Hour) // it dies
	}
	l := f.take(t, "id")
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Ready}))
	l = f.take(t, "id")
	answers, err := l.Answers(t.Context())
	require.NoError(t, err)
	require.Empty(t, answers)
}

func stop(t *testing.T, f *fixture) {
	how := checkpoint.StopRequest{Immediate: true, Timeout: time.Second, Reason: "lunch", By: "ana"}
	require.ErrorIs(t, f.Stop(t.Context(), "none", how), checkpoint.ErrNotFound)
	for name, sign := range map[string]func(l checkpoint.Lease) error{
		"append": func(l checkpoint.Lease) error { return l.AppendRecord(t.Context(), "append", nil) },
		"renew":  func(l checkpoint.Lease) error { return l.Renew(t.Context()) },
	} {
		l := f.begin(t, name, checkpoint.NewRun{})
		require.NoError(t, f.Stop(t.Context(), name, checkpoint.StopRequest{Reason: "breakfast"}))
		require.NoError(t, f.Stop(t.Context(), name, how))
		require.NoError(t, sign(l))
		require.Equal(t, how, <-l.Stops())
		f.pass(t, time.Hour)
		next := f.take(t, name)
		require.Equal(t, how, <-next.Stops(), "whoever takes the run over is asked, too")
		require.NoError(t, next.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Paused}))
		f.status(t, name, checkpoint.Paused)
		require.NoError(t, f.Stop(t.Context(), name, how))
		require.NoError(t, f.Continue(t.Context(), name))
		require.NoError(t, f.Continue(t.Context(), name))
		require.Equal(t, name, f.due(t, checkpoint.Due{}))
		require.NoError(t, f.Remove(t.Context(), name, true))
	}
	f.waitFor(t, "asks", checkpoint.WaitPoint{ID: "p"})
	require.NoError(t, f.Stop(t.Context(), "asks", how))
	info := f.inspect(t, "asks")
	require.Equal(t, checkpoint.Paused, info.Status)
	require.Equal(t, "lunch", info.Error)
	require.Equal(t, 30*24*time.Hour, info.Expires.Sub(info.Updated))
	require.NoError(t, f.Continue(t.Context(), "asks"))
	f.status(t, "asks", checkpoint.Waiting)
	require.NoError(t, f.Answer(t.Context(), "asks", checkpoint.Answer{Point: "p"}))
	f.status(t, "asks", checkpoint.Ready)
}

func stopChildren(t *testing.T, f *fixture) {
	f.waitFor(t, "top", checkpoint.WaitPoint{ID: "p"})
	f.submit(t, "child", checkpoint.NewRun{Parent: "top", ParentPoint: "p"})
	l := f.begin(t, "grandchild", checkpoint.NewRun{Parent: "child", ParentPoint: "p"})
	f.submit(t, "stranger", checkpoint.NewRun{})
	require.NoError(t, f.Stop(t.Context(), "top", checkpoint.StopRequest{Children: true}))
	f.status(t, "top", checkpoint.Paused)
	f.status(t, "child", checkpoint.Paused)
	f.status(t, "stranger", checkpoint.Ready)
	require.NoError(t, l.Renew(t.Context()))
	require.True(t, (<-l.Stops()).Children)
}
