package servetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
	"github.com/weftgo/weft/serve"
)

// Desk is a server of an agent named desk on one kind of messages. It has a tool that looks, one that pays, which asks
// before, and takes tools and formats of clients.
type Desk struct {
	*serve.Server
	// Agentic: the agent is one on agentic messages, so that the server keeps no threads.
	Agentic bool
	// Pay is the tool that pays.
	Pay *adktest.Tool
}

// Local returns the caller that makes requests from the machine itself.
func (d Desk) Local(t *testing.T) *serve.Caller {
	t.Helper()
	return Local(t, d.Server)
}

// Local returns the caller that makes requests to a server from the machine itself.
func Local(t *testing.T, s *serve.Server) *serve.Caller {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	r.RemoteAddr = "127.0.0.1:1"
	c, err := s.Caller(r)
	require.NoError(t, err)
	return c
}

// Speaking waits until a run is executed, and its model has said something, and returns it.
func Speaking(t *testing.T, c *serve.Caller) (run serve.Run) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, err := c.Runs(t.Context(), serve.Query{Status: runs.Running})
		if err != nil || len(all) == 0 {
			return false
		}
		run = all[0]
		return true
	}, 10*time.Second, 5*time.Millisecond)
	for e, err := range c.Watch(t.Context(), run.ID, runs.Cursor{}) {
		require.NoError(t, err)
		if e.Type == runlog.ModelDelta {
			break
		}
	}
	return run
}

// EachKind runs a test with servers of each kind of messages. make makes one whose model answers with replies.
func EachKind(t *testing.T, test func(t *testing.T, make func(replies ...adktest.Answer) Desk)) {
	t.Run("ordinary", func(t *testing.T) {
		test(t, func(replies ...adktest.Answer) Desk { return newDesk[*schema.Message](t, replies) })
	})
	t.Run("agentic", func(t *testing.T) {
		test(t, func(replies ...adktest.Answer) Desk {
			d := newDesk[*schema.AgenticMessage](t, replies)
			d.Agentic = true
			return d
		})
	})
}

func newDesk[M adk.MessageType](t *testing.T, replies []adktest.Answer) Desk {
	t.Helper()
	guard, err := approval.NewTyped[M](t.Context(), &approval.Config{Tools: []string{"pay"}})
	require.NoError(t, err)
	pay := adktest.NewTool("pay", adktest.Says("paid").Repeated())
	look := adktest.NewTool("look", adktest.Says("sunny").Repeated())
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{Name: "desk", Description: "helps",
		Model: adktest.NewTypedModel[M](t, replies...), ToolsConfig: adktest.Tools(pay, look),
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{guard, serve.TypedClientTools[M](),
			serve.TypedClientFormats[M]()}})
	require.NoError(t, err)
	srv, err := serve.NewTyped(serve.TypedConfig[M]{Agents: []adk.TypedAgent[M]{agent}, AllowClientTools: true,
		DrainTimeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		require.NoError(t, srv.Shutdown(ctx))
	})
	return Desk{Server: srv, Pay: pay}
}
