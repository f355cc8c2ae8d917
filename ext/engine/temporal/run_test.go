package temporalengine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/runs"
)

var record = flag.Bool("record", false, "write the histories in testdata")

// comesTo waits until a run has a status.
func comesTo(t *testing.T, e *temporalengine.Engine, id string, status runs.Status) dispatch.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		o, err := e.Wait(ctx, id)
		require.NoError(t, err)
		if o.Status == status {
			return o
		}
		require.NotContains(t, []runs.Status{runs.Done, runs.Failed}, o.Status, "%v", o.Err)
		time.Sleep(20 * time.Millisecond)
	}
}

// statusIs waits until the workflow knows of a status.
func statusIs(t *testing.T, c client.Client, workflow string, status runs.Status) (s temporalengine.Status) {
	t.Helper()
	require.Eventually(t, func() bool {
		value, err := c.QueryWorkflow(t.Context(), workflow, "", temporalengine.StatusQuery)
		return err == nil && value.Get(&s) == nil && s.Status == status
	}, 30*time.Second, 20*time.Millisecond)
	return s
}

func answer(t *testing.T, e *temporalengine.Engine, id string, value any) {
	t.Helper()
	o := comesTo(t, e, id, runs.Waiting)
	a, err := runs.EncodeReply(o.Questions[0].ID, value)
	require.NoError(t, err)
	require.NoError(t, e.Reply(t.Context(), id, a))
}

// historyOf is the history of a workflow that has ended. With -record one with a name becomes testdata.
func historyOf(t *testing.T, c client.Client, workflow, name string) *history.History {
	t.Helper()
	err := c.GetWorkflow(t.Context(), workflow, "").Get(t.Context(), nil)
	require.True(t, err == nil || isType(err, temporalengine.ErrTypeFailed) || temporal.IsCanceledError(err), "%v", err)
	h := &history.History{}
	events := c.GetWorkflowHistory(t.Context(), workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		h.Events = append(h.Events, e)
	}
	if *record && name != "" {
		data, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
		require.NoError(t, err)
		host, err := os.Hostname() // which is in the names of queues
		require.NoError(t, err)
		data = bytes.ReplaceAll(data, []byte(`"name": "`+host+":"), []byte(`"name": "test:`))
		require.NoError(t, os.WriteFile(filepath.Join("testdata", name+".json"), data, 0o644))
	}
	return h
}

func isType(err error, errType string) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.Type() == errType
}

// TestEngine_ASmallHistory: of six calls of a model, five of tools and a question, Temporal has a few events, and
// nothing of what was said.
// Rules temporal/W2, temporal/W11, temporal/W14.
func TestEngine_ASmallHistory(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t,
		says("one", "the secret is: 1"), says("two", "2"), asks("ask"), says("three", "3"),
		says("four", "the secret is: 4"))}})
	e := working(t, c, d, confOf(t))
	begun := time.Now()
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	comesTo(t, e, "r", runs.Waiting)
	t.Logf("the first attempt took %s", time.Since(begun).Round(time.Millisecond))
	statusIs(t, c, e.WorkflowID("r"), runs.Waiting) // an answer that comes sooner is another workflow task
	answer(t, e, "r", "blue")
	require.Equal(t, "done: the secret is: 4", comesTo(t, e, "r", runs.Done).Message.Content)

	h := historyOf(t, c, e.WorkflowID("r"), "question")
	size := 0
	for _, event := range h.Events {
		size += event.Size()
		require.NotContains(t, event.String(), "secret")
	}
	t.Logf("%d events of %d bytes", len(h.Events), size)
	require.LessOrEqual(t, len(h.Events), 1+2*10, "10 an attempt")
	require.LessOrEqual(t, size, 8<<10)
}

// TestEngine_AnswersByUpdate: who has no store but Temporal. What cannot be an answer leaves no event.
// Rule temporal/W6.
func TestEngine_AnswersByUpdate(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	s := statusIs(t, c, e.WorkflowID("r"), runs.Waiting)
	require.Len(t, s.Waiting, 1)
	require.Equal(t, runs.KindQuestion, s.Waiting[0].Kind)

	update := func(point string) error {
		h, err := c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: e.WorkflowID("r"),
			UpdateName: temporalengine.ReplyUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
			Args: []any{temporalengine.Reply{To: point, Data: json.RawMessage(`"blue"`), By: "ana"}}})
		if err != nil {
			return err
		}
		return h.Get(t.Context(), nil)
	}
	for range 3 {
		require.True(t, isType(update("nothing"), temporalengine.ErrTypeNotWaiting))
	}
	require.NoError(t, update(s.Waiting[0].ID))
	require.Equal(t, "done: blue", comesTo(t, e, "r", runs.Done).Message.Content)
	h := historyOf(t, c, e.WorkflowID("r"), "update")
	updates := 0
	for _, event := range h.Events {
		if strings.Contains(event.EventType.String(), "Update") {
			updates++
		}
	}
	require.Equal(t, 2, updates, "accepted and completed")
	require.LessOrEqual(t, len(h.Events), 24)
}

