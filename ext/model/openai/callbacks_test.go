package openai

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// received records what a handler received.
type received struct {
	info    *callbacks.RunInfo
	input   *model.CallbackInput
	output  *model.CallbackOutput
	failure error
	chunks  chan []*model.CallbackOutput
}

func (r *received) handler() callbacks.Handler {
	r.chunks = make(chan []*model.CallbackOutput, 1)
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			r.info, r.input = info, model.ConvCallbackInput(in)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			r.output = model.ConvCallbackOutput(out)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			r.failure = err
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, _ *callbacks.RunInfo,
			out *schema.StreamReader[callbacks.CallbackOutput],
		) context.Context {
			go func() {
				var all []*model.CallbackOutput
				for o, err := range out.All() {
					if err == nil {
						all = append(all, model.ConvCallbackOutput(o))
					}
				}
				r.chunks <- all
			}()
			return ctx
		}).Build()
}

const usageFields = `"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}`

func wantUsage() *model.TokenUsage {
	return &model.TokenUsage{
		PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15,
		PromptTokenDetails:      model.PromptTokenDetails{CachedTokens: 4},
		CompletionTokensDetails: model.CompletionTokensDetails{ReasoningTokens: 3},
	}
}

func TestCallbacks(t *testing.T) {
	infos := tools("a")
	opts := []model.Option{
		model.WithTools(infos), model.WithDeferredTools(tools("b")), model.WithToolChoice(schema.ToolChoiceForced),
		model.WithMaxTokens(9), model.WithTemperature(0.5), model.WithTopP(0.25), model.WithStop([]string{"x"}),
		model.WithModel("gpt-y"),
	}
	config := &model.Config{Model: "gpt-y", MaxTokens: 9, Temperature: 0.5, TopP: 0.25, Stop: []string{"x"},
		Provider: "openai_compatible", Host: "server.test"}
	start := func(t *testing.T) (*received, context.Context) {
		r := new(received)
		return r, callbacks.InitCallbacks(t.Context(), nil, r.handler())
	}
	requireStart := func(t *testing.T, r *received) {
		require.Equal(t, "OpenAI", r.info.Type)
		require.Equal(t, components.ComponentOfChatModel, r.info.Component)
		require.Equal(t, question, r.input.Messages)
		require.Len(t, r.input.Tools, 2)
		require.Equal(t, schema.ToolChoiceForced, *r.input.ToolChoice)
		require.Equal(t, config, r.input.Config)
	}
	t.Run("generate", func(t *testing.T) {
		r, ctx := start(t)
		m, err := newModel(t, whole(`{"choices":[{"message":{"content":"ok"}}],`+usageFields+`}`)).Generate(ctx, question,
			opts...)
		require.NoError(t, err)
		requireStart(t, r)
		require.Equal(t, &model.CallbackOutput{Message: m, Config: config, TokenUsage: wantUsage()}, r.output)
		require.NoError(t, r.failure)
	})
	t.Run("stream", func(t *testing.T) {
		r, ctx := start(t)
		body := chunk("o") + chunk("k") + stopChunk + `data: {"choices":[],` + usageFields + "}\n\n" + doneChunk
		sr, err := newModel(t, streaming(body)).Stream(ctx, question, opts...)
		require.NoError(t, err)
		require.Equal(t, "ok", joined(t, sr).Content)
		requireStart(t, r)
		var text string
		var usage *model.TokenUsage
		for _, out := range <-r.chunks {
			require.Equal(t, config, out.Config)
			text += out.Message.Content
			if out.TokenUsage != nil {
				usage = out.TokenUsage
			}
		}
		require.Equal(t, "ok", text)
		require.Equal(t, wantUsage(), usage)
	})
	t.Run("error", func(t *testing.T) {
		for _, call := range calls(newModel(t,
			roundTrip(func(*http.Request) (*http.Response, error) { return nil, errFault }))) {
			r, ctx := start(t)
			err := call(ctx)
			require.ErrorIs(t, err, errFault)
			require.Equal(t, err, r.failure)
			require.NotNil(t, r.input)
			require.Nil(t, r.output)
		}
	})
	t.Run("bad request", func(t *testing.T) {
		r, ctx := start(t)
		_, err := newModel(t, whole("{}")).Generate(ctx, nil)
		require.Error(t, err)
		require.Equal(t, err, r.failure)
	})
}

func TestCallbacks_HandlerThatClosesItsStream(t *testing.T) {
	handler := callbacks.NewHandlerBuilder().OnEndWithStreamOutputFn(
		func(ctx context.Context, _ *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
			out.Close()
			return ctx
		}).Build()
	w := newWire()
	sr, err := newModel(t, answering("text/event-stream", w)).Stream(callbacks.InitCallbacks(t.Context(), nil, handler),
		question)
	require.NoError(t, err)
	w.chunks <- chunk("a")
	m, err := sr.Recv()
	require.NoError(t, err)
	require.Equal(t, "a", m.Content)
	sr.Close()
	<-w.closed
}

func TestChatModel_Kind(t *testing.T) {
	m := newModel(t, whole("{}"))
	typ, ok := components.GetType(m)
	require.True(t, ok)
	require.Equal(t, "OpenAI", typ)
	require.True(t, components.IsCallbacksEnabled(m))
}
