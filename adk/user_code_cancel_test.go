package adk

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
)

// TestUserCode_CancelWhileItWaits: an immediate cancel reaches code inside calls of the model and of tools through its
// context.
func TestUserCode_CancelWhileItWaits(t *testing.T) {
	matrix(t, testCancelUserCode[ordinary], testCancelUserCode[agentic])
}

func testCancelUserCode[M MessageType](t *testing.T, streaming bool) {
	for where, s := range spots[M]() {
		if !s.inCall || s.path != nil && !s.path(streaming) {
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
	c := &TypedChatModelAgentConfig[M]{Name: "tester", Model: says(d.answer("", wanted{"bad", "c1", object}), d.answer("done"))}
	c.ToolsConfig.Tools = []tool.BaseTool{echo("bad")}
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	s.grow(c, waits)
	a, err := NewTypedChatModelAgent(context.Background(), c)
	require.NoError(t, err)
	option, cancel := WithCancel()
	go func() {
		synctest.Wait()
		cancel()
	}()
	all := s.run(context.Background(), t, a, streaming, []AgentRunOption{option})
	var cancelled *CancelError
	require.ErrorAs(t, endError(t, all), &cancelled)
}
