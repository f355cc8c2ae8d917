package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
)

// TestWork_AStoreThatFailsOnceAnywhereLosesNoRun, and no call has two keys: whichever call of the store fails, fails
// although it was done, or is made twice.
// Rules distributed/D2, distributed/K7.
func TestWork_AStoreThatFailsOnceAnywhereLosesNoRun(t *testing.T) {
	for _, fault := range []checkpointtest.Fault{checkpointtest.Fails, checkpointtest.FailsAfterwards, checkpointtest.Twice} {
		calls := faultAt(t, fault, 0) // none
		require.Greater(t, calls, 20)
		for at := 1; at <= calls; at++ {
			faultAt(t, fault, at)
		}
	}
}

// faultAt executes a run that asks, pays and waits for another run, with a fault at one call of the store. It returns
// how many there were.
func faultAt(t *testing.T, fault checkpointtest.Fault, at int) (calls int) {
	var what string
	var mu sync.Mutex // guards calls and what
	plan := func(call int, name string) checkpointtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		calls = call
		if call == at {
			what = name
			return fault
		}
		return checkpointtest.NoFault
	}
	synctest.Test(t, func(t *testing.T) {
		memory := checkpoint.NewMemoryStore()
		keys := map[string]bool{}
		pay := resolving{toolNamed(t, "pay", func(ctx context.Context) (string, error) {
			keys[adk.GetIdempotencyKey(ctx)] = true
			return "paid", nil
		}).(tool.InvokableTool)}
		ask := again{toolNamed(t, "ask", func(ctx context.Context) (string, error) {
			if _, ok, answer := tool.GetResumeContext[string](ctx); ok {
				return answer, nil
			}
			return "", tool.Interrupt(ctx, "may I?")
		}).(tool.InvokableTool)}
		child := agentOf(t, "child", again{toolNamed(t, "work", func(context.Context) (string, error) { return "worked", nil }).(tool.InvokableTool)})
		parent := agentOf(t, "parent", ask, pay, dispatch.AsRun("child", "works"))
		conf := dispatch.Config{TTL: 2 * time.Second, Agents: dispatch.Agents{"parent": dispatch.RunnerOf(parent), "child": dispatch.RunnerOf(child)}}
		_, err := dispatch.New(memory, dispatch.Config{}).Submit(t.Context(), jobOf("1", "parent"))
		require.NoError(t, err)
		_, stop := working(t, checkpointtest.Faulty(memory, plan), conf, dispatch.WorkerConfig{Slots: 1, SweepEvery: -1})
		defer stop()
		outside := dispatch.New(memory, dispatch.Config{}) // answers without faults
		for end := time.Now().Add(time.Hour); ; {
			o, err := outside.Wait(t.Context(), "1")
			require.NoError(t, err)
			mu.Lock()
			where := fmt.Sprintf("fault %d at call %d, %s: %v", fault, at, what, o.Err)
			mu.Unlock()
			require.NotEqual(t, runs.Failed, o.Status, where)
			require.True(t, time.Now().Before(end), where)
			if o.Status == runs.Done {
				require.Equal(t, "done: done: worked", o.Message.Content, where)
				require.Len(t, keys, 1, where)
				break
			}
			for _, q := range o.Questions {
				if q.Kind == runs.KindQuestion && !q.Answered {
					answer, err := runs.EncodeReply(q.ID, "you may")
					require.NoError(t, err)
					require.NoError(t, outside.Reply(t.Context(), "1", answer))
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return calls
}

// again is a tool that may be called again.
type again struct{ tool.InvokableTool }

func (again) Idempotent() bool { return true }

// resolving is a tool that is called again with its key, if the outcome of its call is unknown.
type resolving struct{ tool.InvokableTool }

func (resolving) Outcome(context.Context, *adk.OutcomeUnknown) (*adk.ToolOutcome, error) {
	return &adk.ToolOutcome{Rerun: true}, nil
}
