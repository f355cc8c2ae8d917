package openai

import (
	"context"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
)

// callOptions are the settings of one call: a copy of the Config's, changed by the options of the call.
type callOptions struct {
	Config
	kit.Overrides
}

func setting(set func(*callOptions)) model.Option { return model.WrapImplSpecificOptFn(set) }

// WithExtraFields sets fields of the request body, in addition to Config.ExtraFields and instead of fields of the same
// name; nil removes a field.
func WithExtraFields(fields map[string]any) model.Option {
	return setting(func(o *callOptions) { o.ExtraFields = kit.Merged(o.ExtraFields, fields) })
}

// WithExtraHeaders sends headers in addition to Config.Headers and instead of headers of the same name.
func WithExtraHeaders(headers map[string]string) model.Option {
	return setting(func(o *callOptions) { o.AddHeaders(headers) })
}

// WithRequestModifier has the body of the request changed before it is sent. Several are called in their order.
func WithRequestModifier(modify func(ctx context.Context, body []byte) ([]byte, error)) model.Option {
	return setting(func(o *callOptions) { o.AddModifier(modify) })
}

// WithThinking replaces Config.Thinking.
func WithThinking(on bool) model.Option {
	return setting(func(o *callOptions) { o.Thinking = &on })
}

// WithMaxCompletionTokens is model.WithMaxTokens by the name that users of Eino know.
func WithMaxCompletionTokens(tokens int) model.Option { return model.WithMaxTokens(tokens) }

// WithReasoningEffort replaces Config.ReasoningEffort.
func WithReasoningEffort(effort string) model.Option {
	return setting(func(o *callOptions) { o.ReasoningEffort = effort })
}

// WithVerbosity replaces Config.Verbosity.
func WithVerbosity(verbosity string) model.Option {
	return setting(func(o *callOptions) { o.Verbosity = verbosity })
}

// WithResponseFormat replaces Config.ResponseFormat; nil means text.
func WithResponseFormat(format *ResponseFormat) model.Option {
	return setting(func(o *callOptions) { o.ResponseFormat = format })
}

// WithParallelToolCalls replaces Config.ParallelToolCalls.
func WithParallelToolCalls(parallel bool) model.Option {
	return setting(func(o *callOptions) { o.ParallelToolCalls = &parallel })
}

// WithSeed replaces Config.Seed.
func WithSeed(seed int) model.Option {
	return setting(func(o *callOptions) { o.Seed = &seed })
}

// WithLogProbs replaces Config.LogProbs and Config.TopLogProbs.
func WithLogProbs(top int) model.Option {
	return setting(func(o *callOptions) { o.LogProbs, o.TopLogProbs = true, top })
}

// WithServiceTier replaces Config.ServiceTier.
func WithServiceTier(tier string) model.Option {
	return setting(func(o *callOptions) { o.ServiceTier = tier })
}

// WithUser replaces Config.User.
func WithUser(user string) model.Option {
	return setting(func(o *callOptions) { o.User = user })
}

// WithMetadata replaces Config.Metadata.
func WithMetadata(metadata map[string]string) model.Option {
	return setting(func(o *callOptions) { o.Metadata = metadata })
}
