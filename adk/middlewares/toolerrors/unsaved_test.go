package toolerrors_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// Errors that end a run are none that the model reads.
func TestErrorsThatEndTheRunPass(t *testing.T) {
	for _, ends := range []error{runs.ErrNotSaved, runs.ErrLeaseLost, runs.ErrUndecided} {
		m := adktest.NewModel(t, adktest.Calls(adktest.Call("t", "{}")))
		failing := adktest.NewTool("t", adktest.Fails(fmt.Errorf("of an agent inside: %w", ends)))
		adktest.Ask(t.Context(), t, newAgent(t, "a", never(t), m, failing), "hi").ExpectError(ends)
	}
}

// losing is a store that loses records while it is asked to.
type losing struct {
	*checkpoint.MemoryStore
	loses atomic.Bool
}

func (l *losing) AppendRecord(ctx context.Context, id string, record []byte) error {
	if l.loses.Load() {
		return errors.New("the disk is gone")
	}
	return l.MemoryStore.AppendRecord(ctx, id, record)
}

// payment is a tool that can find out what became of its call, if it is lucky.
type payment struct {
	tool.InvokableTool
	outcome func() (*adk.ToolOutcome, error)
}

func (p payment) Outcome(context.Context, *adk.OutcomeUnknown) (*adk.ToolOutcome, error) {
	return p.outcome()
}

// An agent inside a tool pays, and that cannot be saved; later it cannot be found out. Its outer agent does not read of it
// as of a failure, which would have it pay once more: the run ends each time, until it is known that it has paid.
func TestAPaymentOfAnAgentInsideIsMadeOnce(t *testing.T) {
	store, paid := &losing{MemoryStore: checkpoint.NewMemoryStore()}, 0
	errAway := errors.New("the bank does not answer")
	outcome, unknown := (*adk.ToolOutcome)(nil), errAway
	agent := func() adk.Agent {
		pay := payment{adktest.NewTool("pay", adktest.Does(func(context.Context, string) (string, error) {
			paid++
			store.loses.Store(true)
			return "paid", nil
		})), func() (*adk.ToolOutcome, error) { return outcome, unknown }}
		payer, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "payer", Description: "pays",
			Model:       adktest.NewRecallingModel[*schema.Message](t, adktest.Calls(adktest.Call("pay", "{}")), adktest.Says("it is paid")),
			ToolsConfig: adktest.Tools(pay)})
		require.NoError(t, err)
		return newAgent(t, "desk", never(t), adktest.NewRecallingModel[*schema.Message](t, adktest.Calls(adktest.Call("payer", `{"request":"pay"}`)),
			adktest.Says("done")), adk.NewAgentTool(t.Context(), payer))
	}
	runner := func() *adk.Runner {
		store.loses.Store(false)
		return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(), CheckPointStore: store, Durability: adk.EveryStep,
			Lease: adk.LeaseOptions{Off: true}})
	}
	resumed := func() *adktest.Events[*schema.Message] {
		events, err := runner().Resume(t.Context(), "run")
		require.NoError(t, err)
		return adktest.Collect(t, events)
	}
	adktest.Collect(t, runner().Query(t.Context(), "pay", adk.WithCheckPointID("run"))).ExpectError(runs.ErrNotSaved)
	resumed().ExpectError(errAway)
	outcome, unknown = &adk.ToolOutcome{Result: "paid"}, nil
	resumed().ExpectText("done")
	require.Equal(t, 1, paid)
}
