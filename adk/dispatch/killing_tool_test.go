package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/runs"
)

// mortal is a store as one process sees it, which writes nothing any more once it is dead.
type mortal struct {
	runs.Store
	dead atomic.Bool
}

func (s *mortal) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	lease, err := s.Store.Acquire(ctx, id, req)
	if err != nil {
		return nil, err
	}
	return &mortalLease{lease, s}, nil
}

type mortalLease struct {
	runs.Lease
	process *mortal
}

// alive does something if the process is.
func (l *mortalLease) alive(do func() error) error {
	if l.process.dead.Load() {
		return runs.ErrLeaseLost
	}
	return do()
}

func (l *mortalLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	return l.alive(func() error { return l.Lease.AppendRecord(ctx, id, record) })
}

func (l *mortalLease) Renew(ctx context.Context) error {
	return l.alive(func() error { return l.Lease.Renew(ctx) })
}

func (l *mortalLease) Settle(ctx context.Context, s runs.Settlement) error {
	return l.alive(func() error { return l.Lease.Settle(ctx, s) })
}

// TestStretch_AToolThatAlwaysKillsItsProcessFailsTheRun: deaths at one place of a run are counted, also if what dies is a
// call that each process makes again, whatever the run did well before, and whichever agent makes the call.
// Rule distributed/D12.
func TestStretch_AToolThatAlwaysKillsItsProcessFailsTheRun(t *testing.T) {
	for name, c := range map[string]struct{ before, most int }{
		"at once":                {0, 10},
		"behind some good steps": {4, 10},
		"soon":                   {2, 3},
	} {
		for _, inner := range []bool{false, true} {
			if inner {
				name += ", in an agent that is a tool"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := checkpoint.NewMemoryStore()
					var process *mortal
					kills, err := utils.InferTool("kills", "kills", func(context.Context, struct{}) (string, error) {
						process.dead.Store(true)
						return "", errors.New("nobody hears of it")
					}, utils.WithIdempotent())
					require.NoError(t, err)
					tools := []tool.BaseTool{}
					for range c.before {
						tools = append(tools, toolNamed(t, "works", func(context.Context) (string, error) { return "worked", nil }))
					}
					agent := agentOf(t, "a", append(tools, kills)...)
					if inner {
						agent = agentOf(t, "a", adk.NewAgentTool(t.Context(), agentOf(t, "inner", append(tools, kills)...)))
					}
					deaths := 0
					for ; ; deaths++ {
						require.LessOrEqual(t, deaths, c.most)
						process = &mortal{Store: store}
						d := dispatch.New(process, dispatch.Config{MaxAttempts: c.most, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
						if deaths == 0 {
							_, err := d.Submit(t.Context(), jobOf("r", "a"))
							require.NoError(t, err)
						}
						o, err := d.Execute(t.Context(), "r")
						if o.Status == runs.Failed {
							require.ErrorContains(t, o.Err, "died")
							break
						}
						require.True(t, process.dead.Load(), "%v, %v", o, err)
						time.Sleep(time.Hour) // its lease ends
					}
					require.Equal(t, c.most, deaths)
				})
			})
		}
	}
}
