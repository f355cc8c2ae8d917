package dispatchtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/dispatch"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/internal/testsize"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// RunWritten tests that a run which asks at every step writes to a store what it adds, and not its history each time: with 100
// steps and with 400 (20 and 60 with the race detector) at most two copies of what is said, and for each step so many bytes
// that depend on neither.
// Rule distributed/J10.
func RunWritten(t *testing.T, store runs.Store) {
	t.Helper()
	agent, err := asking(t.Context(), "asking")
	require.NoError(t, err)
	counts := []int{100, 400}
	if !testsize.Full() {
		counts = []int{20, 60}
	}
	for _, steps := range counts {
		written := written(t, store, dispatch.RunnerOf(agent), "asking", steps)
		require.Less(t, written, int64(steps)*(2*saidAStep+besides), "%d steps", steps)
		t.Logf("%d steps of %d bytes: %d bytes written, %.1f for each of them", steps, saidAStep, written,
			float64(written)/float64(steps*saidAStep))
	}
}

const (
	// saidAStep is the number of bytes that a run of asking says in each step.
	saidAStep = 2 << 10
	// The number of bytes that the question of a step, its answer and the records may add to that.
	besides = 4 << 10
)

// asking makes an agent whose tool asks in every step, and then says saidAStep bytes. The message that it is given ends with
// how many steps the run has.
func asking(ctx context.Context, name string) (adk.Agent, error) {
	says := toolOf("says", func(ctx context.Context) (string, error) {
		if _, answered, answer := tool.GetResumeContext[string](ctx); answered {
			return answer + strings.Repeat(" said", saidAStep/5), nil
		}
		return "", tool.Interrupt(ctx, &ask{[]string{"ana"}})
	})
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: name, Description: name, MaxIterations: 1000,
		Model: &stepping{}, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{says}}}})
}

// stepping is a model that calls the tool as often as it is asked to.
type stepping struct{ scripted }

func (s *stepping) Generate(_ context.Context, history []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	steps, done := 0, 0
	for _, m := range history {
		switch m.Role {
		case schema.User:
			_, _ = fmt.Sscan(m.Content[strings.LastIndexByte(m.Content, ' ')+1:], &steps)
		case schema.Tool:
			done++
		}
	}
	if done >= steps {
		return schema.AssistantMessage("done", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprint("c", done),
		Function: schema.FunctionCall{Name: "says", Arguments: fmt.Sprintf(`{"request":"%d of %d"}`, done, steps)}}}), nil
}

// written executes a run of so many questions, and returns how many bytes the store was given.
func written(t *testing.T, store runs.Store, maker dispatch.TypedRunnerFunc[*schema.Message], agent string, questions int) int64 {
	t.Helper()
	counted := &weighed{Store: store}
	d := dispatch.New(counted, dispatch.Config{Agents: dispatch.Agents{agent: maker}})
	id := fmt.Sprint("written-", questions)
	_, err := d.Submit(t.Context(), dispatch.Job{ID: id, Agent: agent,
		Messages: []*schema.Message{schema.UserMessage(fmt.Sprint("steps: ", questions))}})
	require.NoError(t, err)
	for range questions {
		info := stretched(t, d, store, id)
		require.Equal(t, runs.Waiting, info.Status, info.Error)
		answer, err := runs.EncodeReply(info.Waiting[0].ID, "yes")
		require.NoError(t, err)
		require.NoError(t, d.Reply(t.Context(), id, answer))
	}
	info := stretched(t, d, store, id)
	require.Equal(t, runs.Done, info.Status, info.Error)
	return counted.bytes.Load()
}

// stretched executes a run until it stops.
func stretched(t *testing.T, d *dispatch.Dispatcher, store runs.Store, id string) runs.Info {
	t.Helper()
	_, err := d.Execute(t.Context(), id)
	require.NoError(t, err)
	info, found, err := store.Inspect(t.Context(), id)
	require.NoError(t, err)
	require.True(t, found)
	return info
}

// weighed is a store that counts the bytes of what it is given of runs.
type weighed struct {
	runs.Store
	bytes atomic.Int64
}

func (s *weighed) Unwrap() checkpoint.Store { return s.Store }

func (s *weighed) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	lease, err := s.Store.Acquire(ctx, id, req)
	if err != nil {
		return nil, err
	}
	return &weighedLease{lease, s}, nil
}

func (s *weighed) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	for _, a := range answers {
		s.bytes.Add(int64(len(a.Data)))
	}
	return s.Store.Reply(ctx, id, answers...)
}

type weighedLease struct {
	runs.Lease
	store *weighed
}

func (l *weighedLease) Set(ctx context.Context, id string, checkPoint []byte) error {
	l.store.bytes.Add(int64(len(checkPoint)))
	return l.Lease.Set(ctx, id, checkPoint)
}

func (l *weighedLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	l.store.bytes.Add(int64(len(record)))
	return l.Lease.AppendRecord(ctx, id, record)
}

func (l *weighedLease) Settle(ctx context.Context, s runs.Settlement) error {
	questions, err := json.Marshal(s.Waiting)
	if err != nil {
		return err
	}
	l.store.bytes.Add(int64(len(s.Checkpoint) + len(s.Result) + len(s.Answer) + len(questions)))
	return l.Lease.Settle(ctx, s)
}
