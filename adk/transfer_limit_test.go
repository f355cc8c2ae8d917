package adk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// handsOver is a model that hands every question over to an agent.
func handsOver(to string) *modelFunc[*schema.Message] {
	n := 0
	answer := func() *schema.Message {
		n++
		return chatAnswer("", wanted{TransferToAgentToolName, fmt.Sprint(to, n), `{"agent_name":"` + to + `"}`})
	}
	return &modelFunc[*schema.Message]{
		generate: func(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
			return answer(), nil
		},
		stream: func(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
			return schema.StreamReaderFromArray([]*schema.Message{answer()}), nil
		},
	}
}

// twoThatHandOver are agents that hand every question over to each other.
func twoThatHandOver(t *testing.T, change func(*ChatModelAgentConfig)) Agent {
	t.Helper()
	var agents []Agent
	for _, name := range []string{"desk", "helper"} {
		conf := &ChatModelAgentConfig{Name: name, Description: name, MaxIterations: 5,
			Model: handsOver(map[string]string{"desk": "helper", "helper": "desk"}[name])}
		change(conf)
		a, err := NewChatModelAgent(t.Context(), conf)
		require.NoError(t, err)
		agents = append(agents, a)
	}
	whole, err := SetSubAgents(t.Context(), agents[0], agents[1:])
	require.NoError(t, err)
	return whole
}

// answersIn counts the answers of models in a run, and returns its last error.
func answersIn(t *testing.T, events *AsyncIterator[*AgentEvent]) (answers int, err error) {
	t.Helper()
	for _, o := range read(t, events) {
		if o.Err != nil {
			err = o.Err
		} else if o.Output != nil && o.Output.MessageOutput.Role == schema.Assistant {
			answers++
		}
	}
	return answers, err
}

// TestTransfers_HaveALimit: agents do not hand a run over to each other without an end.
// Rule runtime/F14.
func TestTransfers_HaveALimit(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		agent := twoThatHandOver(t, func(*ChatModelAgentConfig) {})
		runner := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming})
		answers, err := answersIn(t, runner.Query(t.Context(), "hi"))
		require.ErrorIs(t, err, ErrExceedMaxTransfers)
		require.ErrorContains(t, err, "agent 'helper': exceeds max transfers: the run was handed over 25 times, and is to be handed over to agent 'desk' again")
		require.Equal(t, 26, answers)
		answers, err = answersIn(t, runner.Query(t.Context(), "hi", WithMaxTransfers(3)))
		require.ErrorIs(t, err, ErrExceedMaxTransfers)
		require.Equal(t, 4, answers)
	}
}

// TestTransfers_ShareTheTurnsOfTheFirstAgent: with SharedIterations the agent that is asked shares its limit with all
// agents that it hands over to.
// Rule runtime/F15.
func TestTransfers_ShareTheTurnsOfTheFirstAgent(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		agent := twoThatHandOver(t, func(c *ChatModelAgentConfig) { c.SharedIterations = c.Name == "desk" })
		runner := NewRunner(t.Context(), RunnerConfig{Agent: agent, EnableStreaming: streaming})
		answers, err := answersIn(t, runner.Query(t.Context(), "hi"))
		require.ErrorIs(t, err, ErrExceedMaxIterations)
		require.ErrorContains(t, err, "agent 'desk' and those that it handed the run over to called their models 5 times without an end")
		require.Equal(t, 5, answers)
	}
}

// TestTransfers_TheFirstOfAnAnswerIsCarriedOut: the results of the others say that they are not.
// Rule runtime/F16.
func TestTransfers_TheFirstOfAnAnswerIsCarriedOut(t *testing.T) {
	for _, eager := range []bool{false, true} {
		both := chatAnswer("", wanted{TransferToAgentToolName, "1", `{"agent_name":"a"}`}, wanted{TransferToAgentToolName, "1", `{"agent_name":"b"}`})
		var agents []Agent
		for name, m := range map[string]model.BaseChatModel{"desk": says(both), "a": says(chatAnswer("I am a")), "b": says(chatAnswer("I am b"))} {
			conf := &ChatModelAgentConfig{Name: name, Description: name, Model: m}
			conf.ToolsConfig.EagerExecution = eager
			a, err := NewChatModelAgent(t.Context(), conf)
			require.NoError(t, err)
			if name == "desk" {
				agents = append([]Agent{a}, agents...)
			} else {
				agents = append(agents, a)
			}
		}
		whole, err := SetSubAgents(t.Context(), agents[0], agents[1:])
		require.NoError(t, err)
		all := read(t, NewRunner(t.Context(), RunnerConfig{Agent: whole, EnableStreaming: true}).Query(t.Context(), "hi"))
		lines := strings.Join(linesOf(all), "\n")
		require.Contains(t, lines, "tool transfer_to_agent#1: successfully transferred to agent [a]")
		require.Contains(t, lines, "tool transfer_to_agent#1: The transfer to agent [b] was not carried out")
		require.Contains(t, lines, "I am a")
		require.NotContains(t, lines, "I am b")
		transfers := 0
		for _, o := range all {
			if o.Action != nil && o.Action.TransferToAgent != nil {
				transfers++
			}
		}
		require.Equal(t, 1, transfers, "eager=%v", eager)
	}
}
