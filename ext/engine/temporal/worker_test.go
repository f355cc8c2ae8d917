package temporalengine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	temporalengine "github.com/weftgo/weft/ext/engine/temporal"
	"github.com/weftgo/weft/runs"
)

// TestPlugin_GivesAWorkerWhatItNeeds, instead of Register.
func TestPlugin_GivesAWorkerWhatItNeeds(t *testing.T) {
	c := dial(t, serverAddress(t))
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, says("one", "1"))}})
	e, err := temporalengine.New(c, d, confOf(t))
	require.NoError(t, err)
	plugin, err := e.Plugin()
	require.NoError(t, err)
	w := worker.New(c, e.TaskQueue(""), worker.Options{Plugins: []worker.Plugin{plugin}})
	require.NoError(t, w.Start())
	defer w.Stop()
	_, err = e.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	require.Equal(t, "done: 1", comesTo(t, e, "r", runs.Done).Message.Content)
}

// TestScheduleReconcile_MendsByItself what a process could not say. Making the schedule again changes nothing.
func TestScheduleReconcile_MendsByItself(t *testing.T) {
	c := dial(t, serverAddress(t))
	store := checkpoint.NewMemoryStore()
	store.Clock = func() time.Time { return time.Now().Add(-time.Hour) }
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": agentOf(t, says("one", "1"))}})
	conf := confOf(t)
	e := working(t, c, d, conf)
	require.NoError(t, e.ScheduleReconcile(t.Context(), time.Second))
	require.NoError(t, e.ScheduleReconcile(t.Context(), time.Second))
	defer func() {
		require.NoError(t, c.ScheduleClient().GetHandle(t.Context(), conf.IDPrefix+"reconcile").Delete(t.Context()))
	}()
	_, err := d.Submit(t.Context(), jobOf("r", "a"))
	require.NoError(t, err)
	require.Equal(t, "done: 1", comesTo(t, e, "r", runs.Done).Message.Content)
}
