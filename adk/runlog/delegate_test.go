package runlog_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/runlog"
)

// delegating is an agent of an application that has another agent do the work, and passes on what it says, or nothing of it.
type delegating struct {
	adk.Agent
	silent bool
}

func (d delegating) Run(ctx context.Context, in *adk.AgentInput, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	events := d.Agent.Run(ctx, in, opts...)
	if !d.silent {
		return events
	}
	out, send := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	go func() {
		defer send.Close()
		for e := range events.All() {
			if e.Output != nil && e.Output.MessageOutput != nil && e.Output.MessageOutput.MessageStream != nil {
				e.Output.MessageOutput.MessageStream.Close()
			}
		}
	}()
	return out
}

// TestObserve_AnAgentThatDelegatesIsRecordedOnce: the answers of an agent that an application's agent runs are its answers,
// each recorded once, also those that call tools.
// Rule runlog/RL4.
func TestObserve_AnAgentThatDelegatesIsRecordedOnce(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, durability := range []adk.Durability{adk.OnInterrupt, adk.EveryStep} {
			t.Run(fmt.Sprintf("streaming=%v,durability=%v", streaming, durability), func(t *testing.T) {
				inner := agentOf(t, adk.ChatModelAgentConfig{Model: adktest.NewModel(t,
					adktest.Streams("I ", "look").Calling(adktest.Call("weather", `{}`)),
					adktest.Streams("again").Calling(adktest.Call("weather", `{}`)), adktest.Streams("It is ", "sunny."))},
					toolOf(t, "weather", func(context.Context) (string, error) { return "sunny", nil }))
				events := record(t, adk.RunnerConfig{Agent: delegating{Agent: inner}, EnableStreaming: streaming, Durability: durability,
					CheckPointStore: checkpoint.NewMemoryStore()}, adk.WithCheckPointID("run"))
				require.NotContains(t, typesOf(events), string(runlog.Said))
				var texts []string
				for _, end := range dataOf[runlog.ModelEndData](events) {
					require.False(t, end.Aside)
					require.Nil(t, end.Error)
					texts = append(texts, end.Message.Chat.Content)
				}
				require.Equal(t, []string{"I look", "again", "It is sunny."}, texts)
				starts, ends := dataOf[runlog.ToolStartData](events), dataOf[runlog.ToolEndData](events)
				require.Len(t, starts, 2)
				require.Len(t, ends, 2)
				for i, calls := range dataOf[runlog.ModelEndData](events)[:2] {
					require.Equal(t, []string{starts[i].Call}, calls.Calls, "the call has one name")
				}
				require.Equal(t, []string{"assistant: I look [weather#call_1 {}]", "tool weather#call_1: sunny",
					"assistant: again [weather#call_2 {}]", "tool weather#call_2: sunny", "assistant: It is sunny."}, transcript(events))
			})
		}
	}
}

// An answer that an application's agent keeps to itself is none of the run's.
// Rule runlog/RL4.
func TestObserve_AnAnswerThatIsNotPassedOnIsAside(t *testing.T) {
	inner := agentOf(t, adk.ChatModelAgentConfig{Model: adktest.NewModel(t, adktest.Says("a secret"))})
	events := record(t, adk.RunnerConfig{Agent: delegating{inner, true}})
	ends := dataOf[runlog.ModelEndData](events)
	require.Len(t, ends, 1)
	require.True(t, ends[0].Aside)
	types := typesOf(events)
	require.Equal(t, []string{"model.end", "agent.end", "run.end"}, types[len(types)-3:])
}
