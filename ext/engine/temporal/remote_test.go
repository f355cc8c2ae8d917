package temporalengine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestRemoteTool_IsCalledOnce, although its run gives its worker back, and another worker takes it over.
// Rule temporal/W10.
func TestRemoteTool_IsCalledOnce(t *testing.T) {
	c := dial(t, serverAddress(t))
	for name, standalone := range map[string]bool{"workflow": false, "standalone activity": true} {
		t.Run(name, func(t *testing.T) {
			conf := confOf(t)
			var calls atomic.Int32
			open := make(chan struct{})
			w := worker.New(c, conf.TaskQueue+" pay", worker.Options{})
			temporalengine.RegisterCalls(w)
			w.RegisterActivityWithOptions(func(_ context.Context, call temporalengine.RemoteCall) (string, error) {
				calls.Add(1)
				<-open
				return "paid " + string(call.Arguments), nil
			}, activity.RegisterOptions{Name: "pay"})
			require.NoError(t, w.Start())
			defer w.Stop()
			pay, err := temporalengine.RemoteTool(c, &schema.ToolInfo{Name: "pay", Desc: "Pays."}, temporalengine.RemoteOptions{
				TaskQueue: conf.TaskQueue + " pay", IDPrefix: conf.IDPrefix, ReleaseAfter: 2 * time.Second, Standalone: standalone})
			require.NoError(t, err)
			store := checkpoint.NewMemoryStore()
			d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, pay)}})
			e, err := temporalengine.New(c, d, conf)
			require.NoError(t, err)
			stop := startWorker(t, c, e)
			_, err = e.Submit(t.Context(), jobOf("r", "a"))
			require.NoError(t, err)
			o := comesTo(t, e, "r", runs.Waiting)
			require.Equal(t, runs.KindTimer, o.Questions[0].Kind)
			stop()
			startWorker(t, c, e)
			time.AfterFunc(3*time.Second, func() { close(open) })
			require.Equal(t, `done: paid {"request":"do it"}`, comesTo(t, e, "r", runs.Done).Message.Content)
			require.EqualValues(t, 1, calls.Load())
		})
	}
}

// TestRemoteTool_FailsWithItsActivity.
func TestRemoteTool_FailsWithItsActivity(t *testing.T) {
	c := dial(t, serverAddress(t))
	conf := confOf(t)
	pay, err := temporalengine.RemoteTool(c, &schema.ToolInfo{Name: "pay", Desc: "Pays."}, temporalengine.RemoteOptions{
		TaskQueue: conf.TaskQueue, IDPrefix: conf.IDPrefix})
	require.NoError(t, err)
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, pay)}})
	e, err := temporalengine.New(c, d, conf)
	require.NoError(t, err)
	w := worker.New(c, e.TaskQueue(""), worker.Options{})
	e.Register(w)
	w.RegisterActivityWithOptions(func(context.Context, temporalengine.RemoteCall) (string, error) {
		return "", temporal.NewNonRetryableApplicationError("no such account", "account", nil)
	}, activity.RegisterOptions{Name: "pay"})
	require.NoError(t, w.Start())
	defer w.Stop()
	_, err = e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	o, err := e.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, runs.Failed, o.Status)
	require.ErrorContains(t, o.Err, "no such account")
}

func TestRemoteTool_NeedsAName(t *testing.T) {
	_, err := temporalengine.RemoteTool(nil, nil, temporalengine.RemoteOptions{})
	require.ErrorContains(t, err, "the client is nil")
	_, err = temporalengine.RemoteTool(lazyClient(t), &schema.ToolInfo{}, temporalengine.RemoteOptions{})
	require.ErrorContains(t, err, "needs a name")
	_, err = temporalengine.RemoteTool(lazyClient(t), &schema.ToolInfo{Name: "pay"},
		temporalengine.RemoteOptions{ReleaseAfter: time.Second})
	require.ErrorContains(t, err, "2s is the least")
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{})
	_, err := temporalengine.New(nil, d, temporalengine.Config{})
	require.ErrorContains(t, err, "the client is nil")
	c := lazyClient(t)
	_, err = temporalengine.New(c, nil, temporalengine.Config{})
	require.ErrorContains(t, err, "the dispatcher is nil")
	_, err = temporalengine.New(c, d, temporalengine.Config{Heartbeat: time.Millisecond})
	require.ErrorContains(t, err, "Heartbeat is 1ms")
	_, err = temporalengine.New(c, d, temporalengine.Config{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}})
	require.ErrorContains(t, err, "tries once only")
}

// TestRemoteTool_FailsIfItsResultIsTooLarge for a history, and its activity is not tried again.
// Rule temporal/W10.
func TestRemoteTool_FailsIfItsResultIsTooLarge(t *testing.T) {
	c := dial(t, serverAddress(t))
	for name, standalone := range map[string]bool{"workflow": false, "standalone activity": true} {
		for _, size := range []int{3 << 20, 6 << 20} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				conf := confOf(t)
				pay, err := temporalengine.RemoteTool(c, &schema.ToolInfo{Name: "pay", Desc: "Pays."}, temporalengine.RemoteOptions{
					TaskQueue: conf.TaskQueue, IDPrefix: conf.IDPrefix, Standalone: standalone})
				require.NoError(t, err)
				d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, pay)}})
				e, err := temporalengine.New(c, d, conf)
				require.NoError(t, err)
				w := worker.New(c, e.TaskQueue(""), worker.Options{})
				e.Register(w)
				var calls atomic.Int32
				w.RegisterActivityWithOptions(func(context.Context, temporalengine.RemoteCall) (string, error) {
					calls.Add(1)
					return strings.Repeat("x", size), nil
				}, activity.RegisterOptions{Name: "pay"})
				require.NoError(t, w.Start())
				defer w.Stop()
				_, err = e.Submit(t.Context(), jobOf("r", "a"))
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				o, err := e.Wait(ctx, "r")
				require.NoError(t, err)
				require.Equal(t, runs.Failed, o.Status)
				require.ErrorContains(t, o.Err, "size")
				require.EqualValues(t, 1, calls.Load())
			})
		}
	}
}
