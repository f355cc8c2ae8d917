package weft_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// TestAgent_IsRecordedOnceWhereverItRuns: an agent of this package that workers execute is executed as the agent of package adk
// that it has, and so the record of its run has each answer once.
// Rule runlog/RL4.
func TestAgent_IsRecordedOnceWhereverItRuns(t *testing.T) {
	agent := agentOf(t, weft.Config{Name: "desk", Tools: []weft.Tool{weather()}}, askWeather, adktest.Streams("It is ", "sunny."))
	log := runlog.New(runlog.Config{})
	d := dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{"desk": dispatch.RunnerOf(agent)}, Log: log})
	_, err := d.Submit(t.Context(), dispatch.Job{ID: "1", Agent: "desk", Messages: []*schema.Message{schema.UserMessage("hi")}})
	require.NoError(t, err)
	_, err = d.Execute(t.Context(), "1")
	require.NoError(t, err)
	has := map[string]int{}
	for e, err := range d.Events(t.Context(), "1", runs.Cursor{}) {
		require.NoError(t, err)
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.NotContains(t, string(data), `"aside":true`)
		for _, text := range []string{"sunny in Lisbon", "It is sunny."} {
			if strings.Contains(string(data), text) {
				has[text]++
			}
		}
	}
	require.Equal(t, 1, has["It is sunny."], "%v", has)
}
