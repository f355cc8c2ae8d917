package picture

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/prebuilt/deep"
	"github.com/weftgo/weft/schema"
)

// outline writes a description in one line, an agent that comes again by its name.
func outline(a *Agent, seen map[*Agent]bool) string {
	if seen[a] {
		return a.Name
	}
	seen[a] = true
	var parts []string
	for _, t := range a.Tools {
		parts = append(parts, t.Name)
	}
	for kind, below := range [][]*Agent{a.Members, a.SubAgents, a.AsTools} {
		for _, one := range below {
			parts = append(parts, [3]string{"has ", "to ", "calls "}[kind]+outline(one, seen))
		}
	}
	if a.Opaque {
		parts = append(parts, "?")
	}
	return a.Name + "(" + strings.Join(parts, ", ") + ")"
}

func described[M adk.MessageType](agent adk.TypedAgent[M]) string {
	return outline(Describe(ctx, agent), map[*Agent]bool{})
}

func TestDescribe_HasToolsWorkflowsTransfersAndAgentsAsTools(t *testing.T) {
	is := agent[adk.ResumableAgent](t)
	archive := chat(t, "archive", adktest.NewTool("find"))
	researcher := chat(t, "researcher", adktest.NewTool("search"), adk.NewAgentTool(ctx, archive))
	room := is(adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{Name: "room", Description: "works",
		SubAgents: []adk.Agent{researcher, chat(t, "critic", adk.NewAgentTool(ctx, archive))}}))
	desk := is(adk.SetSubAgents(ctx, chat(t, "desk"), []adk.Agent{room, chat(t, "guide")}))
	require.Equal(t, "desk(to room(has researcher(search, archive, calls archive(find)), has critic(archive, calls archive)), "+
		"to guide())", described(desk))
	var names []string
	for a := range Describe(ctx, desk).All() {
		names = append(names, a.Name+" "+a.Description)
	}
	require.Equal(t, []string{"desk desk", "room works", "researcher researcher", "archive archive", "critic critic",
		"guide guide"}, names)
}

func TestDescribe_HasTheToolsAndMiddlewaresOfPrebuiltAgents(t *testing.T) {
	mine := tolerant(t)
	agent, err := deep.New(ctx, &deep.Config{Name: "deep", Description: "d", ChatModel: adktest.NewModel(t),
		SubAgents: []adk.Agent{chat(t, "expert")}, Handlers: []adk.ChatModelAgentMiddleware{mine}})
	require.NoError(t, err)
	a := Describe(ctx, agent)
	require.Same(t, mine, a.Middlewares[len(a.Middlewares)-1])
	require.Contains(t, outline(a, map[*Agent]bool{}), "calls expert()")
}

func TestDescribe_SaysOfAgentsOfApplicationsThatTheyMayHaveMore(t *testing.T) {
	round := &composite{name: "round"}
	round.inside = []adk.Agent{chat(t, "open", opaque{}, nil), &composite{name: "end"}, round, nil, (*composite)(nil)}
	require.Equal(t, "round(has open(?), has end(?), has round, has (?), has (?))", described[*schema.Message](round))
	var none adk.Agent
	require.Equal(t, "(?)", described(none))
	inner, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{Name: "inner",
		Model: adktest.NewTypedModel[*schema.AgenticMessage](t), ToolsConfig: adktest.Tools(adktest.NewTool("find"))})
	require.NoError(t, err)
	require.Equal(t, "inner(find)", described(inner))
}

// endless shows two new agents, again and again.
type endless struct{ composite }

func (e *endless) AgentsInside() []adk.Agent {
	name := func(n int) composite { return composite{name: fmt.Sprint(e.name, n)} }
	return []adk.Agent{&endless{name(0)}, &endless{name(1)}}
}

func TestDescribe_EndsWhereAgentsHaveNoEnd(t *testing.T) {
	n, open := 0, 0
	for a := range Describe[*schema.Message](context.Background(), &endless{composite{name: "e"}}).All() {
		if n++; a.Opaque {
			open++
		}
	}
	require.Less(t, n, 2*mostAgents+2)
	require.Positive(t, open)
}