// TestEngine_ARunThatWaitsForAnotherIsItsParent. A signal stops both, and another has both continue.
// Rules temporal/W5, temporal/W7.
func TestEngine_ARunThatWaitsForAnotherIsItsParent(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{
		"a": agentOf(t, dispatch.AsRun("b", "b")), "b": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	s := statusIs(t, c, e.WorkflowID("r"), runs.Waiting)
	child := s.Waiting[0].Child
	statusIs(t, c, e.WorkflowID(child), runs.Waiting)
	described, err := c.DescribeWorkflowExecution(t.Context(), e.WorkflowID(child), "")
	require.NoError(t, err)
	require.Equal(t, e.WorkflowID("r"), described.WorkflowExecutionInfo.ParentExecution.WorkflowId)

	require.NoError(t, c.SignalWorkflow(t.Context(), e.WorkflowID("r"), "", temporalengine.StopSignal,
		temporalengine.Stop{Reason: "lunch", Children: true}))
	statusIs(t, c, e.WorkflowID("r"), runs.Paused)
	statusIs(t, c, e.WorkflowID(child), runs.Paused)
	require.NoError(t, c.SignalWorkflow(t.Context(), e.WorkflowID("r"), "", temporalengine.ContinueSignal, nil))
	statusIs(t, c, e.WorkflowID("r"), runs.Waiting)
	answer(t, e, child, "blue")
	require.Equal(t, "done: done: blue", comesTo(t, e, "r", runs.Done).Message.Content)
	historyOf(t, c, e.WorkflowID("r"), "child")
}

// TestEngine_ACanceledWorkflowIsAPausedRun, which continues in another workflow, with its child.
// Rule temporal/W7.
func TestEngine_ACanceledWorkflowIsAPausedRun(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{
		"a": agentOf(t, dispatch.AsRun("b", "b")), "b": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	child := statusIs(t, c, e.WorkflowID("r"), runs.Waiting).Waiting[0].Child
	statusIs(t, c, e.WorkflowID(child), runs.Waiting)
	require.NoError(t, c.CancelWorkflow(t.Context(), e.WorkflowID("r"), ""))
	historyOf(t, c, e.WorkflowID("r"), "canceled")
	comesTo(t, e, "r", runs.Paused)
	comesTo(t, e, child, runs.Paused)
	require.NoError(t, e.Continue(t.Context(), "r"))
	answer(t, e, child, "blue")
	require.Equal(t, "done: done: blue", comesTo(t, e, "r", runs.Done).Message.Content)
}

// TestEngine_ARunThatIsContinuedAloneSignalsItsEnd to the run that waits for it, and is not executed by that one.
// Rule temporal/W5.
func TestEngine_ARunThatIsContinuedAloneSignalsItsEnd(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{
		"a": agentOf(t, dispatch.AsRun("b", "b")), "b": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	child := statusIs(t, c, e.WorkflowID("r"), runs.Waiting).Waiting[0].Child
	statusIs(t, c, e.WorkflowID(child), runs.Waiting)
	require.NoError(t, c.CancelWorkflow(t.Context(), e.WorkflowID(child), ""))
	require.Error(t, c.GetWorkflow(t.Context(), e.WorkflowID(child), "").Get(t.Context(), nil))
	require.NoError(t, e.Continue(t.Context(), child))
	statusIs(t, c, e.WorkflowID(child), runs.Waiting)
	// Another workflow of the parent finds the child's.
	require.NoError(t, c.CancelWorkflow(t.Context(), e.WorkflowID("r"), ""))
	require.Error(t, c.GetWorkflow(t.Context(), e.WorkflowID("r"), "").Get(t.Context(), nil))
	require.NoError(t, e.Continue(t.Context(), "r"))
	statusIs(t, c, e.WorkflowID("r"), runs.Waiting)
	answer(t, e, child, "blue")
	begun := time.Now()
	require.Equal(t, "done: done: blue", comesTo(t, e, "r", runs.Done).Message.Content)
	require.Less(t, time.Since(begun), 10*time.Second)
	h := historyOf(t, c, e.WorkflowID("r"), "child-of-others")
	require.True(t, slices.ContainsFunc(h.Events, func(e *history.HistoryEvent) bool {
		return e.EventType == enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED
	}))
}

// TestEngine_ACanceledWorkflowStopsAtASafePoint: the call that is in flight ends, and is not made again.
// Rule temporal/W7.
func TestEngine_ACanceledWorkflowStopsAtASafePoint(t *testing.T) {
	c := dial(t, serverAddress(t))
	work := newSlow()
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{
		Agents: dispatch.Agents{"a": agentOf(t, work.tool("work"), says("rest", "rested"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	<-work.entered
	require.NoError(t, c.CancelWorkflow(t.Context(), e.WorkflowID("r"), ""))
	time.Sleep(300 * time.Millisecond)
	close(work.open)
	historyOf(t, c, e.WorkflowID("r"), "canceled-attempt")
	comesTo(t, e, "r", runs.Paused)
	require.NoError(t, e.Continue(t.Context(), "r"))
	require.Equal(t, "done: rested", comesTo(t, e, "r", runs.Done).Message.Content)
	require.Empty(t, work.entered)
}

// TestEngine_AWorkerThatEndsGivesItsRunsBack: the call that is in flight ends, and another worker continues.
// Rule temporal/W8.
func TestEngine_AWorkerThatEndsGivesItsRunsBack(t *testing.T) {
	c := dial(t, serverAddress(t))
	work := newSlow()
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{
		Agents: dispatch.Agents{"a": agentOf(t, work.tool("work"), says("rest", "rested"))}})
	e, err := temporalengine.New(c, d, confOf(t))
	require.NoError(t, err)
	stop := startWorker(t, c, e)
	_, err = e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	<-work.entered
	time.AfterFunc(300*time.Millisecond, func() { close(work.open) })
	stop()
	info, _, err := e.Inspect(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, runs.Ready, info.Status)
	startWorker(t, c, e)
	require.Equal(t, "done: rested", comesTo(t, e, "r", runs.Done).Message.Content)
	require.Empty(t, work.entered)
	historyOf(t, c, e.WorkflowID("r"), "moved")
}

// TestReconcile_FailsRunsWhoseWorkflowWasTerminated, and signals those that wait for them.
// Rule temporal/W7.
func TestReconcile_FailsRunsWhoseWorkflowWasTerminated(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{
		"a": agentOf(t, dispatch.AsRun("b", "b")), "b": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	child := statusIs(t, c, e.WorkflowID("r"), runs.Waiting).Waiting[0].Child
	statusIs(t, c, e.WorkflowID(child), runs.Waiting)
	require.NoError(t, c.TerminateWorkflow(t.Context(), e.WorkflowID(child), "", "by mistake"))
	require.Eventually(t, func() bool {
		done, err := e.Reconcile(t.Context())
		require.NoError(t, err)
		return done.Failed == 1
	}, 20*time.Second, 100*time.Millisecond)
	o, err := e.Wait(t.Context(), child)
	require.NoError(t, err)
	require.EqualError(t, o.Err, temporalengine.ErrTerminated.Error())
	require.Eventually(t, func() bool {
		info, _, err := e.Inspect(t.Context(), "r")
		require.NoError(t, err)
		return info.Status == runs.Failed
	}, 20*time.Second, 20*time.Millisecond)
	done, err := e.Reconcile(t.Context())
	require.NoError(t, err)
	require.Zero(t, done)
}

// TestReconcile_ExecutesWhatItsProcessCouldNotSay: a run that was submitted, and one that was answered, in the store
// alone.
// Rule temporal/W2.
func TestReconcile_ExecutesWhatItsProcessCouldNotSay(t *testing.T) {
	c := dial(t, serverAddress(t))
	store := checkpoint.NewMemoryStore()
	ago := time.Hour
	store.Clock = func() time.Time { return time.Now().Add(-ago) }
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := d.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	done, err := e.Reconcile(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, done.Signaled)
	point := statusIs(t, c, e.WorkflowID("r"), runs.Waiting).Waiting[0].ID
	a, err := runs.EncodeReply(point, "blue")
	require.NoError(t, err)
	require.NoError(t, d.Reply(t.Context(), "r", a))
	done, err = e.Reconcile(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, done.Signaled)
	require.Equal(t, "done: blue", comesTo(t, e, "r", runs.Done).Message.Content)
	done, err = e.Reconcile(t.Context())
	require.NoError(t, err)
	require.Zero(t, done)
}

// TestReconcile_RemovesWhatIsKeptNoLonger: runs and events, which no worker of Temporal's does.
// Rules distributed/C2, runlog/E10.
func TestReconcile_RemovesWhatIsKeptNoLonger(t *testing.T) {
	c := dial(t, serverAddress(t))
	store, events := checkpoint.NewMemoryStore(), runlog.NewMemoryStore()
	store.Retention = runs.Retention{Done: time.Millisecond}
	recorded := runlog.New(runlog.Config{Store: events})
	t.Cleanup(func() { require.NoError(t, recorded.Close(context.WithoutCancel(t.Context()))) })
	d := dispatch.New(store, dispatch.Config{Log: recorded,
		Agents: dispatch.Agents{"a": agentOf(t, says("one", "1")), "b": agentOf(t, asks("ask"))}})
	conf := confOf(t)
	conf.KeepEvents = time.Millisecond
	e := working(t, c, d, conf)
	for id, agent := range map[string]string{"done": "a", "waits": "b"} {
		_, err := e.Submit(t.Context(), jobOf(id, agent))
		require.NoError(t, err)
	}
	comesTo(t, e, "waits", runs.Waiting)
	require.NoError(t, c.GetWorkflow(t.Context(), e.WorkflowID("done"), "").Get(t.Context(), nil))
	require.NoError(t, e.ScheduleReconcile(t.Context(), time.Second))
	defer func() {
		require.NoError(t, c.ScheduleClient().GetHandle(t.Context(), conf.IDPrefix+"reconcile").Delete(t.Context()))
	}()
	require.Eventually(t, func() bool {
		_, exists, err := e.Inspect(t.Context(), "done")
		require.NoError(t, err)
		logs := []string{}
		for log, err := range events.List(t.Context(), runlog.Query{}) {
			require.NoError(t, err)
			logs = append(logs, log.Run)
		}
		return !exists && slices.Equal(logs, []string{"waits"})
	}, 30*time.Second, 50*time.Millisecond)
	comesTo(t, e, "waits", runs.Waiting)
}

// TestEngine_SearchAttributesFindWhatWaits.
// Rule temporal/W12.
func TestEngine_SearchAttributesFindWhatWaits(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, asks("ask"))}})
	conf := confOf(t)
	conf.SearchAttributes = true
	e := working(t, c, d, conf)
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		n, err := c.CountWorkflow(t.Context(), countOf(`WeftStatus = 'waiting' AND WeftAgent = 'a' AND TaskQueue = '`+
			conf.TaskQueue+`'`))
		require.NoError(t, err)
		return n.Count == 1
	}, 20*time.Second, 50*time.Millisecond)
	answer(t, e, "r", "blue")
	comesTo(t, e, "r", runs.Done)
}

// TestEngine_RemovedRunsEndTheirWorkflows.
func TestEngine_RemovedRunsEndTheirWorkflows(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, asks("ask"))}})
	e := working(t, c, d, confOf(t))
	_, err := e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	comesTo(t, e, "r", runs.Waiting)
	require.NoError(t, e.Remove(t.Context(), "r", false))
	err = c.GetWorkflow(t.Context(), e.WorkflowID("r"), "").Get(t.Context(), nil)
	require.True(t, isType(err, temporalengine.ErrTypeNotFound), "%v", err)

	_, err = e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err, "the ID is free again")
	answer(t, e, "r", "blue")
	comesTo(t, e, "r", runs.Done)
	require.NoError(t, e.Remove(t.Context(), "r", false))
	require.NoError(t, c.GetWorkflow(t.Context(), e.WorkflowID("r"), "").Get(t.Context(), nil))
	_, err = e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err, "also behind a run that was done")
	comesTo(t, e, "r", runs.Waiting)
}

// TestEngine_RunsOfAQueueAreExecutedByItsWorkers.
// Rule temporal/W2.
func TestEngine_RunsOfAQueueAreExecutedByItsWorkers(t *testing.T) {
	c := dial(t, serverAddress(t))
	store := checkpoint.NewMemoryStore()
	conf := confOf(t)
	front, err := temporalengine.New(c, dispatch.New(store, dispatch.Config{}), conf)
	require.NoError(t, err)
	job := jobOf("r", "a")
	job.Queue = "gpu"
	_, err = front.Submit(t.Context(), job)
	require.NoError(t, err)
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, says("one", "1"))}})
	e, err := temporalengine.New(c, d, conf)
	require.NoError(t, err)
	startWorkerOf(t, c, e, "gpu")
	require.Equal(t, "done: 1", comesTo(t, front, "r", runs.Done).Message.Content)
}
