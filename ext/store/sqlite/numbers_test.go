package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/ext/store/sqlite"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// The numbers of runs in a store, as docs/workers.md gives them: go test -bench Numbers -benchtime 1x, and more for the
// shorter ones.

func openAt(b *testing.B, path string) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(b.Context(), path)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

func open(b *testing.B) *sqlite.Store {
	b.Helper()
	return openAt(b, filepath.Join(b.TempDir(), "runs.db"))
}

type modelFunc func(history []*schema.Message) *schema.Message

func (f modelFunc) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return f(history), nil
}

func (f modelFunc) Stream(
	_ context.Context, history []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray([]*schema.Message{f(history)}), nil
}

// stepper is an agent that calls a tool so many times and then ends. With ask it asks before it does.
func stepper(b *testing.B, steps int, ask bool) adk.Agent {
	b.Helper()
	step, err := utils.InferTool("step", "step", func(ctx context.Context, _ struct{}) (string, error) {
		if _, answered, _ := tool.GetResumeContext[bool](ctx); ask && !answered {
			return "", tool.Interrupt(ctx, "May I?")
		}
		return "ok", nil
	})
	require.NoError(b, err)
	m := modelFunc(func(history []*schema.Message) *schema.Message {
		done := 0
		for _, m := range history {
			if m.Role == schema.Tool {
				done++
			}
		}
		if done == steps {
			return schema.AssistantMessage("done", nil)
		}
		return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint(done), Function: schema.FunctionCall{Name: "step", Arguments: "{}"}}})
	})
	agent, err := adk.NewChatModelAgent(b.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: m,
		MaxIterations: steps + 2,
		ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{step}}}})
	require.NoError(b, err)
	return agent
}

func job(n int) dispatch.Job {
	return dispatch.Job{ID: fmt.Sprint(n), Agent: "a", Messages: []*schema.Message{schema.UserMessage("go")}}
}

// BenchmarkNumbers_Waiting measures what ten thousand runs cost that wait for an answer. (N1)
func BenchmarkNumbers_Waiting(b *testing.B) {
	const many = 10_000
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "runs.db")
		store := openAt(b, path)
		d := dispatch.New(store, dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(stepper(b, 1, true))}})
		for n := range many {
			_, err := d.Submit(b.Context(), job(n))
			require.NoError(b, err)
			o, err := d.Execute(b.Context(), fmt.Sprint(n))
			require.NoError(b, err)
			require.Equal(b, runs.Waiting, o.Status)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Work(ctx, dispatch.WorkerConfig{}) }()
		time.Sleep(2 * time.Second)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		b.ReportMetric(float64(int64(after.HeapInuse)-int64(before.HeapInuse))/(1<<20), "MB")
		stop()
		require.NoError(b, <-ended)
		info, err := os.Stat(path)
		require.NoError(b, err)
		b.ReportMetric(float64(info.Size())/many, "storeB/run")

		begun := time.Now()
		n := 0
		for _, err := range d.List(b.Context(), runs.Query{Status: []runs.Status{runs.Waiting}, Limit: 50}) {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, 50, n)
		b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "list-ms")
		waiting, _, err := d.Inspect(b.Context(), "7")
		require.NoError(b, err)
		begun = time.Now()
		answer, err := runs.EncodeReply(waiting.Waiting[0].ID, runs.JSONReply("true"))
		require.NoError(b, err)
		require.NoError(b, d.Reply(b.Context(), "7", answer))
		o, err := d.Execute(b.Context(), "7")
		require.NoError(b, err)
		require.Equal(b, runs.Done, o.Status)
		b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "resume-ms")
	}
}

