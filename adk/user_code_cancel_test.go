package adk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
)

// TestUserCode_CancelWhileItWaits: an immediate cancel reaches all code in a run through its context, except what makes
// the context of the run, or the agent.
func TestUserCode_CancelWhileItWaits(t *testing.T) {
	matrix(t, testCancelUserCode[ordinary], testCancelUserCode[agentic])
}

func testCancelUserCode[M MessageType](t *testing.T, streaming bool) {
	for where, s := range spots[M]() {
		if s.waitedFor || s.resumed || s.path != nil && !s.path(streaming) {
			continue
		}
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { s.checkCancel(t, streaming) })
		})
	}
}

// checkCancel cancels a run that waits at the spot.
func (s *spot[M]) checkCancel(t *testing.T, streaming bool) {
	d := dialectOf[M]()
	c := &TypedChatModelAgentConfig[M]{Name: "tester",
		Model: says(d.answer("", wanted{"bad", "c1", object}), d.answer("done"))}
	c.ToolsConfig.Tools = []tool.BaseTool{echo("bad")}
	waits := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Hour):
			t.Error("the cancel did not get there")
			return nil
		}
	}
	s.grow(c, waits)
	a, err := NewTypedChatModelAgent(context.Background(), c)
	require.NoError(t, err)
	option, cancel := WithCancel()
	opts := []AgentRunOption{option}
	if s.options != nil {
		opts = append(opts, s.options(waits)...)
	}
	go func() {
		synctest.Wait()
		cancel()
	}()
	all := s.run(context.Background(), t, a, streaming, opts)
	var cancelled *CancelError
	require.ErrorAs(t, endError(t, all), &cancelled)
}
