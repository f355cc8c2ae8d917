package adktest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/schema"
)

// prober makes the models, tools and hooks of an agent report what they do, as an [adktest.Probe] does.
type prober[M adk.MessageType] interface {
	Model(m model.BaseModel[M]) model.BaseModel[M]
	Tool(t tool.InvokableTool) tool.InvokableTool
	Middleware() adk.TypedChatModelAgentMiddleware[M]
}

// explored are the agents whose runs are stopped everywhere.
type explored[M adk.MessageType] struct {
	t    *testing.T
	p    prober[M]
	made *made[M]
}

// made are the agents that were made for the lives of all runs.
type made[M adk.MessageType] struct {
	mu   sync.Mutex
	seen []weak.Pointer[adk.TypedChatModelAgent[M]]
}

func (m *made[M]) add(a *adk.TypedChatModelAgent[M]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, weak.Make(a))
}

// requireCollected collects garbage until nothing refers to the agents: no run is kept that has ended, however it did
// and whatever of it was not read.
func (m *made[M]) requireCollected(t *testing.T) {
	t.Helper()
	left := 0
	for range 100 {
		runtime.GC()
		left = 0
		for _, a := range m.seen {
			if a.Value() != nil {
				left++
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d of %d agents are still reachable after their runs", left, len(m.seen))
}

// agent makes an agent with a tool "work" and others.
func (x explored[M]) agent(name string, script []adktest.Answer, change func(*adk.TypedChatModelAgentConfig[M]),
	tools ...tool.BaseTool,
) *adk.TypedChatModelAgent[M] {
	if p, ok := x.p.(interface{ MoreTools() []tool.BaseTool }); ok {
		tools = append(tools, p.MoreTools()...)
	}
	var follows model.BaseModel[M]
	if p, ok := x.p.(interface {
		Follows(script []adktest.Answer) model.BaseModel[M]
	}); ok {
		follows = p.Follows(script)
	} else {
		follows = adktest.NewRecallingModel[M](x.t, script...)
	}
	conf := &adk.TypedChatModelAgentConfig[M]{
		Name: name, Description: "an agent of a test",
		Model:       x.p.Model(follows),
		ToolsConfig: adktest.Tools(append(tools, x.p.Tool(adktest.NewTool("work")))...),
	}
	if change != nil {
		change(conf)
	}
	a, err := adk.NewTypedChatModelAgent(x.t.Context(), conf)
	require.NoError(x.t, err)
	x.made.add(a)
	return a
}

// work calls the tool, once for each piece of work.
func work(pieces ...string) adktest.Answer {
	var calls []adktest.ToolCall
	for _, piece := range pieces {
		calls = append(calls, adktest.Call("work", fmt.Sprintf("%q", piece)))
	}
	return adktest.Calls(calls...)
}

func delegate(to string) adktest.Answer {
	return adktest.Calls(adktest.Call(to, `{"request":"do it"}`))
}

// react asks twice for work, and then answers.
func (x explored[M]) react() adk.TypedAgent[M] {
	return x.agent("react", []adktest.Answer{work("a"), work("b", "c"), adktest.Streams("all ", "done")}, nil)
}

func (x explored[M]) eager() adk.TypedAgent[M] {
	return x.agent("eager",
		[]adktest.Answer{adktest.Says("first").Calling(adktest.Call("work", `"a"`)).Calling(adktest.Call("work", `"b"`)),
			adktest.Streams("all ", "done")},
		func(conf *adk.TypedChatModelAgentConfig[M]) { conf.ToolsConfig.EagerExecution = true })
}

// direct ends with the result of a tool.
func (x explored[M]) direct() adk.TypedAgent[M] {
	last := x.p.Tool(adktest.NewTool("last"))
	return x.agent("direct", []adktest.Answer{work("a"),
		adktest.Calls(adktest.Call("work", `"b"`), adktest.Call("last", `"c"`))},
		func(conf *adk.TypedChatModelAgentConfig[M]) {
			conf.ToolsConfig.ReturnDirectly = map[string]bool{"last": true}
		}, last)
}

// deep has an agent as a tool of an agent that is a tool.
func (x explored[M]) deep() adk.TypedAgent[M] {
	inner := x.agent("inner", []adktest.Answer{work("a"), adktest.Says("inner done")}, nil)
	middle := x.agent("middle", []adktest.Answer{work("b"), delegate("inner"), adktest.Says("middle done")}, nil,
		adk.NewTypedAgentTool(x.t.Context(), adk.TypedAgent[M](inner)))
	return x.agent("outer", []adktest.Answer{delegate("middle"), work("c"), adktest.Says("outer done")}, nil,
		adk.NewTypedAgentTool(x.t.Context(), adk.TypedAgent[M](middle)))
}

// approval has a human asked before each call of "work".
func (x explored[M]) approval() adk.TypedChatModelAgentMiddleware[M] {
	conf := &approval.Config{Tools: []string{"work"}}
	if p, ok := x.p.(interface{ Ledger() approval.Ledger }); ok {
		conf.Ledger = p.Ledger()
	}
	ask, err := approval.NewTyped[M](x.t.Context(), conf)
	require.NoError(x.t, err)
	return ask
}

// plan asks a human before it works.
func (x explored[M]) plan() adk.TypedAgent[M] {
	ask := x.approval()
	return x.agent("plan", []adktest.Answer{work("a"), work("b", "c"), adktest.Says("as approved")},
		func(conf *adk.TypedChatModelAgentConfig[M]) {
			conf.Handlers = append(conf.Handlers, ask)
		})
}

// shaky asks a model twice that breaks off every other time, and another one that always does.
func (x explored[M]) shaky() adk.TypedAgent[M] {
	return x.agent("shaky", []adktest.Answer{work("a"), work("b", "c"), adktest.Streams("all ", "done")},
		func(conf *adk.TypedChatModelAgentConfig[M]) {
			works := conf.Model
			conf.Model = &breaking[M]{BaseModel: works, every: 1}
			conf.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: 5,
				BackoffFunc: func(context.Context, int) time.Duration { return 0 }}
			conf.ModelFailoverConfig = &adk.ModelFailoverConfig[M]{
				MaxRetries:     1,
				ShouldFailover: func(context.Context, M, error) bool { return true },
				GetFailoverModel: func(context.Context, *adk.FailoverContext[M]) (model.BaseModel[M], []M, error) {
					return &breaking[M]{BaseModel: works, every: 2}, nil, nil
				},
			}
		})
}

// breaking is a model whose first of every so many calls breaks off.
type breaking[M adk.MessageType] struct {
	model.BaseModel[M]
	every int32
	calls atomic.Int32
}

var errBreaks = errors.New("the model breaks off")

func (m *breaking[M]) breaks() bool { return (m.calls.Add(1)-1)%m.every == 0 }

func (m *breaking[M]) Generate(ctx context.Context, messages []M, opts ...model.Option) (answer M, err error) {
	if m.breaks() {
		return answer, errBreaks
	}
	return m.BaseModel.Generate(ctx, messages, opts...)
}

func (m *breaking[M]) Stream(ctx context.Context, messages []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	if !m.breaks() {
		return m.BaseModel.Stream(ctx, messages, opts...)
	}
	return adktest.NewRecallingModel[M](silent{}, adktest.Says("half").ThenFails(errBreaks).Repeated()).Stream(ctx, nil)
}

// silent is the TB of a model that is no test's.
type silent struct{}

func (silent) Helper()               {}
func (silent) Errorf(string, ...any) {}
func (silent) Cleanup(func())        {}

// judged has its first answer rejected.
func (x explored[M]) judged() adk.TypedAgent[M] {
	return x.agent("judged", []adktest.Answer{work("a"), adktest.Says("poor"), work("b"), adktest.Says("better")},
		func(conf *adk.TypedChatModelAgentConfig[M]) {
			conf.Handlers = append(conf.Handlers, &strict[M]{})
		})
}

// strict rejects the answer "poor" once, and says so.
type strict[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
}

func (*strict[M]) BeforeFinalAnswer(
	ctx context.Context, s *adk.TypedChatModelAgentState[M],
) (context.Context, adk.FinalAnswerDecision, *adk.TypedChatModelAgentState[M], error) {
	if lines := adktest.Lines(s.Messages); lines[len(lines)-1] != "assistant: poor" {
		return ctx, adk.AcceptFinalAnswer, s, nil
	}
	var no any = schema.UserMessage("No.")
	if _, ordinary := no.(M); !ordinary {
		no = schema.UserAgenticMessage("No.")
	}
	s.Messages = append(s.Messages, no.(M))
	return ctx, adk.RejectFinalAnswer, s, nil
}

func approve(point *adk.InterruptCtx) any { return point.Info.(*approval.Request).Approve() }

// worker is an agent that does two pieces of work.
func worker(x explored[*schema.Message], name string) adk.Agent {
	return x.agent(name, []adktest.Answer{work(name + " 1"), work(name + " 2"), adktest.Says(name + " done")}, nil)
}

func workflows() map[string]func(explored[*schema.Message]) adk.Agent {
	return map[string]func(explored[*schema.Message]) adk.Agent{
		"sequential": func(x explored[*schema.Message]) adk.Agent {
			a, err := adk.NewSequentialAgent(x.t.Context(),
				&adk.SequentialAgentConfig{Name: "sequential", SubAgents: []adk.Agent{worker(x, "one"), worker(x, "two")}})
			require.NoError(x.t, err)
			return a
		},
		"sequential as a tool": func(x explored[*schema.Message]) adk.Agent {
			inner, err := adk.NewSequentialAgent(x.t.Context(), &adk.SequentialAgentConfig{
				Name: "both", Description: "both", SubAgents: []adk.Agent{worker(x, "one"), worker(x, "two")},
			})
			require.NoError(x.t, err)
			script := []adktest.Answer{adktest.Calls(adktest.Call("both", `{"request":"go"}`)), adktest.Says("done")}
			return x.agent("outer", script, nil, adk.NewAgentTool(x.t.Context(), inner))
		},
		"parallel": func(x explored[*schema.Message]) adk.Agent {
			both, err := adk.NewParallelAgent(x.t.Context(),
				&adk.ParallelAgentConfig{Name: "parallel", SubAgents: []adk.Agent{worker(x, "left"), worker(x, "right")}})
			require.NoError(x.t, err)
			a, err := adk.NewSequentialAgent(x.t.Context(),
				&adk.SequentialAgentConfig{Name: "sequential", SubAgents: []adk.Agent{both, worker(x, "last")}})
			require.NoError(x.t, err)
			return a
		},
		"loop": func(x explored[*schema.Message]) adk.Agent {
			again := x.agent("again", []adktest.Answer{work("1"), adktest.Says("first round"), work("2"),
				adktest.Says("second round")}, nil)
			a, err := adk.NewLoopAgent(x.t.Context(),
				&adk.LoopAgentConfig{Name: "loop", SubAgents: []adk.Agent{again}, MaxIterations: 2})
			require.NoError(x.t, err)
			return a
		},
		"sequential with a plan": func(x explored[*schema.Message]) adk.Agent {
			a, err := adk.NewSequentialAgent(x.t.Context(),
				&adk.SequentialAgentConfig{Name: "sequential", SubAgents: []adk.Agent{x.plan(), worker(x, "two")}})
			require.NoError(x.t, err)
			return a
		},
		"sequential with a judge": func(x explored[*schema.Message]) adk.Agent {
			a, err := adk.NewSequentialAgent(x.t.Context(),
				&adk.SequentialAgentConfig{Name: "sequential", SubAgents: []adk.Agent{x.judged(), worker(x, "two")}})
			require.NoError(x.t, err)
			return a
		},
		"transfer": func(x explored[*schema.Message]) adk.Agent {
			boss := x.agent("boss", []adktest.Answer{work("plan"),
				adktest.Calls(adktest.Call(adk.TransferToAgentToolName, `{"agent_name":"helper"}`))}, nil)
			a, err := adk.SetSubAgents(x.t.Context(), boss, []adk.Agent{worker(x, "helper")})
			require.NoError(x.t, err)
			return a
		},
	}
}

// explore stops the runs of an agent everywhere, in each way of running it.
func explore[M adk.MessageType](t *testing.T, e adktest.Exploration[M], agent func(explored[M]) adk.TypedAgent[M]) {
	e.Query, e.Boundaries = "Do it.", boundaries()
	made := new(made[M])
	e.Agent = func(p *adktest.Probe[M]) adk.TypedAgent[M] { return agent(explored[M]{t, p, made}) }
	for _, streaming := range []bool{false, true} {
		for _, durability := range []adk.Durability{adk.OnInterrupt, adk.EveryStep} {
			if e.TurnLoop && durability == adk.EveryStep || e.Speculative && !streaming {
				continue
			}
			if !testsize.Full() && streaming == (durability == adk.EveryStep) && !e.Speculative {
				continue // half of it
			}
			t.Run(fmt.Sprintf("streaming=%v,durability=%v", streaming, durability), func(t *testing.T) {
				e.Streaming, e.Durability = streaming, durability
				adktest.Explore(t.Context(), t, e)
				made.requireCollected(t)
			})
		}
	}
}

func TestExplore_AgentsOfBothKinds(t *testing.T) {
	t.Run("ordinary", exploreAgents[*schema.Message])
	t.Run("agentic", exploreAgents[*schema.AgenticMessage])
}

func exploreAgents[M adk.MessageType](t *testing.T) {
	for name, agent := range map[string]func(explored[M]) adk.TypedAgent[M]{
		"react": explored[M].react, "eager": explored[M].eager, "return directly": explored[M].direct,
		"agent tool two deep": explored[M].deep, "plan with an approval": explored[M].plan,
		"retry and failover": explored[M].shaky, "rejected answer": explored[M].judged,
	} {
		t.Run(name, func(t *testing.T) {
			explore(t, adktest.Exploration[M]{Answer: approve, Pairs: pairs(), Speculative: name == "eager"}, agent)
		})
		if _, ordinary := any(*new(M)).(*schema.Message); !ordinary {
			continue // a TurnLoop treats both kinds alike
		}
		t.Run(name+" in a TurnLoop", func(t *testing.T) {
			explore(t, adktest.Exploration[M]{Answer: approve, Pairs: pairs(), Speculative: name == "eager", TurnLoop: true},
				agent)
		})
	}
}

func TestExplore_Workflows(t *testing.T) {
	for name, agent := range workflows() {
		t.Run(name, func(t *testing.T) {
			explore(t, adktest.Exploration[*schema.Message]{Answer: approve, Pairs: pairs(),
				Unordered: name == "parallel" || name == "sequential with a plan"}, agent)
		})
	}
}
