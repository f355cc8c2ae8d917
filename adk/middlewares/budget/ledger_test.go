package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/middlewares/budget"
	"github.com/weftgo/weft/adk/middlewares/internal/messagetest"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/schema"
)

// process is a store that a process can reach while it lives.
type process struct {
	*checkpoint.MemoryStore
	dead bool
}

// modelFunc is a model.
type modelFunc func() (*schema.Message, error)

func (f modelFunc) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return f()
}

func (f modelFunc) Stream(context.Context, []*schema.Message,
	...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := f()
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

var errDead = errors.New("the process is dead")

func (p *process) AppendRecord(ctx context.Context, id string, record []byte) error {
	if p.dead {
		return errDead
	}
	return p.MemoryStore.AppendRecord(ctx, id, record)
}

func (p *process) Set(ctx context.Context, id string, data []byte) error {
	if p.dead {
		return errDead
	}
	return p.MemoryStore.Set(ctx, id, data)
}

// A run whose process dies in every call comes to its limits all the same.
func TestOpenAccount_LimitsARunAcrossDeaths(t *testing.T) {
	for name, test := range map[string]struct {
		limits     budget.Limits
		dieInModel bool
		models     int
		tools      int
	}{
		"in the model": {budget.Limits{ModelCalls: 5}, true, 5, 0},
		"in a tool":    {budget.Limits{ToolCalls: 5}, false, 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			store := checkpoint.NewMemoryStore()
			models, tools := 0, 0
			for life := range 20 {
				p := &process{MemoryStore: store}
				die := func() error { p.dead = true; return errDead }
				m := modelFunc(func() (*schema.Message, error) {
					models++
					if test.dieInModel {
						return nil, die()
					}
					return messagetest.Calling[*schema.Message]("a"), nil
				})
				tl, err := utils.InferTool("t", "dies", func(context.Context, struct{}) (string, error) {
					tools++
					return "", die()
				}, utils.WithIdempotent())
				require.NoError(t, err)
				account, err := budget.OpenAccount(t.Context(), p, "run-1", test.limits)
				require.NoError(t, err)
				runner := adk.NewRunner(t.Context(), adk.RunnerConfig{
					Agent:           agentOf(t, m, made[*schema.Message](t, budget.Config{}), tl),
					CheckPointStore: p, Durability: adk.EveryStep,
				})
				ctx := budget.NewContext(t.Context(), account)
				var events *adk.AsyncIterator[*adk.AgentEvent]
				if life == 0 {
					events = runner.Query(ctx, "hi", adk.WithCheckPointID("run-1"))
				} else if events, err = runner.Resume(ctx, "run-1"); err != nil {
					t.Fatal(err)
				}
				var last error
				for event := range events.All() {
					last = event.Err
				}
				if errors.Is(last, budget.ErrExceeded) {
					require.Equal(t, test.models, models)
					require.Equal(t, test.tools, tools)
					return
				}
				require.ErrorIs(t, last, errDead)
			}
			t.Fatal("the run never came to its limit")
		})
	}
}

func TestOpenAccount_KeepsWhatWasSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := checkpoint.NewMemoryStore()
		limits := budget.Limits{Tokens: 250}
		run := func() (budget.Spent, error) {
			account, err := budget.OpenAccount(t.Context(), store, "user", limits)
			require.NoError(t, err)
			calls := 0
			m := modelFunc(func() (*schema.Message, error) {
				time.Sleep(time.Second)
				if calls++; calls == 1 {
					return messagetest.Used(messagetest.Calling[*schema.Message]("a"), 60, 40), nil
				}
				return schema.AssistantMessage("done", nil), nil
			})
			agent := agentOf(t, m, made[*schema.Message](t, budget.Config{}), adktest.NewTool("t"))
			err = adktest.Ask(budget.NewContext(t.Context(), account), t, agent, "hi").Err()
			return account.Spent(), err
		}
		spent, err := run()
		require.NoError(t, err)
		require.Equal(t, budget.Spent{ModelCalls: 2, ToolCalls: 1, Tokens: 100, WallTime: 2 * time.Second}, spent)
		time.Sleep(time.Hour) // in which no process has the account open
		spent, err = run()
		require.NoError(t, err)
		require.Equal(t, budget.Spent{ModelCalls: 4, ToolCalls: 2, Tokens: 200, WallTime: 4 * time.Second}, spent)
		_, err = run()
		require.ErrorIs(t, err, budget.ErrExceeded)
	})
}

// failing is a store that returns the values and errors it was given.
type failing struct {
	data     []byte
	get, set error
}

func (f *failing) Get(context.Context, string) ([]byte, bool, error) {
	return f.data, f.data != nil, f.get
}
func (f *failing) Set(context.Context, string, []byte) error { return f.set }

func TestOpenAccount_Errors(t *testing.T) {
	broken := errors.New("broken")
	_, err := budget.OpenAccount(t.Context(), nil, "x", budget.Limits{})
	require.ErrorContains(t, err, "needs a store and an ID")
	_, err = budget.OpenAccount(t.Context(), &failing{}, "", budget.Limits{})
	require.ErrorContains(t, err, "needs a store and an ID")
	_, err = budget.OpenAccount(t.Context(), &failing{get: broken}, "x", budget.Limits{})
	require.ErrorIs(t, err, broken)
	_, err = budget.OpenAccount(t.Context(), &failing{data: []byte("no")}, "x", budget.Limits{})
	require.ErrorContains(t, err, `load account "x"`)
	_, err = budget.OpenAccount(t.Context(), &failing{data: []byte(`{"Version":2}`)}, "x", budget.Limits{})
	require.ErrorContains(t, err, "it is of version 2")

	account, err := budget.OpenAccount(t.Context(), &failing{set: broken}, "x", budget.Limits{})
	require.NoError(t, err)
	m := modelFunc(func() (*schema.Message, error) { panic("a call that cannot be written down is not made") })
	err = adktest.Ask(budget.NewContext(t.Context(), account), t, agentOf(t, m, made[*schema.Message](t, budget.Config{})),
		"hi").Err()
	require.ErrorIs(t, err, broken)
}
