package openai

import (
	"context"
	"path"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// A call is one request to the model: the settings of the Config and of the options, put together.
type call struct {
	engine      *engine
	conf        *callOptions
	profile     *Profile
	common      *model.Options
	stream      bool
	unsupported kit.Unsupported
}

func (e *engine) newCall(stream bool, opts []model.Option) *call {
	conf := model.GetImplSpecificOptions(&callOptions{Config: e.conf}, opts...)
	common := model.GetCommonOptions(&model.Options{
		Temperature: conf.Temperature,
		TopP:        conf.TopP,
		Model:       &conf.Model,
		MaxTokens:   conf.maxTokens(),
		Stop:        conf.Stop,
	}, opts...)
	conf.MaxTokens = common.MaxTokens
	c := &call{engine: e, conf: conf, profile: &e.profile, common: common, stream: stream}
	c.unsupported.Drop = conf.DropUnsupported
	c.stream = stream || c.profile.StreamOnly && !c.thinkingOff()
	return c
}

// body returns the request as it is sent.
func (c *call) body(ctx context.Context, messages []*schema.Message) ([]byte, error) {
	if err := c.conf.validateRequest(); err != nil {
		return nil, err
	}
	req := kit.Object{{Key: "model", Value: *c.common.Model}}
	converted, err := c.messages(messages)
	if err != nil {
		return nil, err
	}
	req.Set("messages", converted)
	if err := c.setTools(&req); err != nil {
		return nil, err
	}
	c.setSampling(&req)
	c.setOutput(&req)
	c.setThinking(&req)
	c.setService(&req)
	c.setStream(&req)
	c.reject(&req)
	if err := c.unsupported.Err(); err != nil {
		return nil, err
	}
	req.Merge(c.profile.ExtraFields)
	req.Merge(c.conf.ExtraFields)
	return c.conf.Encode(ctx, req)
}

func (c *call) setSampling(req *kit.Object) {
	kit.SetPtr(req, c.maxTokensField(), c.conf.MaxTokens)
	kit.SetPtr(req, "temperature", c.common.Temperature)
	kit.SetPtr(req, "top_p", c.common.TopP)
	if len(c.common.Stop) > 0 {
		req.Set("stop", c.common.Stop)
	}
	kit.SetPtr(req, "seed", c.conf.Seed)
	kit.SetPtr(req, "presence_penalty", c.conf.PresencePenalty)
	kit.SetPtr(req, "frequency_penalty", c.conf.FrequencyPenalty)
	if len(c.conf.LogitBias) > 0 {
		req.Set("logit_bias", c.conf.LogitBias)
	}
	if c.conf.LogProbs {
		req.Set("logprobs", true)
	}
	if c.conf.TopLogProbs > 0 {
		req.Set("top_logprobs", c.conf.TopLogProbs)
	}
}

// setOutput sets what the answer is to be.
func (c *call) setOutput(req *kit.Object) {
	req.SetText("verbosity", c.conf.Verbosity)
	if c.conf.ResponseFormat != nil {
		req.Set("response_format", c.conf.ResponseFormat.wire(c.profile.OmitStrict))
	}
	if len(c.conf.Modalities) > 0 {
		req.Set("modalities", c.conf.Modalities)
	}
	if audio := c.conf.Audio; audio != nil {
		req.Set("audio", kit.Object{{Key: "format", Value: audio.Format}, {Key: "voice", Value: audio.Voice}})
	}
	if c.conf.Prediction != "" {
		req.Set("prediction", kit.Object{{Key: "type", Value: "content"}, {Key: "content", Value: c.conf.Prediction}})
	}
	if len(c.conf.WebSearchOptions) > 0 {
		req.Set("web_search_options", c.conf.WebSearchOptions)
	}
}

func (c *call) maxTokensField() string {
	if c.conf.MaxTokensField != "" {
		return string(c.conf.MaxTokensField)
	}
	return string(c.profile.MaxTokensField)
}

// thinkingOff reports whether the call asks the model not to think.
func (c *call) thinkingOff() bool {
	return c.conf.Thinking != nil && !*c.conf.Thinking || c.conf.ReasoningEffort == "none"
}

// setThinking writes the neutral settings as the server wants them.
func (c *call) setThinking(req *kit.Object) {
	effort, on := c.conf.ReasoningEffort, c.conf.Thinking
	typed := func() {
		if on != nil || effort == "none" {
			word := "enabled"
			if c.thinkingOff() {
				word = "disabled"
			}
			req.Set("thinking", kit.Object{{Key: "type", Value: word}})
		}
	}
	switch c.profile.Knob {
	case KnobEffort:
		if effort == "" && on != nil && !*on {
			effort = "none"
		}
		req.SetText("reasoning_effort", effort)
	case KnobThinkingType:
		typed()
		if effort != "none" {
			req.SetText("reasoning_effort", effort)
		}
	case KnobThinkingOnly:
		typed()
		if effort != "" && effort != "none" {
			c.unsupported.Refuse("ReasoningEffort", c.profile.Name+" takes no effort beside thinking: use Config.Thinking")
		}
	case KnobEnableThinking:
		if on != nil || effort != "" {
			req.Set("enable_thinking", !c.thinkingOff())
		}
	case KnobReasoningObject:
		var o kit.Object
		o.SetText("effort", effort)
		if on != nil && effort == "" {
			o.Set("enabled", *on)
		}
		if len(o) > 0 {
			req.Set("reasoning", o)
		}
	case KnobTemplate:
		if on != nil {
			req.Set("chat_template_kwargs", kit.Object{{Key: "enable_thinking", Value: *on}})
		}
		req.SetText("reasoning_effort", effort)
	case KnobNone:
		if on != nil || effort != "" {
			c.unsupported.Refuse("Thinking", c.profile.Name+" cannot be asked to think more or less: leave it and ReasoningEffort out")
		}
	}
}

func (c *call) setService(req *kit.Object) {
	req.SetText("user", c.conf.User)
	req.SetText("safety_identifier", c.conf.SafetyIdentifier)
	req.SetText("prompt_cache_key", c.conf.PromptCacheKey)
	if o := c.conf.PromptCache; o != nil {
		req.Set("prompt_cache_options", o.wire())
	}
	kit.SetPtr(req, "store", c.conf.Store)
	if len(c.conf.Metadata) > 0 {
		req.Set("metadata", c.conf.Metadata)
	}
	req.SetText("service_tier", c.conf.ServiceTier)
}

func (c *call) setStream(req *kit.Object) {
	if !c.stream {
		return
	}
	req.Set("stream", true)
	if c.profile.ToolStream && req.Get("tools") != nil {
		req.Set("tool_stream", true)
	}
	options := StreamOptions{IncludeUsage: c.profile.StreamUsage == StreamUsageOption}
	if c.conf.StreamOptions != nil {
		options = *c.conf.StreamOptions
	}
	var o kit.Object
	if options.IncludeUsage {
		o.Set("include_usage", true)
	}
	kit.SetPtr(&o, "include_obfuscation", options.IncludeObfuscation)
	if len(o) > 0 {
		req.Set("stream_options", o)
	}
}

// reject takes out, or refuses, what the server or the model is known not to take.
func (c *call) reject(req *kit.Object) {
	for _, field := range c.profile.Unsupported {
		c.unsupported.Reject(req, field, c.profile.Name+" does not know it: leave it out")
	}
	if choice := c.common.ToolChoice; c.profile.NoForcedThinking && choice != nil && *choice == schema.ToolChoiceForced &&
		!c.thinkingOff() {
		c.unsupported.Reject(req, "tool_choice", c.profile.Name+" forces no call while the model thinks: set Thinking to false")
	}
	name := *c.common.Model
	switch {
	case c.profile.isOfficial() && isReasoningModel(name) && c.conf.ReasoningEffort != "none":
		if t := c.common.Temperature; t != nil && *t == 1 {
			req.Set("temperature", nil) // the server uses that anyway
		} else {
			c.unsupported.Reject(req, "temperature", "model "+name+" thinks and takes none: leave it out, or set ReasoningEffort to none")
		}
		for _, field := range []string{"top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs"} {
			c.unsupported.Reject(req, field, "model "+name+" thinks and does not take it: leave it out")
		}
	case c.profile.Provider == ProfileXAI.Provider && isGrokThinking(name):
		for _, field := range []string{"stop", "presence_penalty", "frequency_penalty"} {
			c.unsupported.Reject(req, field, "model "+name+" thinks and does not take it: leave it out")
		}
	}
}

// isReasoningModel reports whether OpenAI's model of this name thinks.
func isReasoningModel(name string) bool {
	name = path.Base(strings.ToLower(name))
	if len(name) >= 2 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9' {
		return true
	}
	return strings.HasPrefix(name, "gpt-5") && !strings.Contains(name, "chat")
}

func isGrokThinking(name string) bool {
	name = path.Base(strings.ToLower(name))
	return strings.HasPrefix(name, "grok-4") && !strings.Contains(name, "non-reasoning") ||
		strings.HasPrefix(name, "grok-3-mini")
}
