package adktest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// forker forks runs that have ended. It is the probe of the agents of the forks: it notes the keys of their calls.
type forker[M adk.MessageType] struct {
	agent     func() adk.TypedAgent[M]
	streaming bool
	unordered bool
	// runs counts the runs that were forked, and made the forks.
	runs, made atomic.Int32

	// want holds what the agents of the first run, which was not stopped, knew at its end.
	want map[string][]string

	mu   sync.Mutex // guards keys and fork
	keys map[string]string
	// fork is the fork that is at work.
	fork string
}

func (f *forker[M]) Model(m model.BaseModel[M]) model.BaseModel[M] { return m }

func (f *forker[M]) Middleware() adk.TypedChatModelAgentMiddleware[M] {
	return &adk.TypedBaseChatModelAgentMiddleware[M]{}
}

func (f *forker[M]) Tool(t tool.InvokableTool) tool.InvokableTool { return forkedTool[M]{t, f} }

// forkedTool notes in which fork it is called.
type forkedTool[M adk.MessageType] struct {
	tool.InvokableTool
	forker *forker[M]
}

func (t forkedTool[M]) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	from, at := adk.ForkedFrom(ctx)
	f := t.forker
	f.mu.Lock()
	defer f.mu.Unlock()
	if from != "explored" || at == 0 {
		return "", fmt.Errorf("the tool does not know that it is in a fork: %q, %d", from, at)
	}
	key := adk.GetIdempotencyKey(ctx)
	if other, ok := f.keys[key]; ok && other != f.fork {
		return "", fmt.Errorf("the key of a call of fork %s is that of one of fork %s", f.fork, other)
	}
	f.keys[key] = f.fork
	return t.InvokableTool.InvokableRun(ctx, arguments, opts...)
}

// forkRun forks a run at every step, or at one of them if it is not the first run, and compares what forks come to.
func (f *forker[M]) forkRun(ctx context.Context, store adk.CheckPointStore) error {
	steps, err := adk.Steps(ctx, store, "explored")
	if errors.Is(err, runs.ErrNotFound) {
		return nil // its last life did not record them
	}
	if err != nil {
		return err
	}
	n := int(f.runs.Add(1))
	first, last := 1, len(steps)
	if n == 1 {
		f.want = f.transcripts(steps)
	} else {
		first = 1 + n*7919%len(steps)
		last = first
	}
	before, err := store.(runs.Journal).ReadRecords(ctx, "explored")
	if err != nil {
		return err
	}
	for at := first; at <= last; at++ {
		id := fmt.Sprintf("%d at %d", n, at)
		err := adk.Fork(ctx, store, "explored", adk.ForkOptions{At: at, NewID: id})
		if err != nil && reflect.DeepEqual(steps[0].Messages, []any(nil)) {
			return nil // an earlier life did not record them
		}
		if err == nil {
			err = f.live(ctx, store, id)
		}
		if err != nil {
			return fmt.Errorf("fork %s of %d: %w", id, len(steps), err)
		}
	}
	after, err := store.(runs.Journal).ReadRecords(ctx, "explored")
	if err == nil && !reflect.DeepEqual(before, after) {
		err = errors.New("forks have changed the origin")
	}
	return err
}

// live resumes a fork until it ends.
func (f *forker[M]) live(ctx context.Context, store adk.CheckPointStore, id string) error {
	f.mu.Lock()
	f.fork = id
	f.mu.Unlock()
	f.made.Add(1)
	var targets map[string]any
	for range 20 {
		runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: f.agent(), EnableStreaming: f.streaming,
			CheckPointStore: store, Durability: adk.EveryStep, KeepSteps: true})
		it, err := runner.ResumeWithParams(ctx, id, &adk.ResumeParams{Targets: targets})
		if err != nil {
			return err
		}
		targets = nil
		for e := range it.All() {
			if e.Err != nil {
				return e.Err
			}
			if e.Action == nil || e.Action.Interrupted == nil {
				continue
			}
			targets = map[string]any{}
			for _, point := range e.Action.Interrupted.InterruptContexts {
				if request, ok := point.Info.(*approval.Request); ok {
					targets[point.ID] = request.Approve()
				}
			}
		}
		if targets == nil {
			got, err := adk.Steps(ctx, store, id)
			if err != nil {
				return err
			}
			return f.compare(f.transcripts(got))
		}
	}
	return errors.New("it asks again and again")
}

