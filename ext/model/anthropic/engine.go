package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// provider is the name in errors and in the origin of answers.
const provider = "anthropic"

// An engine is the Messages API of one server. It implements kit.Engine.
type engine struct {
	conf    Config
	backend Backend
	client  *kit.Client
	info    kit.Info
	origin  kit.Origin
	signs   bool // see [signs]
}

func newEngine(config *Config) (*engine, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	e := &engine{conf: *config, backend: config.backend()}
	e.client = kit.NewClient(config.client())
	host, port := e.client.Endpoint()
	e.info = kit.Info{
		Type: "Claude", Provider: provider, System: e.backend.System(), Host: host, Port: port,
		Redactor: e.client.Redactor(), RawHook: e.conf.RawHook,
	}
	e.origin = kit.Origin{Provider: provider, Host: host, API: "messages"}
	if config.Origin != "" {
		e.origin.Host = config.Origin
	}
	if config.Backend != nil {
		e.origin.API = e.info.System
	}
	e.signs = signs(e.origin.Host, e.info.System)
	return e, nil
}

// kinship says what of an answer the server understands: everything if it, or the service, gave it; thinking with a
// signature if Claude did, wherever it ran.
func (e *engine) kinship(o kit.Origin) kit.Kinship {
	switch {
	case o.Provider != provider:
		return kit.Foreign
	case o == e.origin, o.API == e.origin.API && e.info.System != provider:
		return kit.Own
	case e.signs && (o.API != "messages" || signs(o.Host, provider)):
		return kit.Kin
	}
	return kit.Foreign
}

// Info implements kit.Engine.
func (e *engine) Info() kit.Info { return e.info }

// Settings implements kit.Engine.
func (e *engine) Settings(opts []model.Option) *kit.Settings {
	o, common := e.options(opts)
	s := &kit.Settings{Options: common}
	for _, t := range o.ServerTools {
		if !hasTool(common.Tools, t.name) {
			s.ServerTools = append(s.ServerTools, &schema.ToolInfo{Name: t.name, Desc: t.kind})
		}
	}
	return s
}

// options returns the settings of a call.
func (e *engine) options(opts []model.Option) (*callOptions, *model.Options) {
	o := model.GetImplSpecificOptions(&callOptions{Config: e.conf}, opts...)
	base := &model.Options{
		Model: &e.conf.Model, Temperature: e.conf.Temperature, TopP: e.conf.TopP, Stop: e.conf.StopSequences,
	}
	if e.conf.MaxTokens > 0 {
		base.MaxTokens = &e.conf.MaxTokens
	}
	common := model.GetCommonOptions(base, opts...)
	if common.MaxTokens == nil {
		limit := defaultMaxTokens(*common.Model)
		common.MaxTokens = &limit
	}
	return o, common
}

// Open implements kit.Engine.
func (e *engine) Open(
	ctx context.Context, in []*schema.AgenticMessage, opts []model.Option, stream bool,
) (kit.Chunks[*schema.AgenticMessage], error) {
	o, common := e.options(opts)
	call, err := e.newCall(in, o, common)
	if err != nil {
		return nil, e.failure(err)
	}
	call.stream = stream || mustStream(*common.Model, *common.MaxTokens)
	resp, err := call.send(ctx)
	if err != nil {
		return nil, err
	}
	return newReader(ctx, call, resp, stream), nil
}

// failure is the error for a request that was not sent.
func (e *engine) failure(err error) error { return e.info.Redactor.Failure("make the request", err) }

// A call is a request that can be sent, and continued when the server pauses.
type call struct {
	e    *engine
	o    *callOptions
	body kit.Object
	// turns are the messages in the body.
	turns []kit.Object
	// stream says that the answer is to come in events.
	stream bool
	// model and maxTokens are the values in the request.
	model     string
	maxTokens int
	// answerTool is the tool whose arguments are the answer, for models without structured output.
	answerTool string
	// unsupported are the settings that were left out.
	unsupported kit.Unsupported
}

// send sends the request.
func (c *call) send(ctx context.Context) (*kit.Response, error) {
	resp, err := c.post(ctx, c.body, c.stream, false)
	if errors.Is(err, kit.ErrInvalid) && c.turns[len(c.turns)-1].Get("role") == roleAssistant {
		err = fmt.Errorf("%w; the conversation ends with an answer, which newer models do not continue", err)
	}
	return resp, err
}

func (c *call) post(ctx context.Context, body kit.Object, stream, count bool) (*kit.Response, error) {
	r := newBackendRequest(c.model, c.o.Betas, append(kit.Object{}, body...), stream, count)
	if stream {
		r.Body.Set("stream", true)
	}
	if err := c.e.backend.Prepare(r); err != nil {
		return nil, c.e.failure(err)
	}
	data, err := c.o.Encode(ctx, r.Body)
	if err != nil {
		return nil, c.e.failure(err)
	}
	return c.e.client.Do(ctx, kit.Request{
		Path: r.Path, Body: data, Stream: stream, Headers: c.headers(r),
	})
}

// headers returns the headers of a request: what the user sets replaces what the adapter sets.
func (c *call) headers(r *BackendRequest) map[string]string {
	headers := make(map[string]string, len(r.Headers)+len(c.o.ExtraHeaders()))
	for _, set := range []map[string]string{r.Headers, c.o.Headers, c.o.ExtraHeaders()} {
		for name, value := range set {
			headers[canonical(name)] = value
		}
	}
	return headers
}

// countFields are the fields of a request that count_tokens takes.
var countFields = []string{
	"model", "system", "tools", "tool_choice", "thinking", "output_config", "messages", "mcp_servers",
	"context_management",
}

func (e *engine) countTokens(ctx context.Context, in []*schema.AgenticMessage, opts []model.Option) (n int, err error) {
	defer e.info.Redactor.Recover(&err)
	o, common := e.options(opts)
	c, err := e.newCall(in, o, common)
	if err != nil {
		return 0, e.failure(err)
	}
	var body kit.Object
	for _, name := range countFields {
		body.Set(name, c.body.Get(name))
	}
	resp, err := c.post(ctx, body, false, true)
	if err != nil {
		return 0, err
	}
	var document any
	if err := resp.Decode(&document); err != nil {
		return 0, err
	}
	counted, _ := document.(map[string]any)
	tokens, ok := counted["input_tokens"].(float64)
	if !ok {
		return 0, e.info.Redactor.Failure("decode the response", errors.New("no input_tokens"))
	}
	return int(tokens), nil
}

// describe asks the service about the model.
// https://docs.claude.com/en/api/models-get
func (e *engine) describe(ctx context.Context) (info catalogue.ModelInfo, err error) {
	defer e.info.Redactor.Recover(&err)
	if e.conf.Backend != nil {
		return info, kit.ErrNoDescription(provider)
	}
	var listed struct {
		MaxInputTokens int `json:"max_input_tokens"`
		MaxTokens      int `json:"max_tokens"`
	}
	path := "v1/models/" + url.PathEscape(e.conf.Model)
	err = e.client.Exchange(ctx, kit.Request{
		Method: http.MethodGet, Path: path, Headers: map[string]string{versionHeader: version},
	}, &listed)
	info.ContextWindow, info.MaxOutput = listed.MaxInputTokens, listed.MaxTokens
	return info, err
}
