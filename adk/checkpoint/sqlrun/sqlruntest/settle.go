package sqlruntest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
)

var settleRules = map[string]func(*testing.T, *fixture){
	"done":                  settleDone,
	"waiting":               settleWaiting,
	"given back":            settleGivesBack,
	"children":              settleChildren,
	"a child answers":       childAnswers,
	"unknown status":        settleUnknown,
	"failed can be resumed": failedIsResumed,
	"counters":              counters,
}

func settleDone(t *testing.T, f *fixture) {
	l := f.begin(t, "id", checkpoint.NewRun{Records: [][]byte{[]byte("a")}})
	require.NoError(t, l.Set(t.Context(), "id", []byte("saved")))
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Done, Result: []byte("42"),
		DropRecords: true}))
	info := f.inspect(t, "id")
	require.Equal(t, checkpoint.Done, info.Status)
	require.Empty(t, info.Owner)
	require.Equal(t, l.Token(), info.Token)
	require.Equal(t, 24*time.Hour, info.Expires.Sub(info.Updated))
	require.Zero(t, info.Steps)
	require.EqualValues(t, 2, info.Bytes)
	_, ok, err := f.Get(t.Context(), "id")
	require.NoError(t, err)
	require.False(t, ok)
	records(t, f, "id")
	result, err := f.Result(t.Context(), "id")
	require.NoError(t, err)
	require.Equal(t, "42", string(result))
	result, err = f.Result(t.Context(), "other")
	require.NoError(t, err)
	require.Nil(t, result)
	f.pass(t, 48*time.Hour)
	f.nothingDue(t, checkpoint.Due{})
}

func settleWaiting(t *testing.T, f *fixture) {
	l := f.begin(t, "id", checkpoint.NewRun{Records: [][]byte{[]byte("a")}})
	points := []checkpoint.WaitPoint{
		{ID: "p\x00\xff", Address: "agent/tool", Kind: "approval", For: []string{"ana", "boss\x00"},
			Summary: "Pay 5 €? 100%",
			Info:    []byte(`{"amount":5}`), Since: time.UnixMilli(1).UTC(), Expires: time.UnixMilli(5).UTC()},
		{ID: "q", Optional: true, Summary: string(make([]byte, 499)) + "€", Info: make([]byte, 17<<10)},
	}
	f.pass(t, time.Second)
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: points,
		Checkpoint: []byte("saved"), DropRecords: true}))
	info := f.inspect(t, "id")
	require.Equal(t, checkpoint.Waiting, info.Status)
	require.Equal(t, points[0], info.Waiting[0])
	require.Equal(t, points[1].Summary[:499], info.Waiting[1].Summary)
	require.True(t, info.Waiting[1].Truncated && info.Waiting[1].Optional)
	require.Empty(t, info.Waiting[1].Info)
	require.True(t, info.Expires.IsZero())
	got, _, err := f.Get(t.Context(), "id")
	require.NoError(t, err)
	require.Equal(t, "saved", string(got))
	records(t, f, "id")
	f.nothingDue(t, checkpoint.Due{})

	l = f.take(t, "id")
	require.Equal(t, info.Waiting, l.Info().Waiting)
	f.status(t, "id", checkpoint.Waiting)
	require.NoError(t, l.AppendRecord(t.Context(), "id", nil))
	f.status(t, "id", checkpoint.Running)
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting, Waiting: points[:1]}))
	require.Len(t, f.inspect(t, "id").Waiting, 1)
	require.ErrorIs(t, f.Answer(t.Context(), "id", checkpoint.Answer{Point: "q"}), checkpoint.ErrNotWaiting)
}

func settleGivesBack(t *testing.T, f *fixture) {
	back := func(want checkpoint.Status) {
		t.Helper()
		require.NoError(t, f.take(t, "id").Settle(t.Context(), checkpoint.Settlement{}))
		f.status(t, "id", want)
	}
	f.submit(t, "id", checkpoint.NewRun{})
	back(checkpoint.Ready)
	l := f.take(t, "id")
	require.NoError(t, l.AppendRecord(t.Context(), "id", nil))
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{}))
	f.status(t, "id", checkpoint.Running)
	require.Equal(t, "id", f.due(t, checkpoint.Due{}), "a run that nobody holds is due")

	f.waitFor(t, "asks", checkpoint.WaitPoint{ID: "p"})
	l = f.take(t, "asks")
	require.NoError(t, f.Answer(t.Context(), "asks", checkpoint.Answer{Point: "p", Data: []byte("yes")}))
	f.nothingDue(t, checkpoint.Due{Agents: []string{""}, Queues: []string{""}})
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{}))
	f.status(t, "asks", checkpoint.Ready)

	f.waitFor(t, "dies", checkpoint.WaitPoint{ID: "p"})
	f.take(t, "dies")
	require.NoError(t, f.Answer(t.Context(), "dies", checkpoint.Answer{Point: "p"}))
	f.pass(t, time.Hour)
	require.Equal(t, "asks", f.due(t, checkpoint.Due{}))
	require.ElementsMatch(t, []string{"id", "dies"}, []string{f.due(t, checkpoint.Due{}), f.due(t, checkpoint.Due{})})
}

