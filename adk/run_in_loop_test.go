package adk_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/tool"
	"github.com/weftgo/weft/schema"
)

// modes are agents whose runs are executed by the loop itself, and by a goroutine beside it.
func modes(t *testing.T, test func(t *testing.T, make func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner)) {
	for name, internal := range map[string]bool{"inline": false, "beside": true} {
		t.Run(name, func(t *testing.T) {
			test(t, func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner {
				config := adktest.Tools(tools...)
				config.EmitInternalEvents = internal
				agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "a", Description: "a", Model: m, ToolsConfig: config})
				require.NoError(t, err)
				return adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true, CheckPointStore: checkpoint.NewMemoryStore()})
			})
		})
	}
}

func goroutineID() string {
	var b [40]byte
	var id int
	_, _ = fmt.Sscanf(string(b[:runtime.Stack(b[:], false)]), "goroutine %d", &id)
	return fmt.Sprint(id)
}

func TestRunInLoop_ExecutesInTheGoroutineOfTheLoop(t *testing.T) {
	var ran []string
	note := adktest.Does(func(context.Context, string) (string, error) { ran = append(ran, goroutineID()); return "ok", nil })
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("note", `{}`)), adktest.Streams("a", "b"))
	agent := chatAgent(t, "a", m, adktest.NewTool("note", note))
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true})
	events := runner.Query(t.Context(), "?", adk.WithRunInLoop())
	require.Empty(t, m.Calls(), "the run begins with the loop")
	n := 0
	for e := range events.All() {
		require.NoError(t, e.Err)
		n++
		_, _, err := adk.GetMessage(e)
		require.NoError(t, err)
	}
	require.Equal(t, 3, n)
	require.Equal(t, []string{goroutineID()}, ran)
}

func TestRunInLoop_GivesTheEventsOfAnOrdinaryRun(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		script := []adktest.Answer{adktest.Calls(adktest.Call("x", `{}`)),
			adktest.Calls(adktest.Call("x", `{}`), adktest.Call("x", `{}`)), adktest.Streams("a", "b")}
		read := func(opts ...adk.AgentRunOption) []string {
			var lines []string
			x := adktest.NewTool("x", adktest.Says("1"), adktest.Says("2"), adktest.Says("2"))
			for e := range run(adktest.NewModel(t, script...), x).Query(t.Context(), "?", opts...).All() {
				require.NoError(t, e.Err)
				message, _, err := adk.GetMessage(e)
				require.NoError(t, err)
				lines = append(lines, adktest.Line(message))
			}
			slices.Sort(lines[3:5]) // side by side
			return lines
		}
		require.Equal(t, read(), read(adk.WithRunInLoop()))
	})
}

// endless streams until its context ends, and says when it is over.
type endless struct{ over sync.WaitGroup }

func (m *endless) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return nil, errors.New("streams only")
}

func (m *endless) Stream(ctx context.Context, _ []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](1)
	m.over.Go(func() {
		defer w.Close()
		for ctx.Err() == nil {
			if w.Send(schema.AssistantMessage("x", nil), nil) {
				return
			}
		}
	})
	return r, nil
}

func TestRunInLoop_NothingIsLeftBehindABreak(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		m := new(endless)
		for e := range run(m).Query(t.Context(), "?", adk.WithRunInLoop()).All() {
			require.NoError(t, e.Err)
			_, err := e.Output.MessageOutput.MessageStream.Recv()
			require.NoError(t, err)
			e.Output.MessageOutput.MessageStream.Close()
			break
		}
		m.over.Wait()
	})
}

func TestRunInLoop_ABreakEndsTheContextOfTools(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		synctest.Test(t, func(t *testing.T) {
			ended := 0
			waits := adktest.Does(func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				ended++
				return "", ctx.Err()
			})
			m := adktest.NewModel(t, adktest.Calls(adktest.Call("quick", `{}`), adktest.Call("waits", `{}`)))
			for e := range run(m, adktest.NewTool("quick", adktest.Says("1").After(time.Second)), adktest.NewTool("waits", waits)).
				Query(t.Context(), "?", adk.WithRunInLoop()).All() {
				require.NoError(t, e.Err)
				if e.Output.MessageOutput.Role == schema.Tool {
					break // while the other tool runs
				}
			}
			require.Equal(t, 1, ended, "the tool has ended before the statement behind the loop")
		})
	})
}

func TestRunInLoop_ResultsOfParallelToolsAreReadAsTheyCome(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		synctest.Test(t, func(t *testing.T) {
			m := adktest.NewModel(t, adktest.Calls(adktest.Call("slow", `{}`), adktest.Call("quick", `{}`)), adktest.Says("ok"))
			begin := time.Now()
			var at []time.Duration
			for e := range run(m, adktest.NewTool("quick", adktest.Says("1").After(time.Second)),
				adktest.NewTool("slow", adktest.Says("1").After(time.Minute))).Query(t.Context(), "?", adk.WithRunInLoop()).All() {
				require.NoError(t, e.Err)
				at = append(at, time.Since(begin).Round(time.Second))
			}
			require.Equal(t, []time.Duration{0, time.Second, time.Minute, time.Minute}, at)
		})
	})
}

