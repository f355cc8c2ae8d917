package serve

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/runs"
)

// listing counts the lists of a front.
type listing struct {
	dispatch.Client[adk.Message]
	lists atomic.Int32
}

func (l *listing) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	l.lists.Add(1)
	return l.Client.List(ctx, q)
}

// counting is a listing of a front that counts.
type counting struct{ *listing }

func (c counting) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	return c.Client.(dispatch.RunCounter).Count(ctx, q)
}

// What a start costs does not grow with the runs of the client: they are counted, not listed. A front that cannot count lists
// them, and the limit holds with both.
//
// Rule serving/SV15.
func TestServer_StartsCountRunsAndListNone(t *testing.T) {
	for name, counts := range map[string]bool{"counts": true, "lists": false} {
		t.Run(name, func(t *testing.T) {
			l := &listing{Client: dispatch.New(checkpoint.NewMemoryStore(), dispatch.Config{Agents: dispatch.Agents{}})}
			conf := Config{Front: l, Limits: Limits{RunsPerPrincipal: 3}}
			if counts {
				conf.Front = counting{l}
			}
			d := newDesk(t, conf, agentOf(t, adk.ChatModelAgentConfig{}))
			for range 3 {
				d.call(201, "POST", "/agents/desk/runs", `{"input":"x"}`)
			}
			d.call(429, "POST", "/agents/desk/runs", `{"input":"x"}`)
			require.Equal(t, counts, l.lists.Load() == 0, "%d lists", l.lists.Load())
		})
	}
}
