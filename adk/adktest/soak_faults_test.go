package adktest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/middlewares/approval"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// faults says what goes wrong in one life of a run: one thing, when left has counted the calls of user code down to 0.
type faults struct {
	mu   sync.Mutex // guards left
	left int
	do   func(ctx context.Context) error
}

// faultsKey asks a context for the faults of the run.
type faultsKey struct{}

// pass is called wherever user code is called.
func pass(ctx context.Context) error {
	f, _ := ctx.Value(faultsKey{}).(*faults)
	if f == nil {
		return nil
	}
	f.mu.Lock()
	f.left--
	due := f.left == 0
	f.mu.Unlock()
	if !due {
		return nil
	}
	return f.do(ctx)
}

var errSoak = errors.New("something went wrong")

// cancelModes lists the modes of cancels.
var cancelModes = []adk.CancelMode{
	adk.CancelImmediate, adk.CancelAfterChatModel, adk.CancelAfterToolCalls,
	adk.CancelAfterChatModel | adk.CancelAfterToolCalls,
}

// cancelOptions are random options of a cancel.
func cancelOptions(rnd *rand.Rand) []adk.AgentCancelOption {
	opts := []adk.AgentCancelOption{adk.WithAgentCancelMode(cancelModes[rnd.IntN(len(cancelModes))])}
	if rnd.IntN(2) == 0 {
		opts = append(opts, adk.WithRecursive())
	}
	if rnd.IntN(3) == 0 {
		opts = append(opts, adk.WithAgentCancelTimeout(time.Duration(1+rnd.IntN(2000))*time.Microsecond))
	}
	return opts
}

// disturbance holds what a fault can use.
type disturbance struct {
	cancel adk.AgentCancelFunc
	end    context.CancelFunc
	store  *adktest.Store // nil if the run has another one
	// happened: there was a fault in one of the lives of the run.
	happened bool
}

// randomFault is a fault at random, nil for none. at is how many calls of user code come before it, at most.
func randomFault(rnd *rand.Rand, d disturbance, at int) *faults {
	opts, wait := cancelOptions(rnd), time.Duration(rnd.IntN(1000))*time.Microsecond
	kinds := []func(ctx context.Context) error{
		nil, nil, nil,
		func(context.Context) error { panic("a panic of the user's code") },
		func(context.Context) error { return errSoak },
		func(context.Context) error { runtime.Goexit(); return nil },
		func(ctx context.Context) error { d.end(); return ctx.Err() },
		func(ctx context.Context) error { d.cancel(opts...); return ctx.Err() },
		func(ctx context.Context) error { d.cancel(opts...); time.Sleep(wait); return nil },
		func(ctx context.Context) error { return tool.Interrupt(ctx, "?") }, // an error, where it is not a tool's
		func(context.Context) error {
			if d.store != nil {
				d.store.Fail(errSoak)
			}
			return nil
		},
	}
	do := kinds[rnd.IntN(len(kinds))]
	if do == nil {
		return nil
	}
	return &faults{left: 1 + rnd.IntN(at), do: do}
}

// faultyProbe makes the models, tools and hooks of an agent pass the faults of their run.
type faultyProbe[M adk.MessageType] struct{}

func (faultyProbe[M]) Model(m model.BaseModel[M]) model.BaseModel[M] { return &faultyModel[M]{m} }

// Tool replaces the tools of package adktest, which remember their calls.
func (faultyProbe[M]) Tool(t tool.InvokableTool) tool.InvokableTool {
	switch t := t.(type) {
	case *adktest.Tool:
		return &faultyTool{echo{t}}
	case endsLoop:
		return &faultyTool{endsLoop{echo{t}}}
	}
	return &faultyTool{t}
}

// Ledger returns one that remembers nothing: the ledger of package approval keeps decisions for a day.
func (faultyProbe[M]) Ledger() approval.Ledger { return blankLedger{} }

type blankLedger struct{}

func (blankLedger) Use(context.Context, string, time.Time) (bool, error) { return true, nil }

// echo is a tool that returns its arguments, and has from another one what it says about itself.
type echo struct{ tool.BaseTool }

func (echo) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	return arguments, nil
}

// Follows makes a model that remembers nothing, as it is made again for each call.
func (faultyProbe[M]) Follows(script []adktest.Answer) model.BaseModel[M] {
	return &forgetful[M]{script}
}

type forgetful[M adk.MessageType] struct{ script []adktest.Answer }

func (m *forgetful[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (M, error) {
	return adktest.NewRecallingModel[M](silent{}, m.script...).Generate(ctx, in, opts...)
}

func (m *forgetful[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	return adktest.NewRecallingModel[M](silent{}, m.script...).Stream(ctx, in, opts...)
}

func (faultyProbe[M]) Middleware() adk.TypedChatModelAgentMiddleware[M] { return &faultyHooks[M]{} }

type faultyModel[M adk.MessageType] struct{ model.BaseModel[M] }

func (m *faultyModel[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (none M, err error) {
	if err := pass(ctx); err != nil {
		return none, err
	}
	return m.BaseModel.Generate(ctx, in, opts...)
}

func (m *faultyModel[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	if err := pass(ctx); err != nil {
		return nil, err
	}
	s, err := m.BaseModel.Stream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithConvert(s, func(chunk M) (M, error) { return chunk, pass(ctx) }), nil
}

type faultyTool struct{ tool.InvokableTool }

func (t *faultyTool) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	if err := pass(ctx); err != nil {
		return "", err
	}
	result, err := t.InvokableTool.InvokableRun(ctx, arguments, opts...)
	if err != nil {
		return "", err
	}
	return result, pass(ctx)
}

type faultyHooks[M adk.MessageType] struct {
	adk.TypedBaseChatModelAgentMiddleware[M]
}

func (*faultyHooks[M]) BeforeModelRewriteState(
	ctx context.Context, s *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	return ctx, s, pass(ctx)
}

func (*faultyHooks[M]) AfterModelRewriteState(
	ctx context.Context, s *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	return ctx, s, pass(ctx)
}

func (*faultyHooks[M]) AfterAgent(
	ctx context.Context, _ *adk.TypedChatModelAgentState[M],
) (context.Context, error) {
	return ctx, pass(ctx)
}
