package mcptool_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/ext/mcp/mcptool"
	"github.com/weftgo/weft/schema"
)

// bank runs an agent with two servers, a and b, whose calls have to be approved.
func bank(t *testing.T, ask approval.Config, m *adktest.Model[*schema.Message], servers ...*mcptool.Server) *adk.Runner {
	asks, err := approval.New(t.Context(), &ask)
	require.NoError(t, err)
	conf := &adk.ChatModelAgentConfig{Name: "bank", Model: m, Handlers: []adk.ChatModelAgentMiddleware{asks}}
	for _, s := range servers {
		conf.Handlers = append(conf.Handlers, s.Middleware())
	}
	agent, err := adk.NewChatModelAgent(t.Context(), conf)
	require.NoError(t, err)
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, CheckPointStore: adktest.NewStore()})
}

// request is the question with which a run stopped.
func request(t *testing.T, e *adktest.Events[*adkMessage]) (*approval.Request, string) {
	t.Helper()
	all := e.ExpectNoError().All()
	last := all[len(all)-1].Action
	require.NotNil(t, last, e.Lines())
	point := last.Interrupted.InterruptContexts[0]
	return point.Info.(*approval.Request), point.ID
}

func newNamed(t *testing.T, name string, calls *atomic.Int32, tools ...string) (*mcptool.Server, *web) {
	t.Helper()
	unnamed, h := seller(t, mcptool.Config{}, calls, tools...)
	require.NoError(t, unnamed.Close())
	srv, err := mcptool.New(mcptool.Config{Name: name, URL: serves(t, h)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv, h
}

// A decision about a tool of one server does not hold for another server's tool that has its name when the run
// continues: the question is asked again, and names the other server.
// Rule mcp/MC38.
func TestApproval_IsForTheServerThatItWasAskedAbout(t *testing.T) {
	var first, second atomic.Int32
	a, webA := newNamed(t, "a", &first, toolNamed("pay"))
	b, webB := newNamed(t, "b", &second, toolNamed("look"))
	r := bank(t, approval.Config{Tools: []string{"pay"}}, adktest.NewModel(t, adktest.Calls(adktest.Call("pay", `{}`)), adktest.Says("ok")), a, b)
	asked, point := request(t, adktest.Collect(t, r.Query(t.Context(), "pay", adk.WithCheckPointID("1"))))
	require.Equal(t, "mcp:a", asked.Origin)
	webA.list.Store(listOf(toolNamed("other")))
	webB.list.Store(listOf(toolNamed("pay")))
	require.NoError(t, a.Refresh(t.Context()))
	require.NoError(t, b.Refresh(t.Context()))
	events, err := resume(t, r, point, asked.Approve())
	require.NoError(t, err)
	again, point := request(t, events)
	require.Equal(t, "mcp:b", again.Origin)
	require.Equal(t, "the decision is for another call", again.Refused)
	require.Zero(t, first.Load()+second.Load())
	events, err = resume(t, r, point, again.Approve())
	require.NoError(t, err)
	events.ExpectText("ok")
	require.EqualValues(t, 1, second.Load())
}

// Approvals of an origin hold for all of its tools: a server escapes none by another name.
// Rule mcp/MC38.
func TestApproval_OfAnOriginHoldsWhateverItsToolsAreCalled(t *testing.T) {
	var first, second atomic.Int32
	a, web := newNamed(t, "a", &first, toolNamed("pay"))
	b, _ := newNamed(t, "b", &second, toolNamed("look"))
	r := bank(t, approval.Config{Origins: []string{"mcp:a"}}, adktest.NewModel(t,
		adktest.Calls(adktest.Call("look", `{}`)), adktest.Calls(adktest.Call("transfer", `{}`)), adktest.Says("ok")), a, b)
	web.list.Store(listOf(toolNamed("transfer")))
	require.NoError(t, a.Refresh(t.Context()))
	asked, point := request(t, adktest.Collect(t, r.Query(t.Context(), "pay", adk.WithCheckPointID("1"))))
	require.Equal(t, "transfer", asked.Tool)
	require.EqualValues(t, 1, second.Load())
	require.Zero(t, first.Load())
	events, err := resume(t, r, point, asked.Reject("no"))
	require.NoError(t, err)
	events.ExpectText("ok")
	require.Zero(t, first.Load())
}
