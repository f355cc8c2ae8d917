package weftotel

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/weftgo/weft/callbacks"
	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/components/retriever"
	"github.com/weftgo/weft/schema"
	utilcallbacks "github.com/weftgo/weft/utils/callbacks"
)

// request describes what a component was called with, without content.
type request struct {
	// provider is the provider that the component names, "" if it names none.
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
	if r.provider != "" {
		r.provider = providerOf(r.provider, "")
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
		attrs = append(attrs, semconv.GenAIRequestTemperature(decimal(r.temperature)))
	}
	if r.topP != 0 {
		attrs = append(attrs, semconv.GenAIRequestTopP(decimal(r.topP)))
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

// decimal returns the number as it was written in decimal: 0.7, and not 0.699999988079071.
func decimal(f float32) float64 {
	n, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil {
		return float64(f)
	}
	return n
}

// answer holds what a component has answered, whole or in chunks.
type answer struct {
	utilcallbacks.ModelAnswer
	streamed bool
	// first and last are when the first and the last chunk came, and chunks how many there were.
	first, last time.Duration
	chunks      int
	dimensions  int

	// keep has the content kept: the chunks of the answer of a model, and what else was returned.
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
	if out, ok := output.(*embedding.CallbackOutput); ok {
		if u := out.TokenUsage; u != nil {
			a.Usage = &schema.TokenUsage{PromptTokens: u.PromptTokens}
		}
		if len(out.Embeddings) > 0 {
			a.dimensions = len(out.Embeddings[0])
		}
		return
	}
	chat, agentic := a.Add(output)
	switch {
	case !a.keep:
	case chat != nil:
		a.messages = append(a.messages, chat)
	case agentic != nil:
		a.agentic = append(a.agentic, agentic)
	default:
		a.addContent(output)
	}
}

func (a *answer) append(attrs []attribute.KeyValue) []attribute.KeyValue {
	if a.ID != "" {
		attrs = append(attrs, semconv.GenAIResponseID(a.ID))
	}
	if a.Model != "" {
		attrs = append(attrs, semconv.GenAIResponseModel(a.Model))
	}
	if a.FinishReason != "" {
		attrs = append(attrs, semconv.GenAIResponseFinishReasons(a.FinishReason))
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
	if a.Usage != nil {
		attrs = append(attrs, semconv.GenAIUsageInputTokens(a.Usage.PromptTokens))
	}
	return attrs
}

// appendUsage adds the counts, none for nil. Of the details those that a provider does not report are 0, and absent.
func appendUsage(attrs []attribute.KeyValue, u *schema.TokenUsage) []attribute.KeyValue {
	if u == nil {
		return attrs
	}
	attrs = append(attrs, semconv.GenAIUsageInputTokens(u.PromptTokens), semconv.GenAIUsageOutputTokens(u.CompletionTokens))
	if n := u.PromptTokenDetails.CachedTokens; n > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheReadInputTokens(n))
	}
	if n := u.PromptTokenDetails.CacheWriteTokens; n > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheCreationInputTokens(n))
	}
	if n := u.CompletionTokensDetails.ReasoningTokens; n > 0 {
		attrs = append(attrs, semconv.GenAIUsageReasoningOutputTokens(n))
	}
	return attrs
}

// answerProvider returns the provider that served a model call: the one that the request names, or else the answer.
func (op *operation) answerProvider() string {
	return providerOf(cmp.Or(op.request.provider, op.answer.Provider), op.request.typ)
}

func (op *operation) answerModel() string { return cmp.Or(op.answer.Model, op.request.model) }
