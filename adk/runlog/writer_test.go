package runlog_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/runlog"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/runs"
	"github.com/weftgo/weft/schema"
)

// An answer with more pieces than the log keeps is stored whole at its end, although the log has dropped the pieces that
// its writer was about to store.
//
// Rule runlog/RL9.
func TestLog_StoresAnAnswerWhosePiecesItHasDropped(t *testing.T) {
	for pieces := 40; pieces < 60; pieces++ {
		synctest.Test(t, func(t *testing.T) {
			store := runlog.NewMemoryStore()
			log := runlog.New(runlog.Config{Store: store, MaxEvents: 50})
			model := pausing{worker{}, pieces}
			r := adk.NewRunner(t.Context(), adk.RunnerConfig{EnableStreaming: true,
				Agent: agentOf(t, adk.ChatModelAgentConfig{Model: model})})
			finish(t, r, runlog.Observe(log, runlog.About{ID: "run"})...)
			require.NoError(t, log.Close(t.Context()))
			var last runlog.Event
			answer := ""
			for e, err := range store.Read(t.Context(), "run", runs.Cursor{}) {
				require.NoError(t, err)
				if d, ok := e.Data.(*runlog.ModelEndData); ok {
					require.NotNil(t, d.Message, "%+v", d.Error)
					answer = d.Message.Chat.Content
				}
				last = e
			}
			require.Equal(t, strings.Repeat("w", 21+pieces), answer)
			require.Equal(t, runlog.RunEnd, last.Type)
		})
	}
}

// pausing is a model that streams 10 pieces, 10 more when those are stored, so many while the log waits for more, and one
// more when it has waited.
type pausing struct {
	worker
	pieces int
}

func (p pausing) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](100)
	go func() {
		defer w.Close()
		for _, burst := range []struct {
			pieces int
			pause  time.Duration
		}{{10, time.Second}, {10, 10 * time.Millisecond}, {p.pieces, time.Second}, {1, 0}} {
			for range burst.pieces {
				w.Send(schema.AssistantMessage("w", nil), nil)
			}
			time.Sleep(burst.pause)
		}
	}()
	return r, nil
}

// slowAppends is a store that takes its time to store events.
type slowAppends struct {
	*runlog.MemoryStore
	takes time.Duration
}

func (s *slowAppends) Append(ctx context.Context, run string, events []runlog.Event) error {
	time.Sleep(s.takes)
	return s.MemoryStore.Append(context.WithoutCancel(ctx), run, events)
}

// What is deleted stays so, although its writer was about to store events of it.
func TestLog_WhatIsDeletedDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowAppends{runlog.NewMemoryStore(), time.Second}
		log := runlog.New(runlog.Config{Store: store})
		finish(t, talking(t, 5), runlog.Observe(log, runlog.About{ID: "run"})...)
		require.NoError(t, log.Delete(t.Context(), "run"))
		time.Sleep(time.Minute)
		_, exists, err := store.Inspect(t.Context(), "run")
		require.NoError(t, err)
		require.False(t, exists)
		require.NoError(t, log.Close(t.Context()))
	})
}

// Media of agentic messages, and media in URLs, are not stored, as media of ordinary messages are not.
//
// Rule runlog/RL7.
func TestLog_StoresNoMediaOfAnyKindOfMessage(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("canary", 2000)))
	url := "data:image/png;base64," + data
	image := &schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: []*schema.ContentBlock{
		schema.NewContentBlock(&schema.UserInputText{Text: "what is it?"}),
		schema.NewContentBlock(&schema.UserInputImage{Base64Data: data, MIMEType: "image/png"}),
		schema.NewContentBlock(&schema.UserInputImage{URL: url}),
		schema.NewContentBlock(&schema.FunctionToolResult{CallID: "1", Content: []*schema.FunctionToolResultContentBlock{{
			Type: schema.FunctionToolResultContentBlockTypeImage, Image: &schema.UserInputImage{Base64Data: data}}}}),
	}}
	chat := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{
		Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}}}
	store := runlog.NewMemoryStore()
	log := runlog.New(runlog.Config{Store: store})
	agentic, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[*schema.AgenticMessage]{Name: "a",
		Description: "a", Model: adktest.NewTypedModel[*schema.AgenticMessage](t, adktest.Says("a picture"))})
	require.NoError(t, err)
	for e := range adk.NewTypedRunner(adk.TypedRunnerConfig[*schema.AgenticMessage]{Agent: agentic}).Run(t.Context(),
		[]*schema.AgenticMessage{image}, runlog.Observe(log, runlog.About{ID: "agentic"})...).All() {
		require.NoError(t, e.Err)
	}
	r := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agentOf(t, adk.ChatModelAgentConfig{
		Model: adktest.NewModel(t, adktest.Says("a picture"))})})
	for e := range r.Run(t.Context(), []adk.Message{chat}, runlog.Observe(log, runlog.About{ID: "chat"})...).All() {
		require.NoError(t, e.Err)
	}
	require.NoError(t, log.Close(t.Context()))
	for _, run := range []string{"agentic", "chat"} {
		media := 0
		for e, err := range store.Read(t.Context(), run, runs.Cursor{}) {
			require.NoError(t, err)
			stored, err := e.MarshalJSON()
			require.NoError(t, err)
			require.NotContains(t, string(stored), data[:100], run)
			media += strings.Count(string(stored), `"sha256"`)
		}
		require.Positive(t, media, run)
	}
}
