package adktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/prebuilt/supervisor"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// tree makes a random tree of agents. The same seed makes the same tree.
type tree struct {
	explored[*schema.Message]
	rnd *rand.Rand
	// names and pieces number the agents and the calls.
	names, pieces int
	// shape describes what the tree is made of.
	shape                  *strings.Builder
	unordered, speculative bool
	// beside is the number of parallel agents around. A branch that fails counts as done when another one asks (rule
	// runtime/W7): there are no questions in them.
	beside int
	// wide chooses what only wide trees have: tools of other kinds, and agents that exit. It is nil for other trees, which
	// are the same with and without it.
	wide *rand.Rand
}

func newTree(t *testing.T, p prober[*schema.Message], made *made[*schema.Message], seed uint64) *tree {
	return &tree{explored: explored[*schema.Message]{t, p, made}, rnd: rand.New(rand.NewPCG(seed, 1)),
		shape: new(strings.Builder)}
}

func (g *tree) chance(percent int) bool { return g.rnd.IntN(100) < percent }

func (g *tree) name(kind string) string {
	g.names++
	return fmt.Sprintf("%s%d", kind, g.names)
}

// once is for an agent that is begun once in a run; others are begun as often as their visits say.
const once = 1

// agentAt makes an agent with at most depth levels below it.
func (g *tree) agentAt(depth, visits int) adk.Agent {
	if depth == 0 {
		return g.leaf(depth, visits)
	}
	kinds := []func(*tree, int, int) adk.Agent{
		(*tree).leaf, (*tree).leaf, (*tree).leaf, (*tree).chain, (*tree).sideBySide, (*tree).loop,
		(*tree).handsOver, (*tree).supervised, (*tree).deterministic,
	}
	return kinds[g.rnd.IntN(len(kinds))](g, depth, visits)
}

func (g *tree) children(depth, n int, visits int) (all []adk.Agent) {
	g.shape.WriteString("(")
	for range n {
		all = append(all, g.agentAt(depth-1, visits))
	}
	g.shape.WriteString(")")
	return all
}

func (g *tree) describe(format string, args ...any) { fmt.Fprintf(g.shape, " "+format, args...) }

func (g *tree) chain(depth, visits int) adk.Agent {
	name := g.name("chain")
	g.describe("%s", name)
	a, err := adk.NewSequentialAgent(g.t.Context(),
		&adk.SequentialAgentConfig{Name: name, Description: "chain", SubAgents: g.children(depth, 2+g.rnd.IntN(2), visits)})
	require.NoError(g.t, err)
	return a
}

func (g *tree) sideBySide(depth, visits int) adk.Agent {
	g.unordered = true
	name := g.name("parallel")
	g.describe("%s", name)
	g.beside++
	branches := g.children(depth, 2+g.rnd.IntN(2), visits)
	g.beside--
	both, err := adk.NewParallelAgent(g.t.Context(),
		&adk.ParallelAgentConfig{Name: name, Description: "parallel", SubAgents: branches})
	require.NoError(g.t, err)
	g.describe("then")
	a, err := adk.NewSequentialAgent(g.t.Context(),
		&adk.SequentialAgentConfig{Name: g.name("chain"), Description: "chain",
			SubAgents: []adk.Agent{both, g.leaf(0, visits)}})
	require.NoError(g.t, err)
	return a
}

func (g *tree) loop(depth, visits int) adk.Agent {
	name := g.name("loop")
	g.describe("%s", name)
	a, err := adk.NewLoopAgent(g.t.Context(),
		&adk.LoopAgentConfig{Name: name, Description: "loop", SubAgents: g.children(depth, 1+g.rnd.IntN(2), 2*visits),
			MaxIterations: 2})
	require.NoError(g.t, err)
	return a
}

func transferTo(name string) adktest.Answer {
	return adktest.Calls(adktest.Call(adk.TransferToAgentToolName, fmt.Sprintf(`{"agent_name":%q}`, name)))
}

