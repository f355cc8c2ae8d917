package weftotel

import (
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/schema"
)

// request is what a component was called with, without content.
type request struct {
	// provider is what the component says, "" if it does not.
	provider, typ, model string
	host                 string
	port                 int
	maxTokens            int
	temperature, topP    float32
	stop                 []string
	topK                 int
	dataSource           string
	encoding             string
}

func requestOf(info *callbacks.RunInfo, input callbacks.CallbackInput) (r request) {
	r.typ = info.Type
	if in := model.ConvCallbackInput(input); in != nil && in.Config != nil {
		c := in.Config
		r.provider, r.model, r.host, r.port = c.Provider, c.Model, c.Host, c.Port
		r.maxTokens, r.temperature, r.topP, r.stop = c.MaxTokens, c.Temperature, c.TopP, c.Stop
	}
	if in := model.ConvAgenticCallbackInput(input); in != nil && in.Config != nil {
		c := in.Config
		r.provider, r.model, r.host, r.port = c.Provider, c.Model, c.Host, c.Port
		r.maxTokens, r.temperature, r.topP = c.MaxTokens, c.Temperature, c.TopP
	}
	if in, ok := input.(*embedding.CallbackInput); ok && in.Config != nil {
		c := in.Config
		r.provider, r.model, r.host, r.port, r.encoding = c.Provider, c.Model, c.Host, c.Port, c.EncodingFormat
	}
	if in, ok := input.(*retriever.CallbackInput); ok {
		r.topK = in.TopK
	}
	if r.dataSource = info.Name; r.dataSource == "" {
		r.dataSource = info.Type
	}
	return r
}

// append adds the attributes of what was asked. Zero settings are the provider's defaults, and absent.
func (r *request) append(attrs []attribute.KeyValue) []attribute.KeyValue {
	if r.provider != "" {
		attrs = append(attrs, semconv.GenAIProviderNameKey.String(r.provider))
	}
	if r.model != "" {
		attrs = append(attrs, semconv.GenAIRequestModel(r.model))
	}
	if r.host != "" {
		attrs = append(attrs, semconv.ServerAddress(r.host))
	}
	if r.port != 0 {
		attrs = append(attrs, semconv.ServerPort(r.port))
	}
	if r.maxTokens != 0 {
		attrs = append(attrs, semconv.GenAIRequestMaxTokens(r.maxTokens))
	}
	if r.temperature != 0 {
		attrs = append(attrs, semconv.GenAIRequestTemperature(float64(r.temperature)))
	}
	if r.topP != 0 {
		attrs = append(attrs, semconv.GenAIRequestTopP(float64(r.topP)))
	}
	if r.topK != 0 {
		attrs = append(attrs, semconv.GenAIRequestTopK(float64(r.topK)))
	}
	if len(r.stop) > 0 {
		attrs = append(attrs, semconv.GenAIRequestStopSequences(r.stop...))
	}
	if r.encoding != "" {
		attrs = append(attrs, semconv.GenAIRequestEncodingFormats(r.encoding))
	}
	return attrs
}

// answer is what a component has answered, whole or in chunks, without content.
type answer struct {
	usage    Usage
	hasUsage bool
	id       string
	model    string
	provider string
	finish   string
	streamed bool
	// first and last are when the first and the last chunk came, and chunks how many there were.
	first, last time.Duration
	chunks      int
	dimensions  int

	// messages and result are the chunks themselves, if content is recorded.
	keep     bool
	messages []*schema.Message
	agentic  []*schema.AgenticMessage
	result   strings.Builder
	parts    []schema.ToolOutputPart
	docs     []*schema.Document
}

func (a *answer) arrived(after time.Duration) {
	if a.chunks == 0 {
		a.first = after
	}
	a.last = after
	a.chunks++
}

