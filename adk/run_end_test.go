package adk

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/schema"
)

// TestRunEnd_Transitions is the table at runEnd.
func TestRunEnd_Transitions(t *testing.T) {
	legal := map[[2]runEnd]bool{
		{runRunning, runFailed}: true, {runRunning, runInterrupted}: true, {runRunning, runCancelled}: true,
		{runFailed, runInterrupted}: true, {runFailed, runCancelled}: true,
	}
	for from := runRunning; from <= runCancelled; from++ {
		for to := runRunning; to <= runCancelled; to++ {
			end, want := from, from
			if legal[[2]runEnd{from, to}] {
				want = to
			}
			end.become(to)
			require.Equal(t, want, end, "%d to %d", from, to)
		}
	}
}

// TestCancelHandle_WaitEndsWithACallerThatHooksEnd: a hook that ends the caller's goroutine, as t.FailNow does, leaves no
// goroutine waiting for the run.
func TestCancelHandle_WaitEndsWithACallerThatHooksEnd(t *testing.T) {
	for _, withRunner := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := setup(t, recall(schema.AssistantMessage("x", nil)), nil, with[Message](&hooked[Message]{
				beforeAgent: func(ctx context.Context, rc *ChatModelAgentContext) (context.Context, *ChatModelAgentContext, error) {
					runtime.Goexit()
					return ctx, rc, nil
				}}))
			option, cancel := WithCancel()
			go func() {
				if withRunner {
					NewRunner(t.Context(), RunnerConfig{Agent: a}).Query(t.Context(), "hi", option)
				} else {
					a.Run(t.Context(), &AgentInput{Messages: []Message{schema.UserMessage("hi")}}, option)
				}
			}()
			synctest.Wait()
			handle, _ := cancel()
			require.ErrorIs(t, handle.Wait(), ErrExecutionEnded)
		})
	}
}