// BenchmarkNumbers_Run: a run of ten steps, each of which is saved, and one that is not saved. (N5)
func BenchmarkNumbers_Run(b *testing.B) {
	agent := stepper(b, 10, false)
	b.Run("stored", func(b *testing.B) {
		d := dispatch.New(open(b), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)}})
		n := 0
		for b.Loop() {
			_, err := d.Submit(b.Context(), job(n))
			require.NoError(b, err)
			o, err := d.Execute(b.Context(), fmt.Sprint(n))
			require.NoError(b, err)
			require.Equal(b, runs.Done, o.Status)
			n++
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "runs/s")
	})
	b.Run("not stored", func(b *testing.B) {
		r := adk.NewRunner(b.Context(), adk.RunnerConfig{Agent: agent})
		for b.Loop() {
			for it := r.Query(b.Context(), "go"); ; {
				e, ok := it.Next()
				if !ok {
					break
				}
				require.NoError(b, e.Err)
			}
		}
	})
}

// BenchmarkNumbers_Starts: how much more a run costs, start to end, beside ten thousand that the store keeps.
func BenchmarkNumbers_Starts(b *testing.B) {
	const sample, kept = 500, 10_000
	for b.Loop() {
		d := dispatch.New(open(b), dispatch.Config{Agents: dispatch.Agents{"a": dispatch.RunnerOf(stepper(b, 1, false))}})
		next := 0
		start := func(many int) time.Duration {
			begun := time.Now()
			for range many {
				j := job(next)
				j.Key = fmt.Sprint("key ", next)
				_, err := d.Submit(b.Context(), j)
				require.NoError(b, err)
				o, err := d.Execute(b.Context(), j.ID)
				require.NoError(b, err)
				require.Equal(b, runs.Done, o.Status)
				next++
			}
			return time.Since(begun)
		}
		start(sample) // a warm store
		few := start(sample)
		start(kept)
		b.ReportMetric(float64(start(sample))/float64(few), "x-at-10000")
		b.ReportMetric(float64(few.Microseconds())/sample, "µs/run")
	}
}

// BenchmarkNumbers_Resume: how long it takes to continue a run behind so many steps. (N7)
func BenchmarkNumbers_Resume(b *testing.B) {
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint("steps=", steps), func(b *testing.B) {
			agent := stepper(b, steps, false)
			n := 0
			var continued time.Duration
			for b.Loop() {
				store := open(b)
				id := fmt.Sprint(n)
				dying, die := context.WithCancel(b.Context())
				left := steps
				d := dispatch.New(store, dispatch.Config{TTL: time.Second, Agents: dispatch.Agents{"a": dispatch.RunnerOf(agent)},
					OnEvent: func(_ context.Context, _ runs.Info, e *adk.AgentEvent) {
						if m := e.Output; m != nil && m.MessageOutput != nil && m.MessageOutput.Role == schema.Tool {
							if left--; left == 0 {
								die()
							}
						}
					}})
				_, err := d.Submit(b.Context(), job(n))
				require.NoError(b, err)
				_, _ = d.Execute(dying, id)
				begun := time.Now()
				o, err := d.Execute(b.Context(), id)
				require.NoError(b, err)
				require.Equal(b, runs.Done, o.Status, "%v", o.Err)
				continued += time.Since(begun)
				n++
			}
			b.ReportMetric(float64(continued.Microseconds())/1000/float64(n), "resume-ms")
		})
	}
}

// BenchmarkNumbers_Conversation: a turn more, and the last fifty, of a conversation of a thousand. (N11)
func BenchmarkNumbers_Conversation(b *testing.B) {
	store, err := conversation.NewStore(open(b))
	require.NoError(b, err)
	head := conversation.Position(0)
	turn := func() {
		head, err = store.Append(b.Context(), "c", conversation.Main, conversation.NewTurn{Head: head, Turn: conversation.Turn{
			ID: fmt.Sprint(head), Asked: []*schema.Message{schema.UserMessage("hello")},
			Said: []adk.HistoryEntry{{Message: schema.AssistantMessage("hello", nil)}}}})
		require.NoError(b, err)
	}
	for range 1000 {
		turn()
	}
	b.Run("turn", func(b *testing.B) {
		for b.Loop() {
			turn()
		}
	})
	b.Run("last 50", func(b *testing.B) {
		for b.Loop() {
			messages, _, err := conversation.Messages(b.Context(), store, "c", conversation.Main, conversation.HistoryOptions{MaxTurns: 50})
			require.NoError(b, err)
			require.Len(b, messages, 100)
		}
	})
}