// add takes in an output, or a chunk of one.
func (a *answer) add(output callbacks.CallbackOutput) {
	if out := model.ConvCallbackOutput(output); out != nil {
		a.addUsage(out.TokenUsage)
		if m := out.Message; m != nil {
			if meta := m.ResponseMeta; meta != nil {
				a.addMeta(meta.ID, meta.Model, meta.Provider)
				a.finish = cmp.Or(meta.FinishReason, a.finish)
				a.addUsage(model.ConvCallbackOutput(m).TokenUsage)
			}
			if a.keep {
				a.messages = append(a.messages, m)
			}
		}
		return
	}
	if out := model.ConvAgenticCallbackOutput(output); out != nil {
		a.addUsage(out.TokenUsage)
		if m := out.Message; m != nil {
			if meta := m.ResponseMeta; meta != nil {
				a.addMeta(meta.ID, meta.Model, meta.Provider)
				a.addUsage(model.ConvAgenticCallbackOutput(m).TokenUsage)
			}
			if a.keep {
				a.agentic = append(a.agentic, m)
			}
		}
		return
	}
	if out, ok := output.(*embedding.CallbackOutput); ok {
		if u := out.TokenUsage; u != nil {
			a.usage.Input, a.hasUsage = max(a.usage.Input, u.PromptTokens), true
		}
		if len(out.Embeddings) > 0 {
			a.dimensions = len(out.Embeddings[0])
		}
		return
	}
	if a.keep {
		a.addContent(output)
	}
}

func (a *answer) addMeta(id, model, provider string) {
	a.id, a.model, a.provider = cmp.Or(id, a.id), cmp.Or(model, a.model), cmp.Or(provider, a.provider)
}

// addUsage takes in counts, which are running totals.
func (a *answer) addUsage(u *model.TokenUsage) {
	if u == nil {
		return
	}
	a.hasUsage = true
	a.usage.Input = max(a.usage.Input, u.PromptTokens)
	a.usage.CacheRead = max(a.usage.CacheRead, u.PromptTokenDetails.CachedTokens)
	a.usage.CacheWrite = max(a.usage.CacheWrite, u.PromptTokenDetails.CacheWriteTokens)
	a.usage.Output = max(a.usage.Output, u.CompletionTokens)
	a.usage.Reasoning = max(a.usage.Reasoning, u.CompletionTokensDetails.ReasoningTokens)
}

func (a *answer) append(attrs []attribute.KeyValue) []attribute.KeyValue {
	if a.id != "" {
		attrs = append(attrs, semconv.GenAIResponseID(a.id))
	}
	if a.model != "" {
		attrs = append(attrs, semconv.GenAIResponseModel(a.model))
	}
	if a.finish != "" {
		attrs = append(attrs, semconv.GenAIResponseFinishReasons(a.finish))
	}
	if a.streamed {
		attrs = append(attrs, semconv.GenAIRequestStream(true))
		if a.chunks > 0 {
			attrs = append(attrs, semconv.GenAIResponseTimeToFirstChunk(a.first.Seconds()))
		}
	}
	return attrs
}

func (a *answer) appendEmbedding(attrs []attribute.KeyValue) []attribute.KeyValue {
	if a.dimensions > 0 {
		attrs = append(attrs, semconv.GenAIEmbeddingsDimensionCount(a.dimensions))
	}
	if a.hasUsage {
		attrs = append(attrs, semconv.GenAIUsageInputTokens(a.usage.Input))
	}
	return attrs
}

// append adds the counts. Those that a provider does not report are 0, and absent.
func (u Usage) append(attrs []attribute.KeyValue) []attribute.KeyValue {
	attrs = append(attrs, semconv.GenAIUsageInputTokens(u.Input), semconv.GenAIUsageOutputTokens(u.Output))
	if u.CacheRead > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheReadInputTokens(u.CacheRead))
	}
	if u.CacheWrite > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheCreationInputTokens(u.CacheWrite))
	}
	if u.Reasoning > 0 {
		attrs = append(attrs, semconv.GenAIUsageReasoningOutputTokens(u.Reasoning))
	}
	return attrs
}

// answerProvider is who served a model call: as the request says it, or the answer.
func (op *operation) answerProvider() string {
	return providerOf(cmp.Or(op.request.provider, op.answer.provider), op.request.typ)
}

func (op *operation) answerModel() string { return cmp.Or(op.answer.model, op.request.model) }
