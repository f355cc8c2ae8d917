package picture

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/toolerrors"
	"github.com/weftgo/weft/adk/prebuilt/deep"
	"github.com/weftgo/weft/adk/prebuilt/supervisor"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

var update = flag.Bool("update", false, "write the golden files")

var ctx = context.Background()

// requirePicture holds the pictures of an agent against those in testdata.
func requirePicture[M adk.MessageType](t *testing.T, name string, agent adk.TypedAgent[M], opts ...Option) {
	t.Helper()
	for ending, text := range map[string]string{".mmd": Mermaid(ctx, agent, opts...), ".dot": DOT(ctx, agent, opts...)} {
		file := "testdata/" + name + ending
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), text, "%s: go test ./adk/picture -update", file)
	}
}

func chat(t *testing.T, name string, tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: name, Description: name, Model: adktest.NewModel(t), ToolsConfig: adktest.Tools(tools...)})
	require.NoError(t, err)
	return agent
}

func agent[A adk.Agent](t *testing.T) func(a A, err error) adk.Agent {
	return func(a A, err error) adk.Agent {
		t.Helper()
		require.NoError(t, err)
		return a
	}
}

func TestMermaid_DrawsTransfersWorkflowsAndAgentsAsTools(t *testing.T) {
	is := agent[adk.ResumableAgent](t)
	archive := chat(t, "archive", adktest.NewTool("find"))
	researcher := chat(t, "researcher", adktest.NewTool("search"), adk.NewAgentTool(ctx, archive))
	both := is(adk.NewParallelAgent(ctx, &adk.ParallelAgentConfig{Name: "both",
		SubAgents: []adk.Agent{researcher, chat(t, "critic", adk.NewAgentTool(ctx, archive))}}))
	review := is(adk.NewLoopAgent(ctx, &adk.LoopAgentConfig{Name: "review", MaxIterations: 3,
		SubAgents: []adk.Agent{chat(t, "reader"), chat(t, "writer")}}))
	newsroom := is(adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{Name: "newsroom",
		SubAgents: []adk.Agent{both, review, chat(t, "editor")}}))
	sealed := adk.AgentWithOptions(ctx, chat(t, "clerk"), adk.WithDisallowTransferToParent())
	always := adk.AgentWithDeterministicTransferTo(ctx,
		&adk.DeterministicTransferConfig{Agent: chat(t, "porter"), ToAgentNames: []string{"desk", "nobody"}})
	desk := is(adk.SetSubAgents(ctx, chat(t, "desk"), []adk.Agent{newsroom, chat(t, "guide"), sealed, always}))
	requirePicture(t, "team", desk)
	requirePicture(t, "team-tools", desk, WithTools(), nil)
}

func TestMermaid_DrawsPrebuiltAgents(t *testing.T) {
	workers := []adk.Agent{chat(t, "a"), chat(t, "b")}
	system, err := supervisor.New(ctx, &supervisor.Config{Supervisor: chat(t, "boss"), SubAgents: workers})
	require.NoError(t, err)
	requirePicture(t, "supervisor", system)

	agent, err := deep.New(ctx, &deep.Config{Name: "deep", Description: "d", ChatModel: adktest.NewModel(t),
		SubAgents: []adk.Agent{chat(t, "expert")}, Handlers: []adk.ChatModelAgentMiddleware{tolerant(t)}})
	require.NoError(t, err)
	requirePicture(t, "deep", agent, WithTools(), WithMiddlewares())
}

func tolerant(t *testing.T) adk.ChatModelAgentMiddleware {
	t.Helper()
	m, err := toolerrors.New(ctx, &toolerrors.Config{})
	require.NoError(t, err)
	return m
}

// composite is an agent of an application, with others inside.
type composite struct {
	name   string
	inside []adk.Agent
}

func (c *composite) Name(context.Context) string        { return c.name }
func (c *composite) Description(context.Context) string { return "" }
func (c *composite) AgentsInside() []adk.Agent          { return c.inside }
func (c *composite) Run(context.Context, *adk.AgentInput, ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	panic("an agent that is drawn must not run")
}

// opaque is a tool whose info cannot be had.
type opaque struct{ tool.BaseTool }

func (opaque) Info(context.Context) (*schema.ToolInfo, error) { return nil, errors.New("offline") }

func TestMermaid_OfAgentsOfApplications(t *testing.T) {
	round := &composite{name: `round "table"`}
	wrapped := &composite{name: "same", inside: []adk.Agent{chat(t, "same", opaque{}, nil)}}
	round.inside = []adk.Agent{wrapped, &composite{name: "end"}, round, nil, (*composite)(nil)}
	requirePicture(t, "custom", round, WithTools())
	var none adk.Agent
	require.Contains(t, Mermaid(ctx, none), "nil")
}

func TestMermaid_OfAgentsThatAreToolsOfEachOther(t *testing.T) {
	a := &composite{name: "a"}
	b := chat(t, "b", adk.NewAgentTool(ctx, a))
	a.inside = []adk.Agent{b, chat(t, "c", adk.NewAgentTool(ctx, a))}
	requirePicture(t, "cycle", a)
}

func TestMermaid_OfAgenticAgents(t *testing.T) {
	model := adktest.NewTypedModel[*schema.AgenticMessage](t)
	inner, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: "inner", Description: "i", Model: model})
	require.NoError(t, err)
	outer, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{
		Name: "outer", Model: model, ToolsConfig: adktest.Tools(adk.NewTypedAgentTool(ctx, inner))})
	require.NoError(t, err)
	requirePicture(t, "agentic", outer)
}

func TestMermaid_OfAWorkflowWithoutAgentsAndALoopOfOne(t *testing.T) {
	is := agent[adk.ResumableAgent](t)
	empty := is(adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{Name: "empty"}))
	one := is(adk.NewLoopAgent(ctx, &adk.LoopAgentConfig{Name: "one", SubAgents: []adk.Agent{chat(t, "x")}}))
	framed := is(adk.NewLoopAgent(ctx, &adk.LoopAgentConfig{Name: "framed", SubAgents: []adk.Agent{one}}))
	all := is(adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{SubAgents: []adk.Agent{empty, framed}}))
	requirePicture(t, "small", all)
}
