package adk_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/internal/runwatch"
	"github.com/weftgo/weft/schema"
)

// speaker is an agent of the application's own: only the reader of its events reads its streams.
type speaker struct{}

func (speaker) Name(context.Context) string        { return "speaker" }
func (speaker) Description(context.Context) string { return "speaks" }
func (speaker) Run(context.Context, *adk.AgentInput, ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	iterator, generator := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	said := schema.StreamReaderFromArray([]*schema.Message{schema.AssistantMessage("own", nil)})
	copies := said.Copy(2) // so that a reader that is closed notices
	copies[1].Close()
	generator.Send(adk.EventFromMessage(nil, copies[0], schema.Assistant, ""))
	generator.Close()
	return iterator
}

// If a reader of events does not read their streams, the streams that the run reads anyway come closed, and the others
// come open.
func TestRun_StreamsThatNobodyReadsComeClosedIfTheRunReadsThem(t *testing.T) {
	unread := adk.WrapImplSpecificOptFn(func(o *runwatch.Options) { o.Unread = true })
	streamsOf := func(agent adk.Agent, opts ...adk.AgentRunOption) (texts []string, errs []error) {
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent, EnableStreaming: true, CheckPointStore: checkpoint.NewMemoryStore(),
			Durability: adk.EveryStep})
		for e := range runner.Query(t.Context(), "x", append(opts, adk.WithCheckPointID("run"))...).All() {
			require.NoError(t, e.Err)
			s := e.Output.MessageOutput.MessageStream
			for {
				m, err := s.Recv()
				if err != nil {
					errs = append(errs, err)
					break
				}
				texts = append(texts, m.Content)
			}
			s.Close()
		}
		return texts, errs
	}
	model := func() adk.Agent {
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "desk", Description: "helps",
			Model: adktest.NewModel(t, adktest.Streams("a", "b"))})
		require.NoError(t, err)
		return agent
	}

	texts, errs := streamsOf(model())
	require.Equal(t, []string{"a", "b"}, texts)
	require.Equal(t, []error{io.EOF}, errs)

	texts, errs = streamsOf(model(), unread)
	require.Empty(t, texts)
	require.Equal(t, []error{schema.ErrRecvAfterClosed}, errs)

	texts, errs = streamsOf(speaker{}, unread)
	require.Equal(t, []string{"own"}, texts)
	require.Equal(t, []error{io.EOF}, errs)
}
