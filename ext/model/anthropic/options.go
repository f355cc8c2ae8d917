package anthropic

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

// WithRequestModifier changes the body of the requests before they are sent. Several modify one after the other.
func WithRequestModifier(modify func(ctx context.Context, body []byte) ([]byte, error)) model.Option {
	return setting(func(o *callOptions) { o.AddModifier(modify) })
}

// WithThinking replaces Config.Thinking; nil leaves it to the model.
func WithThinking(thinking *Thinking) model.Option {
	return setting(func(o *callOptions) { o.Thinking = thinking })
}

// WithReasoningEffort replaces Config.ReasoningEffort.
func WithReasoningEffort(effort string) model.Option {
	return setting(func(o *callOptions) { o.ReasoningEffort = effort })
}

// WithTopK replaces Config.TopK.
func WithTopK(k int32) model.Option {
	return setting(func(o *callOptions) { o.TopK = &k })
}

// WithDisableParallelToolUse replaces Config.DisableParallelToolUse.
func WithDisableParallelToolUse(disable bool) model.Option {
	return setting(func(o *callOptions) { o.DisableParallelToolUse = &disable })
}

// WithResponseFormat replaces Config.ResponseFormat; nil means text.
func WithResponseFormat(format *ResponseFormat) model.Option {
	return setting(func(o *callOptions) { o.ResponseFormat = format })
}

// WithServerTools replaces Config.ServerTools.
func WithServerTools(tools ...ServerTool) model.Option {
	return setting(func(o *callOptions) { o.ServerTools = tools })
}

// WithAutoCache replaces Config.AutoCache and Config.CacheTTL.
func WithAutoCache(mode AutoCache, ttl CacheTTL) model.Option {
	return setting(func(o *callOptions) { o.AutoCache, o.CacheTTL = mode, ttl })
}

// WithBetas replaces Config.Betas.
func WithBetas(betas ...string) model.Option {
	return setting(func(o *callOptions) { o.Betas = betas })
}

// WithUserID replaces Config.UserID.
func WithUserID(id string) model.Option {
	return setting(func(o *callOptions) { o.UserID = id })
}

// WithServiceTier replaces Config.ServiceTier.
func WithServiceTier(tier string) model.Option {
	return setting(func(o *callOptions) { o.ServiceTier = tier })
}

// WithContainer replaces Config.Container.
func WithContainer(id string) model.Option {
	return setting(func(o *callOptions) { o.Container = id })
}
