package openai

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/schema"
)

// ResponsesModel is an agentic model on OpenAI's Responses API. It is safe for concurrent use. Printing it shows no
// secrets.
type ResponsesModel struct {
	*kit.Model[*schema.AgenticMessage]
}

// ResponsesChatModel is a chat model on OpenAI's Responses API. The thinking of a model, encrypted, and everything else
// that a message has no field for, is in the Extra of its answers, and goes back with the next request. It is safe for
// concurrent use. Printing it shows no secrets.
type ResponsesChatModel struct {
	*kit.Model[*schema.Message]
}

var (
	_ model.AgenticModel         = (*ResponsesModel)(nil)
	_ model.ToolCallingChatModel = (*ResponsesChatModel)(nil)
)

// NewResponsesModel makes an agentic model. It sends nothing. The error names everything that is wrong with the
// configuration.
func NewResponsesModel(_ context.Context, config *ResponsesConfig) (*ResponsesModel, error) {
	engine, err := newResponsesEngine(config)
	if err != nil {
		return nil, err
	}
	return &ResponsesModel{kit.NewModel[*schema.AgenticMessage](engine)}, nil
}

// NewResponsesChatModel makes a chat model. It sends nothing. The error names everything that is wrong with the
// configuration.
func NewResponsesChatModel(_ context.Context, config *ResponsesConfig) (*ResponsesChatModel, error) {
	engine, err := newResponsesEngine(config)
	if err != nil {
		return nil, err
	}
	return &ResponsesChatModel{kit.NewModel(kit.ChatOf(engine))}, nil
}

// WithTools returns a model that offers these tools in calls that name no others. The receiver stays as it is.
func (m *ResponsesChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with, err := m.Model.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &ResponsesChatModel{with}, nil
}

// WithTools returns a model that offers these tools in calls that name no others. The receiver stays as it is.
func (m *ResponsesModel) WithTools(tools []*schema.ToolInfo) (*ResponsesModel, error) {
	with, err := m.Model.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &ResponsesModel{with}, nil
}

// responsesSystem is the provider that answers name.
const responsesSystem = "openai"

// responsesEngine implements [kit.Engine].
type responsesEngine struct {
	conf   ResponsesConfig
	client *kit.Client
	info   kit.Info
	origin kit.Origin
}

func newResponsesEngine(config *ResponsesConfig) (*responsesEngine, error) {
	if config == nil {
		return nil, errors.New("openai: the configuration is nil: set at least Model and APIKey")
	}
	conf := *config
	if conf.Azure != nil && conf.Model == "" {
		conf.Model = conf.Azure.Deployment
	}
	client := responsesClient(&conf)
	if err := conf.validate(&client); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	conf.ExtraFields = maps.Clone(conf.ExtraFields)
	e := &responsesEngine{conf: conf, client: kit.NewClient(client)}
	host, port := e.client.Endpoint()
	e.info = kit.Info{
		Type: "OpenAI", Provider: client.Provider, System: responsesSystem, Host: host, Port: port,
		Redactor: e.client.Redactor(), RawHook: e.conf.RawHook,
	}
	e.origin = kit.Origin{Provider: client.Provider, Host: strings.ToLower(host), API: "responses"}
	return e, nil
}

func responsesClient(c *ResponsesConfig) kit.ClientConfig {
	headers := maps.Clone(c.Headers)
	add := func(key, value string) {
		if value != "" {
			if headers == nil {
				headers = map[string]string{}
			}
			headers[key] = value
		}
	}
	add("OpenAI-Organization", c.Organization)
	add("OpenAI-Project", c.Project)
	query := c.QueryParams
	if c.Azure != nil && c.Azure.APIVersion != "" {
		query = map[string]string{"api-version": c.Azure.APIVersion}
		maps.Copy(query, c.QueryParams)
	}
	authorize := kit.Bearer(c.APIKey, c.TokenSource)
	if c.isAzure() && c.TokenSource == nil {
		authorize = kit.KeyHeader("api-key", "", c.APIKey, nil)
	}
	return kit.ClientConfig{
		Provider: "openai", BaseURL: c.baseURL(), HTTPClient: c.HTTPClient, Headers: headers, QueryParams: query,
		Authorize: authorize, Refreshes: c.TokenSource != nil,
		Secrets: append(responsesSecrets(c.ServerTools), c.APIKey),
		Timeout: c.Timeout, IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries,
		Lists: kit.Limits{
			{Name: "output", Max: 10_000}, {Name: "annotations", Max: 100_000}, {Name: "logprobs", Max: 500_000},
		},
	}
}

// Info implements [kit.Engine].
func (e *responsesEngine) Info() kit.Info { return e.info }

// Settings implements [kit.Engine].
func (e *responsesEngine) Settings(opts []model.Option) *kit.Settings { return e.call(opts).settings }

// Open implements [kit.Engine].
func (e *responsesEngine) Open(
	ctx context.Context, in []*schema.AgenticMessage, opts []model.Option, stream bool,
) (kit.Chunks[*schema.AgenticMessage], error) {
	call := e.call(opts)
	req, err := call.build(in, stream)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	resp, err := call.send(ctx, req)
	if err != nil && req.whole != nil && isResponsesPreviousLost(err) {
		req = req.whole
		resp, err = call.send(ctx, req)
	}
	if err != nil {
		return nil, err
	}
	return call.read(ctx, req, resp)
}

// send sends a request.
func (c *responsesCall) send(ctx context.Context, req *responsesRequest) (*kit.Response, error) {
	body, err := c.Encode(ctx, req.body)
	if err != nil {
		return nil, c.engine.client.Redactor().Failure("make the request", err)
	}
	return c.engine.client.Do(ctx, kit.Request{
		Path: "responses", Body: body, Stream: req.stream, Headers: c.ExtraHeaders(), Secrets: responsesSecrets(c.conf.ServerTools),
	})
}

// read returns the answer in a response.
func (c *responsesCall) read(
	ctx context.Context, req *responsesRequest, resp *kit.Response,
) (kit.Chunks[*schema.AgenticMessage], error) {
	reader := &responsesReader{call: c, request: req, ctx: ctx}
	chunks := &responsesChunks{reader: reader}
	chunks.Follow(resp)
	if c.conf.Background {
		chunks.background = &responsesBackground{call: c, ctx: ctx, seen: -1}
	}
	if resp.IsStream() {
		chunks.events = resp.Events()
	}
	return chunks, nil
}
