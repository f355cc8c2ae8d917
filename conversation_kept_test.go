package weft_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft"
	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// TestConversation_KeepsWhatWasShownOfAnAnswerThatBrokeOff: whatever ends an answer, the next question is asked behind the
// question and the text that its reader has seen.
// Rule distributed/M17.
func TestConversation_KeepsWhatWasShownOfAnAnswerThatBrokeOff(t *testing.T) {
	endless := adktest.Streams("one ", "two ", "three").Every(time.Second).ThenBlocks()
	for name, c := range map[string]struct {
		reply adktest.Answer
		end   func(t *testing.T, chat *weft.Conversation)
		want  string
	}{
		"a break": {endless, func(t *testing.T, chat *weft.Conversation) {
			shown := 0
			for e, err := range chat.Stream(t.Context(), "count") {
				require.NoError(t, err)
				if e.Text != "" {
					shown++
				}
				if shown == 2 {
					break
				}
			}
		}, "one two "},
		"a cancel": {endless, func(t *testing.T, chat *weft.Conversation) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(1500*time.Millisecond, cancel)
			for _, err := range chat.Stream(ctx, "count") {
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
				}
			}
		}, "one two "},
		"a deadline": {endless, func(t *testing.T, chat *weft.Conversation) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			for _, err := range chat.Stream(ctx, "count") {
				if err != nil {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
			}
		}, "one "},
		"an error of the model": {adktest.Streams("one ", "two ").ThenFails(errors.New("overloaded")), func(t *testing.T, chat *weft.Conversation) {
			var last error
			for _, err := range chat.Stream(t.Context(), "count") {
				last = err
			}
			require.ErrorContains(t, last, "overloaded")
		}, "one two "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := agentOf(t, weft.Config{}, c.reply,
					adktest.Says("four").Seeing("user: count", "assistant: "+c.want, "user: go on"))
				store := checkpoint.NewMemoryStore()
				c.end(t, agent.Conversation(store, "ana"))
				_, err := agent.Conversation(store, "ana").Ask(t.Context(), "go on")
				require.NoError(t, err)
				history, err := agent.Conversation(store, "ana").History(t.Context())
				require.NoError(t, err)
				require.Len(t, history.Turns, 2)
				kept := history.Turns[0].Messages()
				require.Equal(t, []string{"user: count", "assistant: " + c.want}, adktest.Lines(kept))
				require.True(t, conversation.IsIncomplete(kept[1]))
				require.False(t, conversation.IsIncomplete(history.Turns[1].Messages()[1]))
			})
		})
	}
}

// TestConversation_NeedsAnID: two requests without the ID of a user must not share what was said.
func TestConversation_NeedsAnID(t *testing.T) {
	agent := agentOf(t, weft.Config{})
	_, err := agent.Conversation(checkpoint.NewMemoryStore(), "").Ask(t.Context(), "hi")
	require.ErrorContains(t, err, "the ID of the conversation is empty")
	_, err = conversation.New(checkpoint.NewMemoryStore(), "")
	require.ErrorIs(t, err, conversation.ErrNoID)
}

// recordedRequests is a model that keeps each request, message by message.
type recordedRequests struct {
	model.BaseChatModel
	requests [][]string
}

func (r *recordedRequests) note(messages []*schema.Message) {
	var request []string
	for _, m := range messages {
		sent := *m
		sent.Extra = nil // of the program alone
		line, _ := json.Marshal(&sent)
		request = append(request, string(line))
	}
	r.requests = append(r.requests, request)
}

func (r *recordedRequests) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	r.note(in)
	return r.BaseChatModel.Generate(ctx, in, opts...)
}

func (r *recordedRequests) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r.note(in)
	return r.BaseChatModel.Stream(ctx, in, opts...)
}

// TestConversation_EachRequestBeginsWithTheOneBefore: what a provider has cached of a conversation, it finds again in the next
// request: over turns, parallel tools of any speed, approvals across a restart, and hand-overs.
// Rule distributed/M18.
func TestConversation_EachRequestBeginsWithTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(name string, d time.Duration) weft.Tool {
			return weft.Func(name, name, func(context.Context, struct{}) (string, error) {
				time.Sleep(d)
				return name + " has run", nil
			})
		}
		both := adktest.Calls(adktest.Call("slow", "{}"), adktest.Call("ask", "{}"), adktest.Call("fast", "{}"))
		m := &recordedRequests{BaseChatModel: adktest.NewModel(t, both, adktest.Says("one"), both, adktest.Says("two"), adktest.Says("three"),
			adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"helper"}`)), adktest.Says("four"))}
		helper, err := weft.New(weft.Config{Name: "helper", Description: "helps", Model: adktest.NewModel(t, adktest.Calls(adktest.Call("transfer_to_agent", `{"agent_name":"desk"}`)))})
		require.NoError(t, err)
		agent, err := weft.New(weft.Config{Name: "desk", Model: m, Approve: []string{"ask"}, Agents: []*weft.Agent{helper},
			Tools: []weft.Tool{wait("slow", time.Minute), wait("ask", time.Second), wait("fast", time.Millisecond)}})
		require.NoError(t, err)
		store := checkpoint.NewMemoryStore()
		for i := range 4 {
			chat := agent.Conversation(store, "ana")
			answer, err := chat.Ask(t.Context(), fmt.Sprint("question ", i))
			require.NoError(t, err)
			for len(answer.Pending) > 0 {
				chat = agent.Conversation(store, "ana") // as in another process
				answer, err = chat.Reply(t.Context(), answer.Pending[0].Approve())
				require.NoError(t, err)
			}
		}
		require.Len(t, m.requests, 7)
		for i := 1; i < len(m.requests); i++ {
			before, now := m.requests[i-1], m.requests[i]
			require.Greater(t, len(now), len(before))
			require.Equal(t, before, now[:len(before)], "request %d", i)
		}
	})
}
