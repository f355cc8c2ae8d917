// Package ollama has an embedder on a server of Ollama.
//
//	e, err := ollama.NewEmbedder(ctx, &ollama.Config{Model: "nomic-embed-text"})
package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
)

// DefaultBaseURL is the address that Ollama listens on.
const DefaultBaseURL = "http://localhost:11434"

// Config configures an [Embedder]. Printing it shows neither keys nor headers.
type Config struct {
	// BaseURL is the server. Default [DefaultBaseURL].
	BaseURL string
	// APIKey and TokenSource are for servers behind a proxy that wants a bearer token, and for Ollama's cloud. At most
	// one may be set.
	APIKey      string
	TokenSource func(ctx context.Context) (string, error)
	// Headers are sent with every request, and QueryParams added to its URL.
	Headers, QueryParams map[string]string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout limits every attempt. Default: no limit.
	Timeout time.Duration
	// MaxRetries is the number of times that a request is sent again after a failed connection or a status that passes.
	// Default 2.
	MaxRetries *int

	// Model is the name of the model. Required.
	Model string
	// Truncate, pointing to true, cuts the end of texts that are too long for the model, which is the server's own
	// default; otherwise they are an error.
	Truncate *bool
	// Dimensions shortens the vectors, for models that can.
	Dimensions *int
	// KeepAlive is the time for which the model stays loaded after the call. Nil leaves it to the server, a negative one
	// keeps it for ever.
	KeepAlive *time.Duration
	// Options are parameters of the model by their names, such as "num_ctx".
	Options map[string]any
	// BatchSize is the number of texts that a request has at most. Default 512.
	BatchSize int
	// Concurrency is the number of requests that are sent at once. Default 1.
	Concurrency int
	// ExtraFields are set in the request body in addition; nil removes a field.
	ExtraFields map[string]any
}

// EmbeddingConfig is [Config] by the name that users of Eino know.
type EmbeddingConfig = Config

const defaultBatch = 512

func (c *Config) client() kit.ClientConfig {
	return kit.ClientConfig{
		Provider: "ollama", BaseURL: cmp.Or(c.BaseURL, DefaultBaseURL), HTTPClient: c.HTTPClient, Headers: c.Headers,
		QueryParams: c.QueryParams, Authorize: kit.Bearer(c.APIKey, c.TokenSource), Refreshes: c.TokenSource != nil,
		Secrets: []string{c.APIKey}, Timeout: c.Timeout, MaxRetries: c.MaxRetries,
		Lists: kit.Limits{{Name: "embeddings", Max: 20_000_000}},
	}
}

func (c *Config) validate() error {
	client := c.client()
	var errs []error
	for name, fields := range map[string]map[string]any{"Options": c.Options, "ExtraFields": c.ExtraFields} {
		if _, err := json.Marshal(fields); err != nil {
			errs = append(errs, fmt.Errorf("the %s cannot be sent as JSON: %w", name, err))
		}
	}
	for _, path := range []string{"/v1", "/api", "/api/embed"} {
		errs = append(errs, kit.Check(!strings.HasSuffix(strings.TrimSuffix(c.BaseURL, "/"), path),
			"BaseURL must not end in "+path+": leave that out, api/embed is added"))
	}
	return errors.Join(
		client.Validate(), errors.Join(errs...),
		kit.Check(c.APIKey == "" || c.TokenSource == nil, "APIKey and TokenSource are both set: choose one"),
		kit.Check(c.Model != "", `Model is required: set it to a name such as "nomic-embed-text"`),
		kit.Check(c.Dimensions == nil || *c.Dimensions > 0, "Dimensions must be positive: leave it nil for the model's own"),
		kit.Check(c.BatchSize >= 0 && c.Concurrency >= 0, "BatchSize and Concurrency must not be negative"),
	)
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "ollama.Config{Model:%q}", c.Model) }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// MarshalJSON keeps logs from writing the fields.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(c)) }

// An Embedder is an embedding.Embedder on Ollama. It is safe for concurrent use and fires its own callbacks.
type Embedder struct{ *kit.Embedder }

// NewEmbedder makes an embedder. The error lists everything that is wrong with the configuration; no request is made,
// and the environment is not looked at.
func NewEmbedder(_ context.Context, config *Config) (*Embedder, error) {
	if config == nil {
		return nil, errors.New("ollama: config is nil")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("ollama: config: %w", err)
	}
	e := &engine{conf: *config, client: kit.NewClient(config.client())}
	return &Embedder{kit.NewEmbedder(e, kit.Batches{
		Texts: cmp.Or(config.BatchSize, defaultBatch), Concurrency: config.Concurrency,
	})}, nil
}

type engine struct {
	conf   Config
	client *kit.Client
}

// Info implements [kit.EmbeddingEngine].
func (e *engine) Info() kit.Info {
	host, port := e.client.Endpoint()
	return kit.Info{
		Type: "Ollama", Provider: "ollama", System: "ollama", Host: host, Port: port, Model: e.conf.Model,
		Redactor: e.client.Redactor(),
	}
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (e *engine) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "ollama.engine{%q}", e.conf.Model) }

// Config implements [kit.EmbeddingEngine].
func (e *engine) Config(opts []embedding.Option) *embedding.Config {
	return &embedding.Config{Model: *embedding.GetCommonOptions(&embedding.Options{Model: &e.conf.Model}, opts...).Model}
}

// Embed implements [kit.EmbeddingEngine].
func (e *engine) Embed(
	ctx context.Context, texts []string, opts []embedding.Option,
) ([][]float64, *embedding.TokenUsage, error) {
	req := kit.ObjectOf("model", e.Config(opts).Model, "input", texts)
	req.Set("truncate", e.conf.Truncate != nil && *e.conf.Truncate)
	kit.SetPtr(&req, "dimensions", e.conf.Dimensions)
	if d := e.conf.KeepAlive; d != nil {
		req.Set("keep_alive", strconv.FormatFloat(max(-1, d.Seconds()), 'f', -1, 64)+"s")
	}
	if len(e.conf.Options) > 0 {
		req.Set("options", e.conf.Options)
	}
	req.Merge(e.conf.ExtraFields)
	body, err := req.Encode()
	if err != nil {
		return nil, nil, fmt.Errorf("ollama: encode the request: %w", err)
	}
	return e.send(ctx, body)
}

// answer is the answer of the server.
type answer struct {
	kit.InBand
	Embeddings      [][]float64 `json:"embeddings"`
	PromptEvalCount *int        `json:"prompt_eval_count"`
}

func (e *engine) send(ctx context.Context, body []byte) ([][]float64, *embedding.TokenUsage, error) {
	var a answer
	if err := e.client.Exchange(ctx, kit.Request{Path: "api/embed", Body: body}, &a); err != nil {
		return nil, nil, err
	}
	if n := a.PromptEvalCount; n != nil {
		return a.Embeddings, &embedding.TokenUsage{PromptTokens: *n, TotalTokens: *n}, nil
	}
	return a.Embeddings, nil, nil
}
