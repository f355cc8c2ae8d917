package gemini

import (
	"context"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
)

// callOptions are the settings of one call: a copy of the Config's, changed by the options of the call.
type callOptions struct {
	Config
	common *model.Options
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

// WithTopK replaces Config.TopK.
func WithTopK(k int32) model.Option {
	return setting(func(o *callOptions) { o.TopK = &k })
}

// WithSeed replaces Config.Seed.
func WithSeed(seed int32) model.Option {
	return setting(func(o *callOptions) { o.Seed = &seed })
}

// WithResponseJSONSchema replaces Config.ResponseJSONSchema; nil means text.
func WithResponseJSONSchema(schema any) model.Option {
	return setting(func(o *callOptions) { o.ResponseJSONSchema = schema })
}

// WithThinkingConfig replaces Config.ThinkingConfig; nil leaves it to the model.
func WithThinkingConfig(thinking *ThinkingConfig) model.Option {
	return setting(func(o *callOptions) { o.ThinkingConfig = thinking })
}

// WithCachedContentName replaces Config.CachedContent. The system messages and the tools of the call are in the prefix,
// and are not sent.
func WithCachedContentName(name string) model.Option {
	return setting(func(o *callOptions) { o.CachedContent = name })
}

// WithImageConfig replaces Config.ImageConfig.
func WithImageConfig(conf *ImageConfig) model.Option {
	return setting(func(o *callOptions) { o.ImageConfig = conf })
}

// WithResponseModalities replaces Config.ResponseModalities.
func WithResponseModalities(modalities ...string) model.Option {
	return setting(func(o *callOptions) { o.ResponseModalities = modalities })
}

// WithMediaResolution replaces Config.MediaResolution.
func WithMediaResolution(resolution string) model.Option {
	return setting(func(o *callOptions) { o.MediaResolution = resolution })
}

// WithLogprobs asks for the log probabilities of the answer, and for the log probabilities of so many alternatives.
func WithLogprobs(alternatives int32) model.Option {
	return setting(func(o *callOptions) { o.ResponseLogprobs, o.Logprobs = true, &alternatives })
}

// WithSafetySettings replaces Config.SafetySettings.
func WithSafetySettings(settings ...*SafetySetting) model.Option {
	return setting(func(o *callOptions) { o.SafetySettings = settings })
}

// WithServerTools replaces Config.ServerTools and what the Enable fields add.
func WithServerTools(tools ...ServerTool) model.Option {
	return setting(func(o *callOptions) {
		o.ServerTools = tools
		o.EnableCodeExecution, o.EnableGoogleSearch, o.EnableGoogleSearchRetrieval = false, false, false
		o.EnableURLContext, o.EnableGoogleMaps, o.EnableComputerUse, o.EnableFileSearch = false, false, nil, nil
	})
}

// WithLabels replaces Config.Labels.
func WithLabels(labels map[string]string) model.Option {
	return setting(func(o *callOptions) { o.Labels = labels })
}

// WithServiceTier replaces Config.ServiceTier.
func WithServiceTier(tier string) model.Option {
	return setting(func(o *callOptions) { o.ServiceTier = tier })
}
