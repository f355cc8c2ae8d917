package runlog_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/internal/racedetector"
	"github.com/weftgo/weft/schema"
)

// worker is a model that answers with calls of a tool, turn after turn, and then with a text.
type worker struct{ turns, calls int }

func (w worker) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	turn := 0
	for _, m := range input {
		if m.Role == schema.Assistant {
			turn++
		}
	}
	if turn == w.turns {
		return schema.AssistantMessage("done", nil), nil
	}
	calls := make([]schema.ToolCall, w.calls)
	for i := range calls {
		calls[i] = schema.ToolCall{ID: fmt.Sprintf("call_%d_%d", turn, i), Type: "function",
			Function: schema.FunctionCall{Name: "look", Arguments: "{}"}}
	}
	return schema.AssistantMessage("", calls), nil
}

func (w worker) Stream(
	ctx context.Context, input []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	m, err := w.Generate(ctx, input, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

// working is a run of so many turns with so many calls of a tool each.
func working(t testing.TB, turns, calls int) *adk.Runner {
	return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: worker{turns, calls}, MaxIterations: turns + 1},
		toolOf(t, "look", func(context.Context) (string, error) { return "sun", nil }))})
}

// recorded are how many allocations more a run costs that is recorded.
func recorded(t testing.TB, runner *adk.Runner) float64 {
	log := runlog.New(runlog.Config{Linger: -1})
	defer func() { require.NoError(t, log.Close(context.WithoutCancel(t.Context()))) }()
	on := testing.AllocsPerRun(50, func() { finish(t, runner, runlog.Observe(log, runlog.RunInfo{ID: "run"})...) })
	return on - testing.AllocsPerRun(50, func() { finish(t, runner) })
}

// Rule runlog/RL10.
func TestObserve_AllocatesLittle(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("the race detector hides allocations")
	}
	const turns, calls = 20, 10
	none, some, many := recorded(t, working(t, 0, 0)), recorded(t, working(t, turns, 1)), recorded(t, working(t, turns, 1+calls))
	tool := (many - some) / (turns * calls)
	call := (some-none)/turns - tool
	few, all := recorded(t, talking(t, 100)), recorded(t, talking(t, 1100))
	chunk := (all - few) / 1000
	t.Logf("allocations more: a run of one call of a model %.0f; each further one %.1f; a call of a tool %.1f; a chunk %.2f",
		none, call, tool, chunk)
	require.LessOrEqual(t, call, 12.0, "allocations a call of a model")
	require.LessOrEqual(t, tool, 8.0, "allocations a call of a tool")
	require.LessOrEqual(t, chunk, 0.1, "allocations a chunk")
}

// The two are measured in turn, and the best of each counts: what else the machine does can make both slower, and neither
// faster.
//
// Rule runlog/RL10.
func TestObserve_TakesLittleTime(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("the race detector makes everything slower, and not everything as much")
	}
	const most = 1.3
	log := runlog.New(runlog.Config{Linger: -1})
	runner := talking(t, 1000)
	round := func(opts func() []adk.AgentRunOption) time.Duration {
		const runs = 20
		begin := time.Now()
		for range runs {
			finish(t, runner, opts()...)
		}
		return time.Since(begin) / runs
	}
	off, on := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	ratio := func() float64 { return float64(on) / float64(off) }
	for i := 0; i < 10 || i < 200 && ratio() > most; i++ {
		off = min(off, round(func() []adk.AgentRunOption { return nil }))
		on = min(on, round(func() []adk.AgentRunOption { return runlog.Observe(log, runlog.RunInfo{ID: "run"}) }))
	}
	t.Logf("1,000 chunks: %s unrecorded, %s recorded: %.2f times", off, on, ratio())
	require.LessOrEqual(t, ratio(), most)
	require.NoError(t, log.Close(t.Context()))
}