func settleChildren(t *testing.T, f *fixture) {
	f.submit(t, "there", checkpoint.NewRun{Agent: "old"})
	l := f.begin(t, "parent", checkpoint.NewRun{})
	child := checkpoint.NewRun{Agent: "new", Parent: "parent", ParentPoint: "p"}
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Waiting,
		Waiting:  []checkpoint.WaitPoint{{ID: "p"}},
		Children: []checkpoint.ChildRun{{ID: "child", Run: child}, {ID: "there", Run: child}}}))
	require.Equal(t, "new", f.inspect(t, "child").Agent)
	require.Equal(t, "parent", f.inspect(t, "child").Parent)
	require.Equal(t, "old", f.inspect(t, "there").Agent)
	require.Equal(t, []string{"child"}, listed(t, f, checkpoint.Query{Parent: "parent"}))
}

func childAnswers(t *testing.T, f *fixture) {
	f.waitFor(t, "parent", checkpoint.WaitPoint{ID: "one"}, checkpoint.WaitPoint{ID: "two"})
	one := f.begin(t, "child", checkpoint.NewRun{Parent: "parent", ParentPoint: "one"})
	two := f.begin(t, "failing", checkpoint.NewRun{Parent: "parent", ParentPoint: "two"})
	lost := f.begin(t, "orphan", checkpoint.NewRun{Parent: "nobody", ParentPoint: "x"})
	require.NoError(t, one.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Done, Answer: []byte("found")}))
	f.status(t, "parent", checkpoint.Waiting)
	require.NoError(t, two.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Failed, Err: "no"}))
	f.status(t, "parent", checkpoint.Ready)
	done(t, lost)
	l := f.take(t, "parent")
	answers, err := l.Answers(t.Context())
	require.NoError(t, err)
	require.Len(t, answers, 2)
	require.Equal(t, "found", string(answers[0].Data))
	require.Equal(t, "run child", answers[0].By)
	require.Nil(t, answers[1].Data)
}

func settleUnknown(t *testing.T, f *fixture) {
	l := f.begin(t, "id", checkpoint.NewRun{})
	require.ErrorContains(t, l.Settle(t.Context(), checkpoint.Settlement{Status: "running"}), "cannot be settled")
	done(t, l)
}

func failedIsResumed(t *testing.T, f *fixture) {
	l := f.begin(t, "id", checkpoint.NewRun{})
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("a")))
	require.NoError(t, l.Settle(t.Context(), checkpoint.Settlement{Status: checkpoint.Failed,
		Err: "the model\x00 is out", Keep: -1}))
	info := f.inspect(t, "id")
	require.Equal(t, "the model\x00 is out", info.Error)
	require.True(t, info.Expires.IsZero())
	require.ErrorIs(t, f.Stop(t.Context(), "id", checkpoint.StopRequest{}), checkpoint.ErrRunEnded)
	require.ErrorIs(t, f.Continue(t.Context(), "id"), checkpoint.ErrRunEnded)
	l = f.take(t, "id")
	records(t, l, "id", "a")
	f.status(t, "id", checkpoint.Failed)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("b")))
	f.status(t, "id", checkpoint.Running)
}

// counters: Steps and Bytes are what is there.
func counters(t *testing.T, f *fixture) {
	check := func(steps int, bytes int64) {
		t.Helper()
		info := f.inspect(t, "id")
		require.Equal(t, steps, info.Steps)
		require.Equal(t, bytes, info.Bytes)
	}
	l := f.begin(t, "id", checkpoint.NewRun{Records: [][]byte{[]byte("12"), nil}})
	check(2, 2)
	require.NoError(t, l.Set(t.Context(), "id", []byte("12345")))
	check(2, 7)
	require.NoError(t, l.Set(t.Context(), "id", []byte("1")))
	check(2, 3)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("123")))
	check(3, 6)
	require.NoError(t, l.RemoveRecords(t.Context(), "id"))
	check(0, 1)
	require.NoError(t, l.AppendRecord(t.Context(), "id", []byte("4")))
	records(t, l, "id", "4")
	require.NoError(t, l.Delete(t.Context(), "id"))
	check(1, 1)
}
