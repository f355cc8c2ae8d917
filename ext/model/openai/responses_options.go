package openai

import (
	"context"
	"slices"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// responsesCall is a call with its settings: a copy of the configuration's, changed by the options of the call.
type responsesCall struct {
	engine   *responsesEngine
	conf     ResponsesConfig
	settings *kit.Settings
	kit.Overrides
	head    string // the response that the conversation continues
	partial func(context.Context, ResponsesPartialImage)
}

func responsesSetting(set func(*responsesCall)) model.Option { return model.WrapImplSpecificOptFn(set) }

// call applies the options of a call.
func (e *responsesEngine) call(opts []model.Option) *responsesCall {
	c := model.GetImplSpecificOptions(&responsesCall{engine: e, conf: e.conf}, opts...)
	name := c.conf.Model
	common := model.GetCommonOptions(&model.Options{
		Model: &name, MaxTokens: c.conf.MaxTokens, Temperature: c.conf.Temperature, TopP: c.conf.TopP,
	}, opts...)
	c.settings = &kit.Settings{Options: common}
	for _, tool := range c.conf.ServerTools {
		c.settings.ServerTools = append(c.settings.ServerTools, &schema.ToolInfo{Name: tool.name()})
	}
	return c
}

// WithResponsesServerTools replaces ResponsesConfig.ServerTools.
func WithResponsesServerTools(tools ...ServerTool) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.ServerTools = slices.Clone(tools) })
}

// WithResponsesMCPTools adds servers of tools, made by [MCP], to the server tools.
func WithResponsesMCPTools(servers ...ServerTool) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.ServerTools = slices.Concat(c.conf.ServerTools, servers) })
}

// WithResponsesMaxToolCalls replaces ResponsesConfig.MaxToolCalls.
func WithResponsesMaxToolCalls(limit int) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.MaxToolCalls = &limit })
}

// WithResponsesParallelToolCalls replaces ResponsesConfig.ParallelToolCalls.
func WithResponsesParallelToolCalls(parallel bool) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.ParallelToolCalls = &parallel })
}

// WithResponsesPromptCacheKey replaces ResponsesConfig.PromptCacheKey.
func WithResponsesPromptCacheKey(key string) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.PromptCacheKey = key })
}

// WithResponsesReasoning replaces ResponsesConfig.Reasoning.
func WithResponsesReasoning(reasoning *ResponsesReasoning) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.Reasoning = reasoning })
}

// WithResponsesStore replaces ResponsesConfig.Store.
func WithResponsesStore(store bool) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.Store = &store })
}

// WithResponsesText replaces ResponsesConfig.Text.
func WithResponsesText(text *ResponsesText) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.Text = text })
}

// WithResponsesTruncation replaces ResponsesConfig.Truncation.
func WithResponsesTruncation(truncation string) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.Truncation = truncation })
}

// WithResponsesInclude replaces ResponsesConfig.Include.
func WithResponsesInclude(include ...string) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.Include = append([]string{}, include...) })
}

// WithHeadPreviousResponseID has the conversation continue a response that the server has stored: the messages of the
// call come behind it. The server must still have it. A chat model needs the calls of all results among its messages.
func WithHeadPreviousResponseID(id string) model.Option {
	return responsesSetting(func(c *responsesCall) { c.head = id })
}

// WithResponsesExtraFields sets fields of the request body, in addition to ResponsesConfig.ExtraFields and instead of
// fields of the same name; nil removes a field.
func WithResponsesExtraFields(fields map[string]any) model.Option {
	return responsesSetting(func(c *responsesCall) { c.conf.ExtraFields = kit.Merged(c.conf.ExtraFields, fields) })
}

// WithResponsesExtraHeaders sends headers in addition to ResponsesConfig.Headers and instead of headers of the same
// name.
func WithResponsesExtraHeaders(headers map[string]string) model.Option {
	return responsesSetting(func(c *responsesCall) { c.AddHeaders(headers) })
}

// WithResponsesRequestModifier has the body of the request changed before it is sent. Several are called in their order.
func WithResponsesRequestModifier(modify func(ctx context.Context, body []byte) ([]byte, error)) model.Option {
	return responsesSetting(func(c *responsesCall) { c.AddModifier(modify) })
}

// A ResponsesPartialImage is an image as far as it has been made.
type ResponsesPartialImage struct {
	// ItemID is the ID of the call that makes it: ServerToolCall.CallID.
	ItemID string
	// Index counts the partial images of the call.
	Index int
	// Base64Data has the image, of type MIMEType.
	Base64Data, MIMEType string
}

// WithResponsesPartialImages has a function see the images that [ImageGeneration] makes before they are finished, if
// that asks for them and the answer is streamed. They are no part of the answer. The function is called by the
// goroutine that reads the answer.
func WithResponsesPartialImages(see func(ctx context.Context, image ResponsesPartialImage)) model.Option {
	return responsesSetting(func(c *responsesCall) { c.partial = see })
}
