package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// tenants count the runs of each that are executed.
type tenants struct {
	mu   sync.Mutex // guards now and most
	now  map[string]int
	most map[string]int
}

func (c *tenants) add(tenant string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[tenant] += n
	c.most[tenant] = max(c.most[tenant], c.now[tenant])
}

func (c *tenants) of(tenant string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now[tenant]
}

// One tenant with much to do may have all slots, until others have something to do, too.
//
// Rule distributed/T4.
func TestPool_SharesSlotsFairlyBetweenTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		pool := dispatch.NewPool(8, 2)
		count := &tenants{now: map[string]int{}, most: map[string]int{}}
		dispatchers := map[string]*dispatch.Dispatcher{}
		for _, name := range []string{"large", "small", "other"} {
			agent := agentOf(t, "a", toolNamed(t, "work", func(context.Context) (string, error) {
				count.add(name, 1)
				defer count.add(name, -1)
				time.Sleep(10 * time.Second)
				return "worked", nil
			}))
			d, stop := working(t, checkpoint.Scope(store, name), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}},
				dispatch.WorkerConfig{Pool: pool})
			defer stop()
			dispatchers[name] = d
		}
		submit := func(tenant string, n int) {
			for i := range n {
				_, err := dispatchers[tenant].Submit(t.Context(), jobOf(fmt.Sprint(i), "a"))
				require.NoError(t, err)
			}
		}
		submit("large", 100)
		time.Sleep(5 * time.Second)
		require.Equal(t, 8, count.of("large"), "nobody else has anything to do")
		submit("small", 20)
		submit("other", 1)
		time.Sleep(12 * time.Second) // the slots of the large one are free again
		require.Equal(t, 8, count.of("large")+count.of("small")+count.of("other"))
		require.GreaterOrEqual(t, count.of("small"), 1)
		require.Equal(t, runs.Running, statusIn(t, dispatchers["other"], "0"))
		time.Sleep(10 * time.Second) // and once more: a worker that has just taken a run waits for the next slot
		require.Equal(t, 8, count.of("large")+count.of("small"))
		require.GreaterOrEqual(t, count.of("small"), 2)
		waitFor(t, dispatchers["small"], "19", runs.Done)
		waitFor(t, dispatchers["other"], "0", runs.Done)
		require.Less(t, doneOf(t, dispatchers["large"]), 100, "the small one has not waited for the large one")
		waitFor(t, dispatchers["large"], "99", runs.Done)
	})
}

func statusIn(t *testing.T, d *dispatch.Dispatcher, id string) runs.Status {
	info, _, err := d.Inspect(t.Context(), id)
	require.NoError(t, err)
	return info.Status
}

func doneOf(t *testing.T, d *dispatch.Dispatcher) (n int) {
	for _, err := range d.List(t.Context(), runs.Query{Status: []runs.Status{runs.Done}}) {
		require.NoError(t, err)
		n++
	}
	return n
}

func TestNewPool_RefusesOneWithoutSlots(t *testing.T) {
	require.Panics(t, func() { dispatch.NewPool(0, 1) })
	require.Panics(t, func() { dispatch.NewPool(1, 0) })
}
