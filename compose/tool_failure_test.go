package compose

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// bothForms calls a tools node as values and as streams.
var bothForms = map[string]func(*ToolsNode, context.Context, *schema.Message) error{
	"Invoke": func(tn *ToolsNode, ctx context.Context, in *schema.Message) error {
		_, err := tn.Invoke(ctx, in)
		return err
	},
	"Stream": func(tn *ToolsNode, ctx context.Context, in *schema.Message) error {
		s, err := tn.Stream(ctx, in)
		if err == nil {
			s.Close()
		}
		return err
	},
	"by stream": func(tn *ToolsNode, ctx context.Context, in *schema.Message) error {
		InternalSetToolsByStream(tn, func(context.Context) bool { return true })
		_, err := tn.Invoke(ctx, in)
		return err
	},
}

// The calls beside one that fails end as if it had not, also those that begin later, and are waited for.
// Rules compose/L-8, compose/B22.24.
func TestToolsNode_AFailureLeavesItsSiblingsAlone(t *testing.T) {
	for form, run := range bothForms {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Int32
				slow := &invokable{"slow", func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
					select {
					case <-ctx.Done():
						return "", ctx.Err()
					case <-time.After(2 * time.Second):
						ended.Add(1)
						return "ok", nil
					}
				}}
				failing := &invokable{"bad", func(context.Context, string, ...tool.Option) (string, error) { return "", errBoom }}
				tn := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{slow, failing}})
				start := time.Now()
				err := run(tn, t.Context(), calls("slow", "bad", "slow", "slow"))
				require.ErrorIs(t, err, errBoom)
				require.EqualValues(t, 3, ended.Load())
				require.Equal(t, 2*time.Second, time.Since(start))
			})
		})
	}
}

// A call that fails on its own, after another one, counts by its place in the message.
// Rule compose/L-8.
func TestToolsNode_IndependentFailuresCountByIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := errors.New("its own")
		tools := []tool.BaseTool{
			&invokable{"deaf", func(context.Context, string, ...tool.Option) (string, error) {
				time.Sleep(time.Second)
				return "", own
			}},
			&invokable{"bad", func(context.Context, string, ...tool.Option) (string, error) { return "", errBoom }},
		}
		err := bothForms["Invoke"](toolsNode(t, ToolsNodeConfig{Tools: tools}), t.Context(), calls("deaf", "bad"))
		require.ErrorIs(t, err, own)
	})
}

// Rule compose/L-8.
func TestToolsNode_InterruptsAndAbandonedCallsCancelNoSiblings(t *testing.T) {
	slow := &invokable{"slow", func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Second):
			return "ok", nil
		}
	}}
	for name, ask := range map[string]func(context.Context) error{
		"an interrupt":             func(ctx context.Context) error { return tool.Interrupt(ctx, "q") },
		"a legacy interrupt":       func(context.Context) error { return InterruptAndRerun },
		"a call that was given up": func(context.Context) error { return ErrToolCallGivenUp },
	} {
		for form, run := range bothForms {
			t.Run(name+" "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					asking := &invokable{"ask",
						func(ctx context.Context, _ string, _ ...tool.Option) (string, error) { return "", ask(ctx) }}
					tn := toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{slow, asking}})
					err := run(tn, t.Context(), calls("ask", "slow"))
					info, ok := IsInterruptRerunError(err)
					require.True(t, ok, "%v", err)
					require.Equal(t, map[string]string{"c1": "ok"}, info.(*ToolsInterruptAndRerunExtra).ExecutedTools)
				})
			})
		}
	}
}

