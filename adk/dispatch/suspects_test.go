package dispatch_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// storeOfWorkers says to a process of this test where its store is.
const storeOfWorkers = "WEFT_TEST_STORE_OF_WORKERS"

// TestWork_InnocentRunsOutliveThoseThatKillTheirProcess: one run kills its process while a model answers it, and six
// others of the same worker are in a long call of theirs each time. It alone fails.
// Rules distributed/D12, distributed/Q7.
func TestWork_InnocentRunsOutliveThoseThatKillTheirProcess(t *testing.T) {
	if dir := os.Getenv(storeOfWorkers); dir != "" {
		workUntilKilled(t, dir)
		return
	}
	const innocents, most = 6, 10
	dir := t.TempDir()
	store, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	d := dispatch.New(store, dispatch.Config{})
	for i := range innocents + 1 {
		id := "innocent-" + strconv.Itoa(i)
		if i == innocents/2 {
			id = "poison"
		}
		_, err := d.Submit(t.Context(), dispatch.Job{ID: id, Agent: "a", Messages: []*schema.Message{schema.UserMessage(id)}})
		require.NoError(t, err)
	}
	deaths := 0
	for ; deaths <= 2*most; deaths++ {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
		c.Env = append(os.Environ(), storeOfWorkers+"="+dir)
		out, err := c.CombinedOutput()
		if err == nil {
			break
		}
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, -1, exit.ExitCode(), "it was to be killed: %s", out)
	}
	require.Equal(t, most, deaths)
	for info, err := range d.List(t.Context(), runs.Query{}) {
		require.NoError(t, err)
		if info.ID == "poison" {
			require.Equal(t, runs.Failed, info.Status)
			require.Contains(t, info.Error, "died 10 times")
			continue
		}
		require.Equal(t, runs.Done, info.Status, "%s: %s", info.ID, info.Error)
	}
}

// workUntilKilled is a worker that ends when all runs have.
func workUntilKilled(t *testing.T, dir string) {
	store, err := checkpoint.NewFileStore(dir)
	require.NoError(t, err)
	agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a",
		Model: modelFunc(func(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
			if said := history[len(history)-1].Content; !strings.HasPrefix(said, "innocent") {
				time.Sleep(200 * time.Millisecond)
				self, err := os.FindProcess(os.Getpid())
				return nil, errors.Join(err, self.Kill(), errors.New(said))
			}
			time.Sleep(400 * time.Millisecond)
			return schema.AssistantMessage("done", nil), nil
		})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
	ended := make(chan error, 1)
	go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{Poll: 50 * time.Millisecond}) }()
	require.Eventually(t, func() bool {
		counts, err := store.Count(ctx, runs.Query{})
		return err == nil && counts[runs.Done]+counts[runs.Failed] == 7
	}, 50*time.Second, 50*time.Millisecond, "runs that have not ended")
	cancel()
	require.NoError(t, <-ended)
}
