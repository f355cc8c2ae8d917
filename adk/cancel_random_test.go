package adk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// stage is a run of many agents: a sequence with agent tools in each other, and a parallel part. Models answer by what
// they see, so that a resumed run needs no memory of theirs; each model and tool call has a name.
type stage struct {
	*dice
	t  *testing.T
	mu sync.Mutex
	// done counts the calls that have returned what the run kept.
	done map[string]int
}

func (s *stage) sleep(ctx context.Context) error {
	d := time.Duration(1 + s.roll(10_000_000)) // never ends at the moment of a cancel
	if s.roll(3) == 0 {                        // a careless one
		time.Sleep(d)
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stage) finished(ctx context.Context, call string) {
	if ctx.Err() != nil { // no caller waits for it
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[call]++
}

// player is a model that makes its calls one after the other, and then says that it is done.
type player struct {
	s     *stage
	name  string
	calls []string // the names of tools
}

func (p *player) answer(ctx context.Context, in []Message) (Message, error) {
	if err := p.s.sleep(ctx); err != nil {
		return nil, err
	}
	made := 0
	for _, m := range in {
		if m.Role == schema.Assistant {
			made++
		}
		for _, c := range m.ToolCalls {
			answered := slices.ContainsFunc(in, func(r Message) bool { return r.Role == schema.Tool && r.ToolCallID == c.ID })
			require.True(p.s.t, answered, "call %s of %s has no result", c.ID, p.name)
		}
	}
	p.s.finished(ctx, fmt.Sprint(p.name, " model ", made))
	if made >= len(p.calls) {
		return schema.AssistantMessage(p.name+" done", nil), nil
	}
	id := fmt.Sprint(p.name, "-", made)
	switch name := p.calls[made]; name {
	case "two":
		return schema.AssistantMessage("", []schema.ToolCall{
			{ID: id + "a", Function: schema.FunctionCall{Name: "work", Arguments: id + "a"}},
			{ID: id + "b", Function: schema.FunctionCall{Name: "work", Arguments: id + "b"}},
		}), nil
	case "inner", "inner2":
		return callOf(name, id, `{"request":"do"}`), nil
	case "transfer":
		return callOf(TransferToAgentToolName, id, `{"agent_name":"helper"}`), nil
	default:
		return callOf(name, id, id), nil
	}
}

func (p *player) Generate(ctx context.Context, in []Message, _ ...model.Option) (Message, error) {
	return p.answer(ctx, in)
}

func (p *player) Stream(ctx context.Context, in []Message, _ ...model.Option) (*schema.StreamReader[Message], error) {
	whole, err := p.answer(ctx, in)
	if err != nil {
		return nil, err
	}
	r, w := schema.Pipe[Message](0)
	go func() {
		defer w.Close()
		if whole.Content == "" {
			w.Send(whole, nil)
			return
		}
		for _, c := range whole.Content {
			if p.s.sleep(context.Background()) != nil || w.Send(schema.AssistantMessage(string(c), nil), nil) {
				return
			}
		}
	}()
	return r, nil
}

func (s *stage) work() tool.BaseTool {
	return &toolFunc{"work", func(ctx context.Context, args string) (string, error) {
		if err := s.sleep(ctx); err != nil {
			return "", err
		}
		s.finished(ctx, "tool "+args)
		return "<" + args + ">", nil
	}}
}

func (s *stage) build() Agent {
	t := s.t
	agent := func(name string, tools []tool.BaseTool, calls ...string) *ChatModelAgent {
		return newOrdinary(t, name, &player{s, name, calls}, append(tools, s.work())...)
	}
	inner := NewAgentTool(t.Context(), agent("inner", nil, "work", "two"))
	inner2 := NewAgentTool(t.Context(), agent("inner2", []tool.BaseTool{inner}, "inner", "work"))
	first := agent("first", []tool.BaseTool{inner2}, "two", "inner2", "work")
	par, err := NewParallelAgent(t.Context(), &ParallelAgentConfig{Name: "par", SubAgents: []Agent{
		agent("left", nil, "work"), agent("right", nil, "two", "work")}})
	require.NoError(t, err)
	boss, err := SetSubAgents(t.Context(), agent("boss", nil, "work", "transfer"), []Agent{agent("helper", nil, "two")})
	require.NoError(t, err)
	seq, err := NewSequentialAgent(t.Context(),
		&SequentialAgentConfig{Name: "seq", SubAgents: []Agent{first, par, boss, agent("last", nil, "work")}})
	require.NoError(t, err)
	return seq
}

// TestCancel_AtAnyMoment cancels a run of many agents again and again, at random moments and in random ways, and
// resumes it until it ends: each life ends by itself or with exactly one CancelError, the answers are the same as
// without cancels, and no call that had finished is made again.
// Rules runtime/C7, runtime/C16, runtime/C24.
func TestCancel_AtAnyMoment(t *testing.T) {
	forSeeds(t, 600, func(t *testing.T, seed uint64, d *dice) {
		s := &stage{dice: d, t: t, done: map[string]int{}}
		store := memory{}
		agent := s.build()
		streaming := seed%2 == 0
		r := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming, CheckPointStore: store})
		said := map[string]int{}
		for life := 0; ; life++ {
			option, cancel := WithCancel()
			var it *AsyncIterator[*AgentEvent]
			if life == 0 {
				it = r.Query(t.Context(), "hi", WithCheckPointID("1"), option)
			} else {
				var err error
				it, err = r.Resume(t.Context(), "1", option)
				require.NoError(t, err)
			}
			asked := life < 6
			var handle *CancelHandle
			if asked {
				delay := time.Duration(s.roll(60)) * time.Millisecond
				mode := []CancelMode{CancelImmediate, CancelImmediate, CancelAfterChatModel, CancelAfterToolCalls}[s.roll(4)]
				opts := []AgentCancelOption{WithAgentCancelMode(mode)}
				if s.roll(4) > 0 {
					opts = append(opts, WithRecursive())
				}
				if s.roll(2) > 0 {
					opts = append(opts, WithAgentCancelTimeout(time.Duration(1+s.roll(20))*time.Millisecond))
				}
				time.Sleep(delay)
				handle, _ = cancel(opts...)
			}
			cancelled := s.drain(it, said)
			if asked {
				err := handle.Wait()
				if cancelled == nil {
					require.ErrorIs(t, err, ErrExecutionEnded)
				} else if err != nil {
					require.ErrorIs(t, err, ErrCancelTimeout)
				}
			}
			if cancelled == nil {
				break
			}
			require.Equal(t, "1", cancelled.CheckPointID)
			require.NotEmpty(t, cancelled.InterruptContexts)
		}
		time.Sleep(time.Second) // what was given up
		synctest.Wait()
		for _, name := range []string{"first", "left", "right", "helper", "last"} {
			require.Equal(t, 1, said[name+" done"], "%s: %v", name, said)
		}
		for call, n := range s.done {
			if !streaming || call[:4] == "tool" { // a stream may be cut off after its model has returned it
				require.Equal(t, 1, n, call)
			}
		}
	})
}

// drain reads what a process emits to its end and counts the whole messages.
func (s *stage) drain(it *AsyncIterator[*AgentEvent], said map[string]int) (cancelled *CancelError) {
	for e := range it.All() {
		require.Nil(s.t, cancelled, "the CancelError is the last event")
		if e.Err != nil {
			require.ErrorAs(s.t, e.Err, &cancelled)
			continue
		}
		require.True(s.t, e.Action == nil || e.Action.Interrupted == nil)
		m, _, err := GetMessage(e)
		if err != nil {
			require.True(s.t, errors.Is(err, ErrStreamCanceled), "%v", err)
			continue
		}
		said[m.Content]++
	}
	return cancelled
}
