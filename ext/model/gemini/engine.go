package gemini

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// provider is the name in errors and in the origin of answers.
const provider = "gemini"

// An engine is the API of one server. It implements kit.Engine.
type engine struct {
	conf    Config
	backend Backend
	client  *kit.Client
	info    kit.Info
	origin  kit.Origin
}

func newEngine(config *Config) (*engine, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	e := &engine{conf: *config, backend: config.backend(), client: kit.NewClient(config.client())}
	host, port := e.client.Endpoint()
	e.info = kit.Info{
		Type: "Gemini", Provider: provider, System: e.backend.System(), Host: host, Port: port,
		Redactor: e.client.Redactor(), RawHook: e.conf.RawHook,
	}
	e.origin = kit.Origin{Provider: provider, Host: host, API: strings.TrimPrefix(e.info.System, "gcp.")}
	if config.Origin != "" {
		e.origin.Host = config.Origin
	}
	return e, nil
}

// kinship says what of an answer the server understands: everything if it gave it, or another location of Vertex did.
func (e *engine) kinship(o kit.Origin) kit.Kinship {
	const vertexHosts = "googleapis.com"
	regional := e.vertex() && strings.HasSuffix(o.Host, vertexHosts) && strings.HasSuffix(e.origin.Host, vertexHosts)
	if o == e.origin || regional && o.Provider == provider && o.API == e.origin.API {
		return kit.Own
	}
	return kit.Foreign
}

// Info implements kit.Engine.
func (e *engine) Info() kit.Info { return e.info }

// Settings implements kit.Engine.
func (e *engine) Settings(opts []model.Option) *kit.Settings {
	o := e.options(opts)
	s := &kit.Settings{Options: o.common}
	for _, t := range o.serverTools() {
		s.ServerTools = append(s.ServerTools, &schema.ToolInfo{Name: t.name, Desc: "run by Google"})
	}
	return s
}

// options returns the settings of a call.
func (e *engine) options(opts []model.Option) *callOptions {
	o := model.GetImplSpecificOptions(&callOptions{Config: e.conf}, opts...)
	o.common = model.GetCommonOptions(&model.Options{
		Model: &e.conf.Model, Temperature: e.conf.Temperature, TopP: e.conf.TopP, MaxTokens: e.conf.MaxTokens,
		Stop: e.conf.StopSequences,
	}, opts...)
	return o
}

// Open implements kit.Engine.
func (e *engine) Open(
	ctx context.Context, in []*schema.AgenticMessage, opts []model.Option, stream bool,
) (kit.Chunks[*schema.AgenticMessage], error) {
	c, err := e.newCall(in, opts)
	if err != nil {
		return nil, e.failure(err)
	}
	c.stream = stream
	resp, err := c.send(ctx, c.body)
	if err != nil {
		return nil, err
	}
	return newReader(ctx, c, resp), nil
}

// failure is the error for a request that was not sent.
func (e *engine) failure(err error) error { return e.info.Redactor.Failure("make the request", err) }

// A call is a request that can be sent, and continued if the server says so.
type call struct {
	e      *engine
	o      *callOptions
	model  string
	body   kit.Object
	stream bool
	// unsupported are the settings that were left out.
	unsupported kit.Unsupported
}

// newCall makes the request. One builder serves streamed and other answers.
func (e *engine) newCall(in []*schema.AgenticMessage, opts []model.Option) (*call, error) {
	o := e.options(opts)
	c := &call{e: e, o: o, model: *o.common.Model, unsupported: kit.Unsupported{Drop: o.DropUnsupported}}
	if !modelName.MatchString(c.model) {
		return nil, fmt.Errorf("%q is no name of a model", c.model)
	}
	contents, err := c.contents(in)
	if err != nil {
		return nil, err
	}
	body := kit.Object{{Key: "contents", Value: contents.list()}}
	if o.CachedContent != "" {
		body.Set("cachedContent", o.CachedContent)
	} else {
		if len(contents.system) > 0 {
			body.Set("systemInstruction", kit.Object{{Key: "parts", Value: contents.system}})
		}
		if err := c.setTools(&body); err != nil {
			return nil, err
		}
	}
	if err := c.setSettings(&body); err != nil {
		return nil, err
	}
	mergeExtra(&body, o.ExtraFields)
	if err := c.unsupported.Err(); err != nil {
		return nil, err
	}
	c.body = body
	return c, nil
}

// mergeExtra sets fields from outside, within the two fields that are made of many settings one by one.
func mergeExtra(body *kit.Object, extra map[string]any) {
	whole := make(map[string]any, len(extra))
	for key, value := range extra {
		inner, isMap := value.(map[string]any)
		own, _ := body.Get(key).(kit.Object)
		if isMap && (key == "generationConfig" || key == "toolConfig") {
			own = append(kit.Object{}, own...)
			own.Merge(inner)
			value = own
		}
		whole[key] = value
	}
	body.Merge(whole)
}

// send sends the request.
func (c *call) send(ctx context.Context, body kit.Object) (*kit.Response, error) {
	method := ":generateContent"
	if c.stream {
		method = ":streamGenerateContent?alt=sse"
	}
	return c.post(ctx, c.e.modelPath(c.model)+method, body, c.stream)
}

func (c *call) post(ctx context.Context, path string, body kit.Object, stream bool) (*kit.Response, error) {
	data, err := c.o.Encode(ctx, body)
	if err != nil {
		return nil, c.e.failure(err)
	}
	return c.e.client.Do(ctx, kit.Request{Path: path, Body: data, Stream: stream, Headers: c.o.ExtraHeaders()})
}
