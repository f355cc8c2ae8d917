package react

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/compose"
	"github.com/weftgo/weft/schema"
)

// turnsOf is a model each of whose answers the test writes.
type turnsOf struct {
	model.ToolCallingChatModel
	answers chan *schema.StreamWriter[*schema.Message]
}

func newTurns() *turnsOf {
	return &turnsOf{answers: make(chan *schema.StreamWriter[*schema.Message], 9)}
}

func (m *turnsOf) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m *turnsOf) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](9)
	m.answers <- w
	return r, nil
}

// received are the chunks of a result, as they come.
func received(s *schema.StreamReader[*schema.Message]) (<-chan *schema.Message, <-chan error) {
	chunks, end := make(chan *schema.Message, 99), make(chan error, 1)
	go func() {
		for {
			chunk, err := s.Recv()
			if err != nil {
				end <- err
				return
			}
			chunks <- chunk
		}
	}()
	return chunks, end
}

// TestReact_TextIsStreamedWhileTheModelWrites: no chunk waits for the next one, and calls behind text are found.
// Rule components/R5.
func TestReact_TextIsStreamedWhileTheModelWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTurns()
		a := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, toolFunc{name: "a"}))
		done := make(chan *schema.StreamReader[*schema.Message])
		go func() {
			s, err := a.Stream(background, user("hi"))
			require.NoError(t, err)
			done <- s
		}()
		first := <-m.answers
		first.Send(&schema.Message{Role: schema.Assistant, Name: "one", ReasoningContent: "hm", Extra: map[string]any{"from": "x"}}, nil)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("thoughts may come before a call: the result does not begin with them")
		default:
		}
		first.Send(schema.AssistantMessage("let me ", nil), nil)
		chunks, end := received(<-done)
		next := func() string { synctest.Wait(); return (<-chunks).Content }
		require.Equal(t, "hm", (<-chunks).ReasoningContent)
		require.Equal(t, "let me ", next())
		first.Send(schema.AssistantMessage("see. ", nil), nil)
		require.Equal(t, "see. ", next())
		for _, chunk := range (turn{}).calls("a#1 x") {
			first.Send(chunk, nil)
		}
		first.Close()

		second := <-m.answers
		second.Send(&schema.Message{Role: schema.Assistant, Name: "two", Content: "do",
			Extra: map[string]any{"from": "y", "new": 1}}, nil)
		synctest.Wait()
		chunk := <-chunks
		require.Equal(t, &schema.Message{Role: schema.Assistant, Content: "do", Extra: map[string]any{"new": 1}}, chunk,
			"it continues the message")
		second.Send(schema.AssistantMessage("ne", nil), nil)
		require.Equal(t, "ne", next())
		second.Close()
		require.ErrorContains(t, <-end, "EOF")
		require.Empty(t, chunks, "nothing of the call")
	})
}

// TestReact_AResultBehindTextContinuesIt: a result that is returned directly can be joined with the text before its call.
func TestReact_AResultBehindTextContinuesIt(t *testing.T) {
	a := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(say("wait: ").calls("d#1 y")),
		ToolReturnDirectly: map[string]struct{}{"d": {}}}, toolFunc{name: "d"}))
	s, err := a.Stream(background, user("hi"))
	require.NoError(t, err)
	m, err := schema.ConcatMessageStream(s)
	require.NoError(t, err)
	require.Equal(t, "assistant: wait: d(y)", line(m))
}

// TestReact_WhatFailsBehindTextIsAnErrorOfTheStream, and what fails before it is returned.
func TestReact_WhatFailsBehindTextIsAnErrorOfTheStream(t *testing.T) {
	interrupting := toolFunc{name: "a", run: func(ctx context.Context, _ string) (string, error) {
		return "", compose.Interrupt(ctx, "ask")
	}}
	s, err := newAgent(t, withTools(AgentConfig{ToolCallingModel: script(say("x").calls("a#1 x"))}, interrupting)).
		Stream(background, user("hi"))
	require.NoError(t, err)
	_, err = schema.ConcatMessageStream(s)
	info, interrupted := compose.ExtractInterruptInfo(err)
	require.True(t, interrupted, err)
	require.Len(t, info.InterruptContexts, 1)

	_, err = newAgent(t, withTools(AgentConfig{ToolCallingModel: script(turn{}.calls("a#1 x"))}, interrupting)).
		Stream(background, user("hi"))
	_, interrupted = compose.ExtractInterruptInfo(err)
	require.True(t, interrupted, err)
}

// TestReact_ClosingTheStreamEndsTheRun also while a tool runs, and before the model is asked again.
func TestReact_ClosingTheStreamEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		waits := toolFunc{name: "a", run: func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			err = ctx.Err()
			return "", err
		}}
		m := script(say("x").calls("a#1 x"), say("more"))
		s, failed := newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, waits)).Stream(background, user("hi"))
		require.NoError(t, failed)
		_, failed = s.Recv()
		require.NoError(t, failed)
		synctest.Wait()
		s.Close()
		synctest.Wait()
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, m.seen, 1)
	})
}

// TestReact_AnAgentInATool writes nothing into the stream of the agent around it, in either form.
func TestReact_AnAgentInAToolWritesNothingIntoTheStream(t *testing.T) {
	inner := newAgent(t, &AgentConfig{ToolCallingModel: script(say("inner"), say("inner"))})
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			ask := toolFunc{name: "ask", run: func(ctx context.Context, args string) (string, error) {
				if name == "Generate" {
					m, err := inner.Generate(ctx, user(args))
					return m.Content, err
				}
				s, err := inner.Stream(ctx, user(args))
				if err != nil {
					return "", err
				}
				m, err := schema.ConcatMessageStream(s)
				return m.Content, err
			}}
			m := script(say("a ").calls("ask#1 x"), say("b"))
			out, err := run(newAgent(t, withTools(AgentConfig{ToolCallingModel: m}, ask)), user("hi"))
			require.NoError(t, err)
			require.Equal(t, inStream(t, "assistant: a b", "assistant: b"), out)
		})
	}
}