// compare compares what the agents know at last with what they knew in the first run.
func (f *forker[M]) compare(got map[string][]string) error {
	for _, visit := range slices.Sorted(maps.Keys(f.want)) {
		if !slices.Equal(got[visit], f.want[visit]) {
			return fmt.Errorf("%s knows at last\n%q\nand in the first run\n%q", visit, got[visit], f.want[visit])
		}
	}
	if len(got) != len(f.want) {
		return fmt.Errorf("%d agents worked, and %d in the first run", len(got), len(f.want))
	}
	return nil
}

func (f *forker[M]) transcripts(steps []adk.Step) map[string][]string {
	all := map[string][]string{}
	for _, s := range steps {
		if s.Kind != adk.StepTurn {
			continue
		}
		messages := make([]M, len(s.Messages))
		for i, m := range s.Messages {
			messages[i] = m.(M)
		}
		lines := adktest.Lines(messages)
		if f.unordered {
			slices.Sort(lines)
		}
		all[s.Visit] = lines
	}
	return all
}

// forkEverywhere stops the runs of an agent everywhere, and forks all of them.
func forkEverywhere[M adk.MessageType](
	t *testing.T, e adktest.Exploration[M], agent func(explored[M]) adk.TypedAgent[M],
) {
	t.Helper()
	made := new(made[M])
	e.Query, e.Answer, e.Durability, e.Pairs, e.Boundaries = "Do it.", approve, adk.EveryStep, pairs(), boundaries()
	e.Agent = func(p *adktest.Probe[M]) adk.TypedAgent[M] { return agent(explored[M]{t, p, made}) }
	f := &forker[M]{streaming: e.Streaming, unordered: e.Unordered, keys: map[string]string{}}
	f.agent = func() adk.TypedAgent[M] { return agent(explored[M]{t, f, made}) }
	adktest.Explore(t.Context(), t, adktest.KeepingSteps(e, f.forkRun))
	require.Greater(t, f.made.Load(), f.runs.Load(), "at every step of the first run, and at one of each other")
}

// TestFork_RunsThatStoppedAnywhere: wherever a run was stopped on its way, a fork at any step comes to what the agents
// of the run came to.
// Rules steps/FK-4, steps/FK-6.
func TestFork_RunsThatStoppedAnywhere(t *testing.T) {
	t.Run("ordinary", forkAgents[*schema.Message])
	t.Run("agentic", forkAgents[*schema.AgenticMessage])
	for name, agent := range workflows() {
		if !testsize.Full() && name != "sequential as a tool" && name != "transfer" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			forkEverywhere(t, adktest.Exploration[*schema.Message]{Streaming: true,
				Unordered: name == "parallel" || name == "sequential with a plan"}, agent)
		})
	}
}

func forkAgents[M adk.MessageType](t *testing.T) {
	for name, agent := range map[string]func(explored[M]) adk.TypedAgent[M]{
		"react": explored[M].react, "eager": explored[M].eager, "return directly": explored[M].direct,
		"agent tool two deep": explored[M].deep, "plan with an approval": explored[M].plan,
		"retry and failover": explored[M].shaky, "rejected answer": explored[M].judged,
	} {
		if !testsize.Full() && name != "eager" && name != "plan with an approval" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			forkEverywhere(t, adktest.Exploration[M]{Streaming: name == "eager", Speculative: name == "eager"}, agent)
		})
	}
}

// TestFork_RandomTrees: so do forks of runs of random trees. A search takes other seeds.
// Rule steps/FK-6.
func TestFork_RandomTrees(t *testing.T) {
	if !testsize.Full() {
		t.Skip("left out with -short and with the race detector")
	}
	for _, seed := range []uint64{1, 62} {
		dry := newTree(t, new(adktest.Probe[*schema.Message]), new(made[*schema.Message]), seed)
		dry.agentAt(randomDepth, once)
		t.Run(fmt.Sprintf("%d:%s", seed, dry.shape), func(t *testing.T) {
			e := adktest.Exploration[*schema.Message]{Streaming: seed&1 == 1, Unordered: dry.unordered}
			e.Speculative = dry.speculative && e.Streaming
			forkEverywhere(t, e, func(x explored[*schema.Message]) adk.Agent {
				return newTree(t, x.p, x.made, seed).agentAt(randomDepth, once)
			})
		})
	}
}
