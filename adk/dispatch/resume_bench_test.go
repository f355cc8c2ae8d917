package dispatch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// BenchmarkStretch_BehindSteps: what it costs to continue a run behind so many steps, without what the store costs. Each
// is a turn, the start of a call and its result. (N7)
func BenchmarkStretch_BehindSteps(b *testing.B) {
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint("steps=", steps), func(b *testing.B) {
			first := checkpoint.NewMemoryStore()
			var records [][]byte // when all steps are done, and the last answer is not there
			m := modelFunc(func(ctx context.Context, history []*schema.Message) (*schema.Message, error) {
				done := (len(history) - 1) / 2
				if done < steps {
					return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint(done),
						Function: schema.FunctionCall{Name: "step", Arguments: "{}"}}}), nil
				}
				if records == nil {
					records, _ = first.ReadRecords(ctx, "1")
				}
				return schema.AssistantMessage("done", nil), nil
			})
			step := toolNamed(b, "step", func(context.Context) (string, error) { return "ok", nil })
			agent, err := adk.NewChatModelAgent(b.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: m,
				MaxIterations: steps + 2,
				ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{step}}}})
			require.NoError(b, err)
			stretch := func(store runs.Store) {
				d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
				o, err := d.Execute(b.Context(), "1")
				require.NoError(b, err)
				require.Equal(b, runs.Done, o.Status, "%v", o.Err)
			}
			job := jobOf("1", "a")
			run, err := job.NewRun()
			require.NoError(b, err)
			_, err = first.Submit(b.Context(), "1", run)
			require.NoError(b, err)
			stretch(first)
			run.Records = records
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				store := checkpoint.NewMemoryStore()
				_, err := store.Submit(b.Context(), "1", run)
				require.NoError(b, err)
				b.StartTimer()
				stretch(store)
			}
		})
	}
}