// handsOver is a boss that hands over to one of its helpers, who may hand back.
func (g *tree) handsOver(depth, visits int) adk.Agent {
	name := g.name("boss")
	g.describe("%s", name)
	helpers := g.children(depth, 1+g.rnd.IntN(2), visits)
	to := helpers[g.rnd.IntN(len(helpers))].Name(g.t.Context())
	var script []adktest.Answer
	for range visits {
		if g.chance(50) {
			script = append(script, g.work(name))
		}
		script = append(script, transferTo(to))
	}
	boss := g.agent(name, script, g.whims(false))
	a, err := adk.SetSubAgents(g.t.Context(), boss, helpers)
	require.NoError(g.t, err)
	return a
}

// supervised is a boss that hands over to each of its workers in turn.
func (g *tree) supervised(depth, visits int) adk.Agent {
	if visits > 1 {
		return g.leaf(depth, visits)
	}
	name := g.name("supervisor")
	g.describe("%s", name)
	workers := g.children(depth, 1+g.rnd.IntN(2), once)
	var script []adktest.Answer
	for _, w := range workers {
		if g.chance(30) {
			script = append(script, g.work(name))
		}
		script = append(script, transferTo(w.Name(g.t.Context())))
	}
	script = append(script, g.last(name))
	boss := g.agent(name, script, g.whims(false))
	a, err := supervisor.New(g.t.Context(), &supervisor.Config{Supervisor: boss, SubAgents: workers})
	require.NoError(g.t, err)
	return a
}

// deterministic is a boss whose helper hands back when it is done, whatever it says.
func (g *tree) deterministic(depth, visits int) adk.Agent {
	if visits > 1 {
		return g.leaf(depth, visits)
	}
	name := g.name("head")
	g.describe("%s", name)
	workers := g.children(depth, 1, once)
	worker := adk.AgentWithDeterministicTransferTo(g.t.Context(),
		&adk.DeterministicTransferConfig{Agent: workers[0], ToAgentNames: []string{name}})
	script := []adktest.Answer{transferTo(workers[0].Name(g.t.Context())), g.work(name), g.last(name)}
	boss := g.agent(name, script, g.whims(false))
	a, err := adk.SetSubAgents(g.t.Context(), boss, []adk.Agent{worker})
	require.NoError(g.t, err)
	return a
}

// work is a turn with calls.
func (g *tree) work(agent string) adktest.Answer {
	var calls []adktest.ToolCall
	n := 1 + g.rnd.IntN(3)
	if n > 1 {
		g.unordered = true
	}
	for range n {
		g.pieces++
		calls = append(calls, adktest.Call(g.toolName(), fmt.Sprintf("%q", fmt.Sprintf("%s %d", agent, g.pieces))))
	}
	if g.chance(30) {
		r := adktest.Says("working")
		for _, c := range calls {
			r = r.Calling(c)
		}
		return r
	}
	return adktest.Calls(calls...)
}

// toolName is the tool of a piece of work. In wide trees it may be one that can be called again, one that streams, or
// one that asks before it works.
func (g *tree) toolName() string {
	if g.wide == nil {
		return "work"
	}
	names := []string{"work", "work", "lookup", "lookup", "report", "ask"}
	name := names[g.wide.IntN(len(names))]
	if name != "ask" {
		return name
	}
	if g.beside > 0 {
		return "work"
	}
	g.unordered = true
	return name
}

// exits decides whether an agent of a wide tree ends the run.
func (g *tree) exits() bool { return g.wide != nil && g.beside == 0 && g.wide.IntN(100) < 8 }

func (g *tree) last(agent string) adktest.Answer {
	if g.chance(50) {
		return adktest.Streams(agent, " done")
	}
	return adktest.Says(agent + " done")
}