func TestRunInLoop_APanicOfTheBodyIsTheBodys(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		for _, calls := range [][]adktest.ToolCall{{adktest.Call("x", `{}`)}, {adktest.Call("x", `{}`), adktest.Call("x", `{}`)}} {
			for at := range 2 { // the answer, a result
				m := adktest.NewModel(t, adktest.Calls(calls...).Repeated())
				x := adktest.NewTool("x", adktest.Says("1").Repeated())
				n := 0
				require.PanicsWithValue(t, "mine", func() {
					for range run(m, x).Query(t.Context(), "?", adk.WithRunInLoop()).All() {
						if n == at {
							panic("mine")
						}
						n++
					}
				})
			}
		}
	})
}

func TestRunInLoop_ABodyMayEndItsGoroutine(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		for _, calls := range [][]adktest.ToolCall{{adktest.Call("x", `{}`)}, {adktest.Call("x", `{}`), adktest.Call("x", `{}`)}} {
			var group sync.WaitGroup
			group.Go(func() {
				m := adktest.NewModel(t, adktest.Calls(calls...).Repeated())
				for e := range run(m, adktest.NewTool("x", adktest.Says("1").Repeated())).Query(t.Context(), "?", adk.WithRunInLoop()).All() {
					if e.Output.MessageOutput.Role == schema.Tool {
						runtime.Goexit()
					}
				}
			})
			group.Wait()
		}
	})
}

func TestRunInLoop_TheErrorOfTheRunIsItsLastEvent(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		var last error
		for e := range run(adktest.NewModel(t, adktest.Streams("a").ThenFails(errors.New("cut")))).Query(t.Context(), "?", adk.WithRunInLoop()).All() {
			last = e.Err
		}
		require.ErrorContains(t, last, "cut")
		for e := range run(adktest.NewModel(t, adktest.Panics("oops"))).Query(t.Context(), "?", adk.WithRunInLoop()).All() {
			last = e.Err
		}
		var panicked *schema.PanicError
		require.ErrorAs(t, last, &panicked)
	})
}

func TestRunInLoop_ReadWithNextItIsAnOrdinaryRun(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		events := run(adktest.NewModel(t, adktest.Says("ok"))).Query(t.Context(), "?", adk.WithRunInLoop())
		adktest.Collect(t, events).ExpectText("ok")
		for range events.All() {
			t.Error("it was read already")
		}
	})
}

func TestRunInLoop_ClosedItNeverBegins(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		events := run(adktest.NewModel(t)).Query(t.Context(), "?", adk.WithRunInLoop())
		events.Close()
		for range events.All() {
			t.Error("it was closed")
		}
		_, ok := events.Next()
		require.False(t, ok)
	})
}

func TestRunInLoop_IsInterruptedAndResumed(t *testing.T) {
	modes(t, func(t *testing.T, run func(m model.BaseChatModel, tools ...tool.BaseTool) *adk.Runner) {
		ask := adktest.NewTool("ask", adktest.Does(func(ctx context.Context, _ string) (string, error) {
			if interrupted, _, _ := tool.GetInterruptState[any](ctx); interrupted {
				return "yes", nil
			}
			return "", tool.Interrupt(ctx, "sure?")
		}).Repeated())
		runner := run(adktest.NewModel(t, adktest.Calls(adktest.Call("ask", `{}`)), adktest.Says("ok")), ask)
		var id string
		for e := range runner.Query(t.Context(), "?", adk.WithRunInLoop(), adk.WithCheckPointID("1")).All() {
			if e.Action != nil && e.Action.Interrupted != nil {
				id = e.Action.Interrupted.InterruptContexts[0].ID
			}
		}
		require.NotEmpty(t, id)
		events, err := runner.Resume(t.Context(), "1", adk.WithRunInLoop())
		require.NoError(t, err)
		adktest.Collect(t, events).ExpectText("ok")
	})
}

func TestRunInLoop_AnAgentRunByAToolHasAGoroutineOfItsOwn(t *testing.T) {
	inner := chatAgent(t, "inner", adktest.NewModel(t, adktest.Says("42").Repeated()))
	asks := adktest.NewTool("asks", adktest.Does(func(ctx context.Context, _ string) (string, error) {
		for e := range inner.Run(ctx, &adk.AgentInput{Messages: []*schema.Message{schema.UserMessage("?")}}).All() {
			m, _, err := adk.GetMessage(e)
			return m.Content, errors.Join(err, e.Err)
		}
		return "", errors.New("nothing")
	}).Repeated())
	m := adktest.NewModel(t, adktest.Calls(adktest.Call("asks", `{}`)), adktest.Calls(adktest.Call("inner", `{"request":"?"}`)), adktest.Says("ok"))
	agent := chatAgent(t, "outer", m, asks, adk.NewAgentTool(t.Context(), inner))
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})
	var lines []string
	for e := range runner.Query(t.Context(), "?", adk.WithRunInLoop()).All() {
		require.NoError(t, e.Err)
		lines = append(lines, e.Output.MessageOutput.Message.Content)
	}
	require.Equal(t, []string{"", "42", "", "42", "ok"}, lines)
}
