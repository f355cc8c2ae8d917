package temporalengine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// TestRun_ReplaysHistoriesOfEarlierVersions. The histories were made by a Temporal server: the tests of the engine
// write them with -record. Histories of releases are kept.
// Rule temporal/W13.
func TestRun_ReplaysHistoriesOfEarlierVersions(t *testing.T) {
	histories, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(histories), 7)
	for _, file := range histories {
		t.Run(filepath.Base(file), func(t *testing.T) {
			require.NoError(t, replay(file, Run))
			require.Error(t, replay(file, func(ctx workflow.Context, in RunInput) (RunResult, error) {
				return RunResult{}, workflow.Sleep(ctx, 1)
			}), "it is really replayed")
		})
	}
}

func replay(file string, run any) error {
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: RunWorkflow})
	return r.ReplayWorkflowHistoryFromJSONFile(quiet{}, file)
}

// TestRun_AsksAsOftenAsItLikes: 5,000 questions go through one run, and no history is long.
// Rule temporal/W11.
func TestRun_AsksAsOftenAsItLikes(t *testing.T) {
	const questions = 5000
	asked, workflows := 0, 0
	for ended := false; !ended; workflows++ {
		b := newBench(t)
		attempts := 0
		b.OnActivity(attemptActivity, mock.Anything, mock.Anything).
			Return(func(context.Context, attemptInput) (outcome, error) {
				attempts++
				if asked++; asked > questions {
					return done, nil
				}
				return waiting(fmt.Sprint("p", asked)), nil
			})
		b.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) {
			b.SignalWorkflow(ChangedSignal, Changed{Answered: []string{fmt.Sprint("p", asked)}})
		})
		_, err := b.run(RunOptions{})
		var again *workflow.ContinueAsNewError
		ended = !errors.As(err, &again)
		if ended {
			require.NoError(t, err)
		}
		require.LessOrEqual(t, attempts, mostAttempts)
	}
	require.Equal(t, questions+1, asked)
	require.Equal(t, questions/mostAttempts+1, workflows)
}
