package runlog_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/adk/runlog/runlogtest"
	"github.com/weftgo/weft/runs"
)

var sealKeys = checkpoint.OneKey("1", bytes.Repeat([]byte{7}, 32))

func TestSeal_Conforms(t *testing.T) {
	runlogtest.Run(t, func(*testing.T) runlog.Store { return runlog.Seal(runlog.NewMemoryStore(), sealKeys) })
}

// A reader of the store below learns nothing of what was said; with the key everything is as it was.
//
// Rules distributed/X1, distributed/X2, distributed/X5.
func TestSeal_ShowsNothingOfWhatWasSaid(t *testing.T) {
	const canary = "canary-7d1f"
	below := runlog.NewMemoryStore()
	log := runlog.New(runlog.Config{Store: runlog.Seal(below, sealKeys)})
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: true, Agent: agentOf(t, adk.ChatModelAgentConfig{
		Instruction: canary, Model: adktest.NewModel(t, adktest.Calls(adktest.Call("look", `{"at":"`+canary+`"}`)), adktest.Streams(canary, " is it"))},
		adktest.NewTool("look", adktest.Says(canary)))})
	for e := range r.Query(t.Context(), "a "+canary, runlog.Observe(log, runlog.About{ID: "run", Labels: map[string]string{"k": canary}})...).All() {
		require.NoError(t, e.Err)
	}
	require.NoError(t, log.Close(t.Context()))
	var there []runlog.Event
	for e, err := range below.Read(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		text, err := json.Marshal(e)
		require.NoError(t, err)
		require.NotContains(t, string(text), canary)
		there = append(there, e)
	}
	info, _, err := below.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.True(t, info.End.HasEnded(), "sweeps see that it has ended")
	said := 0
	for e, err := range runlog.Seal(below, sealKeys).Read(t.Context(), "run", runs.Cursor{}) {
		require.NoError(t, err)
		text, err := json.Marshal(e)
		require.NoError(t, err)
		said += bytes.Count(text, []byte(canary))
		require.Nil(t, e.Sealed)
	}
	require.Greater(t, said, 5)

	read := func(keys checkpoint.Keys) (err error) {
		for _, err = range runlog.Seal(below, keys).Read(t.Context(), "run", runs.Cursor{}) {
			if err != nil {
				break
			}
		}
		return err
	}
	require.ErrorIs(t, read(checkpoint.OneKey("2", bytes.Repeat([]byte{7}, 32))), checkpoint.ErrNoKey)
	require.ErrorIs(t, read(checkpoint.OneKey("1", bytes.Repeat([]byte{8}, 32))), checkpoint.ErrSealBroken)
	moved := there[0]
	moved.Run = "other"
	require.NoError(t, below.Append(t.Context(), "other", []runlog.Event{moved}))
	for _, err := range runlog.Seal(below, sealKeys).Read(t.Context(), "other", runs.Cursor{}) {
		require.ErrorIs(t, err, checkpoint.ErrSealBroken)
	}
}
