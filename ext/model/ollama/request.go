package ollama

import (
	"context"
	"errors"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// callOptions are the settings of one call: a copy of the Config's, changed by the options of the call.
type callOptions struct {
	Config
	kit.Overrides
}

func setting(set func(*callOptions)) model.Option { return model.WrapImplSpecificOptFn(set) }

// WithThinking replaces Config.Thinking.
func WithThinking(t Thinking) model.Option { return setting(func(o *callOptions) { o.Thinking = t }) }

// WithOptions replaces Config.Options.
func WithOptions(options Options) model.Option {
	return setting(func(o *callOptions) { o.Options = options })
}

// WithFormat replaces Config.Format; nil means text.
func WithFormat(format []byte) model.Option {
	return setting(func(o *callOptions) { o.Config.Format = format })
}

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

// A call is one request to the model.
type call struct {
	engine      *engine
	conf        *callOptions
	common      *model.Options
	stream      bool
	unsupported kit.Unsupported
}

func (e *engine) newCall(stream bool, opts []model.Option) *call {
	conf := model.GetImplSpecificOptions(&callOptions{Config: e.conf}, opts...)
	base := &model.Options{
		Model: &conf.Model, Temperature: conf.Options.Temperature, TopP: conf.Options.TopP, Stop: conf.Options.Stop,
	}
	if conf.Options.NumPredict != 0 {
		base.MaxTokens = &conf.Options.NumPredict
	}
	return &call{
		engine: e, conf: conf, common: model.GetCommonOptions(base, opts...), stream: stream,
		unsupported: kit.Unsupported{Drop: conf.DropUnsupported},
	}
}

// body returns the request as it is sent.
func (c *call) body(ctx context.Context, in []*schema.Message) ([]byte, error) {
	if err := c.conf.validateRequest(); err != nil {
		return nil, err
	}
	messages, err := c.messages(in)
	if err != nil {
		return nil, err
	}
	req := kit.ObjectOf("model", *c.common.Model, "messages", messages)
	if err := errors.Join(c.setTools(&req), c.unsupported.Err()); err != nil {
		return nil, err
	}
	req.Set("stream", c.stream)
	if len(c.conf.Config.Format) > 0 {
		req.Set("format", c.conf.Config.Format)
	}
	req.Set("think", c.conf.Thinking.wire())
	if c.conf.KeepAlive != nil {
		req.Set("keep_alive", keepAlive(*c.conf.KeepAlive))
	}
	if o := c.options(); len(o) > 0 {
		req.Set("options", o)
	}
	req.Merge(c.conf.ExtraFields)
	return c.conf.Encode(ctx, req)
}

func (c *call) options() (o kit.Object) {
	set := func(key string, n int) {
		if n != 0 {
			o.Set(key, n)
		}
	}
	set("num_ctx", c.conf.Options.NumCtx)
	kit.SetPtr(&o, "num_predict", c.common.MaxTokens)
	kit.SetPtr(&o, "temperature", c.common.Temperature)
	kit.SetPtr(&o, "top_p", c.common.TopP)
	set("top_k", c.conf.Options.TopK)
	kit.SetPtr(&o, "min_p", c.conf.Options.MinP)
	kit.SetPtr(&o, "repeat_penalty", c.conf.Options.RepeatPenalty)
	kit.SetPtr(&o, "seed", c.conf.Options.Seed)
	if len(c.common.Stop) > 0 {
		o.Set("stop", c.common.Stop)
	}
	o.Merge(c.conf.Options.More)
	return o
}

// setTools sets the tools. The API cannot force a call, nor forbid one otherwise than by offering no tools.
func (c *call) setTools(req *kit.Object) error {
	if c.common.ToolSearchTool != nil {
		return errors.New("tool search is not known to Ollama: leave out model.WithToolSearchTool, and offer the tools with model.WithTools")
	}
	settings := kit.Settings{Options: c.common}
	tools := settings.AllTools()
	if err := kit.CheckTools(tools); err != nil {
		return err
	}
	choice, err := kit.ToolChoice(c.common)
	if err != nil {
		return err
	}
	switch choice.Mode {
	case schema.ToolChoiceForbidden:
		return nil
	case schema.ToolChoiceForced:
		c.unsupported.Refuse("tool_choice",
			"a call cannot be forced on Ollama: leave the tool choice out, or set Format for an answer in JSON")
	}
	var definitions []kit.Object
	for _, info := range choice.AllowedTools(tools) {
		parameters, err := kit.ToolParameters(info)
		if err != nil {
			return err
		}
		definitions = append(definitions, kit.ObjectOf("type", "function",
			"function", kit.ObjectOf("name", info.Name, "description", info.Desc, "parameters", parameters)))
	}
	if len(definitions) > 0 {
		req.Set("tools", definitions)
	}
	return nil
}