// whims are random features of an agent.
func (g *tree) whims(eager bool) func(conf *adk.ChatModelAgentConfig) {
	ask, shaky := g.chance(15) && g.beside == 0, g.chance(15)
	if ask {
		g.describe("+approval")
	}
	if shaky {
		g.describe("+shaky")
	}
	if eager {
		g.describe("+eager")
		g.speculative = true
	}
	hooks := g.chance(30)
	if hooks {
		g.describe("+hooks")
	}
	return func(conf *adk.ChatModelAgentConfig) {
		if hooks {
			conf.Handlers = append(conf.Handlers, g.p.Middleware())
		}
		if ask {
			conf.Handlers = append(conf.Handlers, g.approval())
		}
		conf.Handlers = append(conf.Handlers, &strict[*schema.Message]{}) // of answers that only some agents give
		if shaky {
			works := conf.Model
			conf.Model = &breaking[*schema.Message]{BaseModel: works, every: 1}
			conf.ModelRetryConfig = &adk.ModelRetryConfig{MaxRetries: 2,
				BackoffFunc: func(context.Context, int) time.Duration { return 0 }}
			conf.ModelFailoverConfig = &adk.ModelFailoverConfig[*schema.Message]{
				MaxRetries:     1,
				ShouldFailover: func(context.Context, *schema.Message, error) bool { return true },
				GetFailoverModel: func(context.Context,
					*adk.FailoverContext[*schema.Message],
				) (model.BaseModel[*schema.Message], []*schema.Message, error) {
					return &breaking[*schema.Message]{BaseModel: works, every: 2}, nil, nil
				},
			}
		}
		conf.ToolsConfig.EagerExecution = eager
	}
}

// leaf is a chat model agent, which may have agents as tools.
func (g *tree) leaf(depth, visits int) adk.Agent {
	name := g.name("agent")
	g.describe("%s", name)
	var script []adktest.Answer
	var tools []tool.BaseTool
	direct := g.chance(15)
	judged := g.chance(20)
	exits := g.exits()
	for range visits {
		for range g.rnd.IntN(3) {
			script = append(script, g.work(name))
		}
		if depth > 0 && g.chance(60) {
			g.describe("[")
			inner := g.agentAt(depth-1, once)
			g.describe("]")
			tools = append(tools, adk.NewAgentTool(g.t.Context(), inner))
			call := adktest.Calls(adktest.Call(inner.Name(g.t.Context()), `{"request":"do it"}`))
			if g.chance(50) {
				g.unordered = true
				g.pieces++
				call = call.Calling(adktest.Call("work", fmt.Sprintf("%q", fmt.Sprintf("%s %d", name, g.pieces))))
			}
			script = append(script, call)
		}
		if judged {
			script = append(script, adktest.Says("poor"))
		}
		switch {
		case exits:
			script = append(script, adktest.Calls(adktest.Call(adk.ToolInfoExit.Name,
				fmt.Sprintf(`{"final_result":"%s exits"}`, name))))
		case direct:
			g.pieces++
			script = append(script, adktest.Calls(adktest.Call("last", fmt.Sprintf("%q", fmt.Sprintf("%s %d", name, g.pieces)))))
		default:
			script = append(script, g.last(name))
		}
	}
	if judged {
		g.describe("+judged")
	}
	if exits {
		g.describe("+exits")
	}
	if direct {
		g.describe("+direct")
		tools = append(tools, g.p.Tool(adktest.NewTool("last")))
	}
	whims := g.whims(g.chance(15))
	return g.agent(name, script, func(conf *adk.ChatModelAgentConfig) {
		whims(conf)
		if exits {
			conf.Exit = adk.ExitTool{}
		}
		if direct {
			conf.ToolsConfig.ReturnDirectly = map[string]bool{"last": true}
		}
	}, tools...)
}

// TestExplore_RandomTrees: runs of random trees can stop anywhere, too.
func TestExplore_RandomTrees(t *testing.T) {
	for _, seed := range randomSeeds {
		made := new(made[*schema.Message])
		dry := newTree(t, new(adktest.Probe[*schema.Message]), made, seed)
		dry.agentAt(randomDepth, once)
		e := adktest.Exploration[*schema.Message]{
			Query: "Do it.", Pairs: pairs(), Answer: approve, Streaming: seed&1 == 1, Durability: adk.Durability(seed >> 1 & 1),
			Boundaries: boundaries(),
			Agent: func(p *adktest.Probe[*schema.Message]) adk.Agent {
				return newTree(t, p, made, seed).agentAt(randomDepth, once)
			},
		}
		e.Unordered, e.Speculative = dry.unordered, dry.speculative && e.Streaming
		t.Run(fmt.Sprintf("%d:%s", seed, dry.shape), func(t *testing.T) {
			adktest.Explore(t.Context(), t, e)
			dry = nil
			made.requireCollected(t)
		})
	}
}

// randomSeeds are of small trees of many kinds. A search takes any others, and greater depths: minutes.
var randomSeeds = []uint64{1, 2, 5, 12, 13, 62, 231}

const randomDepth = 2