// After a failure the calls that wait for their turn do not start.
// Rule compose/L-7.
func TestToolsNode_NothingStartsAfterAFailure(t *testing.T) {
	for name, conf := range map[string]ToolsNodeConfig{
		"one at a time": {MaxParallelCalls: 1},
		"two at a time": {MaxParallelCalls: 2},
		"sequential":    {ExecuteSequentially: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var late atomic.Int32
				conf.Tools = []tool.BaseTool{
					&invokable{"bad", func(context.Context, string, ...tool.Option) (string, error) { return "", errBoom }},
					&invokable{"wait", func(context.Context, string, ...tool.Option) (string, error) {
						time.Sleep(time.Second)
						return "", nil
					}},
					&invokable{"late", func(context.Context, string, ...tool.Option) (string, error) { late.Add(1); return "", nil }},
				}
				message := calls("bad", "late", "late")
				if conf.MaxParallelCalls == 2 {
					message = calls("wait", "bad", "late", "late")
				}
				require.ErrorIs(t, bothForms["Invoke"](toolsNode(t, conf), t.Context(), message), errBoom)
				require.Zero(t, late.Load())
			})
		})
	}
}

// The contexts of calls outlive the node, for streams and whatever else a tool has started, but not what they are in.
// Rule compose/L-6.
func TestToolsNode_ContextsOutliveTheCalls(t *testing.T) {
	type key struct{}
	boss := errors.New("the user left")
	for name, derive := range map[string]func(context.Context) (context.Context, context.CancelCauseFunc){
		"cancellable": context.WithCancelCause,
		"limited": func(ctx context.Context) (context.Context, context.CancelCauseFunc) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			ctx, cause := context.WithCancelCause(ctx)
			return ctx, func(err error) { cause(err); cancel() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kept [2]context.Context
				keep := &invokable{"keep", func(ctx context.Context, args string, _ ...tool.Option) (string, error) {
					kept[args[0]-'0'] = ctx
					_ = ctx.Done()
					return "", nil
				}}
				ctx, cancel := derive(context.WithValue(t.Context(), key{}, "v"))
				require.NoError(t, bothForms["Invoke"](toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{keep}}), ctx,
					calls("keep:0", "keep:1")))
				for _, c := range kept {
					require.NoError(t, c.Err())
					require.Equal(t, "v", c.Value(key{}))
					limit, limited := c.Deadline()
					wantLimit, want := ctx.Deadline()
					require.Equal(t, want, limited)
					require.Equal(t, wantLimit, limit)
				}
				cancel(boss)
				for _, c := range kept {
					<-c.Done()
					require.ErrorIs(t, c.Err(), context.Canceled)
					require.ErrorIs(t, context.Cause(c), boss)
				}
			})
		})
	}
}

// Rule compose/L-6.
func TestToolsNode_ACallHasTheDeadlineOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait := &invokable{"wait", func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}}
		err := bothForms["Invoke"](toolsNode(t, ToolsNodeConfig{Tools: []tool.BaseTool{wait}}), ctx, calls("wait", "wait"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "id:c0")
	})
}

// An early call ends, as any other, if a call beside it fails; and one that fails leaves the others alone.
// Rule compose/L-17.
func TestToolsNode_EarlyCallsAreSiblings(t *testing.T) {
	for failing := range 2 {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			act := func(place int, ctx context.Context) error {
				if place == failing {
					return errBoom
				}
				time.Sleep(time.Second)
				ended = true
				return ctx.Err()
			}
			tn := toolsNode(t,
				ToolsNodeConfig{Tools: []tool.BaseTool{&invokable{"t",
					func(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
						return "", act(1, ctx)
					}}}})
			InternalSetEarlyToolCalls(tn, func(context.Context, *schema.Message) ([]EarlyToolCall, error) {
				return []EarlyToolCall{func(
					ctx context.Context,
				) (*schema.StreamReader[string], *schema.StreamReader[*schema.ToolResult], error) {
					if err := act(0, ctx); err != nil {
						return nil, nil, err
					}
					return schema.StreamReaderFromArray([]string{"early"}), nil, nil
				}, nil}, nil
			})
			err := bothForms["Invoke"](tn, t.Context(), calls("t", "t"))
			require.ErrorIs(t, err, errBoom)
			require.True(t, ended)
		})
	}
}
