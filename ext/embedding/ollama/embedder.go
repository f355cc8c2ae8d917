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
	"time"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
)

// DefaultBaseURL is where Ollama listens.
const DefaultBaseURL = "http://localhost:11434"

// Config configures an [Embedder]. Printing it shows neither keys nor headers.
type Config struct {
	// BaseURL is the server. Default [DefaultBaseURL].
	BaseURL string
	// APIKey is for servers behind a proxy that wants a bearer token.
	APIKey string
	// Headers are sent with every request, and QueryParams added to its URL.
	Headers, QueryParams map[string]string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout limits every attempt. Default: no limit.
	Timeout time.Duration
	// MaxRetries is how often a request is sent again after a failed connection or a status that passes. Default 2.
	MaxRetries *int

	// Model is the name of the model. Required.
	Model string
	// Truncate, pointing to false, makes a text that is too long for the model an error; otherwise its end is cut away.
	Truncate *bool
	// Dimensions shortens the vectors, for models that can.
	Dimensions *int
	// KeepAlive is how long the model stays loaded after the call. Nil leaves it to the server, a negative one keeps it
	// for ever.
	KeepAlive *time.Duration
	// Options are parameters of the model by their names, such as "num_ctx".
	Options map[string]any
	// BatchSize is how many texts a request has at most. Default 512.
	BatchSize int
	// Concurrency is how many requests are sent at once. Default 1.
	Concurrency int
}

const defaultBatch = 512

func (c *Config) client() kit.ClientConfig {
	return kit.ClientConfig{
		Provider: "ollama", BaseURL: cmp.Or(c.BaseURL, DefaultBaseURL), HTTPClient: c.HTTPClient, Headers: c.Headers,
		QueryParams: c.QueryParams, Authorize: kit.Bearer(c.APIKey, nil), Secrets: []string{c.APIKey},
		Timeout: c.Timeout, MaxRetries: c.MaxRetries, Lists: kit.Limits{{Name: "embeddings", Max: 20_000_000}},
	}
}

func (c *Config) validate() error {
	client := c.client()
	_, err := json.Marshal(c.Options)
	if err != nil {
		err = fmt.Errorf("the Options cannot be sent as JSON: %w", err)
	}
	return errors.Join(
		client.Validate(), err,
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
	kit.SetPtr(&req, "truncate", e.conf.Truncate)
	kit.SetPtr(&req, "dimensions", e.conf.Dimensions)
	if d := e.conf.KeepAlive; d != nil {
		req.Set("keep_alive", strconv.FormatFloat(max(-1, d.Seconds()), 'f', -1, 64)+"s")
	}
	if len(e.conf.Options) > 0 {
		req.Set("options", e.conf.Options)
	}
	body, err := req.Encode()
	if err != nil {
		return nil, nil, fmt.Errorf("ollama: encode the request: %w", err)
	}
	resp, err := e.client.Do(ctx, kit.Request{Path: "api/embed", Body: body})
	if err != nil {
		return nil, nil, err
	}
	defer resp.Close()
	data, err := resp.Document()
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Embeddings      [][]float64 `json:"embeddings"`
		PromptEvalCount *int        `json:"prompt_eval_count"`
		Error           string      `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, nil, resp.NotUnderstood(data, err)
	}
	if answer.Error != "" {
		return nil, nil, resp.Refusal(&kit.APIError{Message: answer.Error})
	}
	resp.Finish()
	if n := answer.PromptEvalCount; n != nil {
		return answer.Embeddings, &embedding.TokenUsage{PromptTokens: *n, TotalTokens: *n}, nil
	}
	return answer.Embeddings, nil, nil
}
