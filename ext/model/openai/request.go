package openai

import (
	"fmt"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

// A call is one request to the model: the settings of the Config and of the options, put together.
type call struct {
	conf   *callOptions
	common *model.Options
	stream bool
}

func (m *ChatModel) newCall(stream bool, opts []model.Option) *call {
	conf := model.GetImplSpecificOptions(&callOptions{Config: m.conf, official: m.official}, opts...)
	common := model.GetCommonOptions(&model.Options{
		Temperature: conf.Temperature,
		TopP:        conf.TopP,
		Model:       &conf.Model,
		MaxTokens:   conf.MaxTokens,
		Stop:        conf.Stop,
		Tools:       m.tools,
	}, opts...)
	conf.MaxTokens = common.MaxTokens
	return &call{conf: conf, common: common, stream: stream}
}

// callbackInput is what callback handlers see of the call.
func (c *call) callbackInput(messages []*schema.Message) *model.CallbackInput {
	return &model.CallbackInput{
		Messages:   messages,
		Tools:      c.tools(),
		ToolChoice: c.common.ToolChoice,
		Config:     c.callbackConfig(),
	}
}

func (c *call) callbackConfig() *model.Config {
	conf := &model.Config{Model: *c.common.Model, Stop: c.common.Stop}
	if c.common.MaxTokens != nil {
		conf.MaxTokens = *c.common.MaxTokens
	}
	if c.common.Temperature != nil {
		conf.Temperature = *c.common.Temperature
	}
	if c.common.TopP != nil {
		conf.TopP = *c.common.TopP
	}
	return conf
}

// body returns the request as it is sent.
func (c *call) body(messages []*schema.Message) ([]byte, error) {
	if err := c.conf.validateRequest(); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	req := object{{"model", *c.common.Model}}
	converted, err := c.messages(messages)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	req.set("messages", converted)
	if err := c.setTools(&req); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	c.setSampling(&req)
	c.setService(&req)
	c.setStream(&req)
	req.merge(c.conf.ExtraFields)
	data, err := req.encode()
	if err != nil {
		return nil, fmt.Errorf("openai: encode the request: %w", err)
	}
	return data, nil
}

func (c *call) setSampling(req *object) {
	setPtr(req, c.maxTokensField(), c.conf.MaxTokens)
	setPtr(req, "temperature", c.common.Temperature)
	setPtr(req, "top_p", c.common.TopP)
	if len(c.common.Stop) > 0 {
		req.set("stop", c.common.Stop)
	}
	setPtr(req, "seed", c.conf.Seed)
	setPtr(req, "presence_penalty", c.conf.PresencePenalty)
	setPtr(req, "frequency_penalty", c.conf.FrequencyPenalty)
	if len(c.conf.LogitBias) > 0 {
		req.set("logit_bias", c.conf.LogitBias)
	}
	if c.conf.LogProbs {
		req.set("logprobs", true)
	}
	if c.conf.TopLogProbs > 0 {
		req.set("top_logprobs", c.conf.TopLogProbs)
	}
	req.setText("reasoning_effort", c.conf.ReasoningEffort)
	req.setText("verbosity", c.conf.Verbosity)
	if c.conf.ResponseFormat != nil {
		req.set("response_format", c.conf.ResponseFormat.wire())
	}
}

func (c *call) maxTokensField() string {
	switch {
	case c.conf.MaxTokensField != "":
		return string(c.conf.MaxTokensField)
	case c.conf.official:
		return string(MaxTokensFieldMaxCompletionTokens)
	}
	return string(MaxTokensFieldMaxTokens)
}

func (c *call) setService(req *object) {
	req.setText("user", c.conf.User)
	if len(c.conf.Metadata) > 0 {
		req.set("metadata", c.conf.Metadata)
	}
	req.setText("service_tier", c.conf.ServiceTier)
}

func (c *call) setStream(req *object) {
	if !c.stream {
		return
	}
	req.set("stream", true)
	options := StreamOptions{IncludeUsage: true}
	if c.conf.StreamOptions != nil {
		options = *c.conf.StreamOptions
	}
	var o object
	if options.IncludeUsage {
		o.set("include_usage", true)
	}
	setPtr(&o, "include_obfuscation", options.IncludeObfuscation)
	if len(o) > 0 {
		req.set("stream_options", o)
	}
}
