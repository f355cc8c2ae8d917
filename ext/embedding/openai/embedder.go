// Package openai has an embedder that speaks OpenAI's embeddings API: at OpenAI, at Azure, and at every server that
// speaks it, too.
//
//	e, err := openai.NewEmbedder(ctx, &openai.Config{APIKey: key, Model: "text-embedding-3-small"})
//	…
//	vectors, err := e.EmbedStrings(ctx, []string{"a text", "another"})
package openai

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
)

// DefaultBaseURL is the address of requests when a [Config] names no other.
const DefaultBaseURL = "https://api.openai.com/v1"

// EncodingFormat sets the format in which the server writes vectors. Both are read from every server.
type EncodingFormat string

const (
	// EncodingFormatFloat is a list of numbers.
	EncodingFormatFloat EncodingFormat = "float"
	// EncodingFormatBase64 is a quarter of that on the wire.
	EncodingFormatBase64 EncodingFormat = "base64"
)

// Config configures an [Embedder]. Printing it shows neither keys nor headers.
type Config struct {
	// APIKey authenticates the requests, or TokenSource does, which is asked for a bearer token for every attempt. Local
	// servers need neither.
	APIKey      string
	TokenSource func(ctx context.Context) (string, error)
	// BaseURL is the place below which the server has embeddings. Default [DefaultBaseURL].
	BaseURL string
	// ByAzure says that BaseURL is an Azure resource, such as "https://example.openai.azure.com", and that Model is the
	// name of a deployment. APIVersion is required then. The newer form (an address that ends in /openai/v1) needs
	// neither.
	ByAzure    bool
	APIVersion string
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
	// EncodingFormat defaults to base64 for OpenAI and Azure, and to what the server likes for others.
	EncodingFormat EncodingFormat
	// Dimensions shortens the vectors, for models that can.
	Dimensions *int
	// User says to the server's abuse detection who asks.
	User string
	// BatchSize is the number of texts that a request has at most. Default: 2,048 for OpenAI and Azure, what other known
	// services take, and 32 for servers that are not known, as some take no more.
	BatchSize int
	// Concurrency is the number of requests that are sent at once. Default 1.
	Concurrency int
	// ExtraFields are set in the request body in addition; nil removes a field.
	ExtraFields map[string]any
}

// Names that users of Eino know.
type (
	// EmbeddingConfig is [Config].
	EmbeddingConfig = Config
	// EmbeddingEncodingFormat is [EncodingFormat].
	EmbeddingEncodingFormat = EncodingFormat
)

// The values of [EncodingFormat] by the names that users of Eino know.
const (
	EmbeddingEncodingFormatFloat  = EncodingFormatFloat
	EmbeddingEncodingFormatBase64 = EncodingFormatBase64
)

func (c *Config) baseURL() string { return cmp.Or(c.BaseURL, DefaultBaseURL) }

func (c *Config) host() string {
	u, err := url.Parse(c.baseURL())
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

func (c *Config) isOfficial() bool {
	return c.ByAzure || strings.HasSuffix("."+c.host(), ".api.openai.com") || strings.Contains(c.host(), ".openai.azure.")
}

func (c *Config) client() kit.ClientConfig {
	conf := kit.ClientConfig{
		Provider: "openai", BaseURL: c.baseURL(), HTTPClient: c.HTTPClient, Headers: c.Headers,
		QueryParams: c.QueryParams, Authorize: kit.Bearer(c.APIKey, c.TokenSource), Refreshes: c.TokenSource != nil,
		Secrets: []string{c.APIKey}, Timeout: c.Timeout, MaxRetries: c.MaxRetries,
		Lists: kit.Limits{{Name: "data", Max: 4096}, {Name: "embedding", Max: 20_000_000}},
	}
	if c.ByAzure {
		conf.QueryParams = maps.Clone(c.QueryParams)
		if conf.QueryParams == nil {
			conf.QueryParams = map[string]string{}
		}
		conf.QueryParams["api-version"] = c.APIVersion
		if c.TokenSource == nil {
			conf.Authorize = kit.KeyHeader("api-key", "", c.APIKey, nil)
		}
	}
	return conf
}

func (c *Config) validate() error {
	client := c.client()
	_, err := json.Marshal(c.ExtraFields)
	if err != nil {
		err = fmt.Errorf("ExtraFields cannot be sent as JSON: %w", err)
	}
	return errors.Join(
		client.Validate(), err,
		kit.Check(c.Model != "", `Model is required: set it to a name such as "text-embedding-3-small"`),
		kit.Check(c.APIKey == "" || c.TokenSource == nil, "APIKey and TokenSource are both set: choose one"),
		kit.Check(!c.isOfficial() || c.APIKey != "" || c.TokenSource != nil || len(c.Headers) > 0,
			"APIKey is required: set it, or TokenSource, or BaseURL to a server that needs none"),
		kit.Check(!c.ByAzure || c.BaseURL != "", "BaseURL is required with ByAzure: set it to the address of the resource"),
		kit.Check(!c.ByAzure || c.APIVersion != "", `APIVersion is required with ByAzure: set it to one such as "2024-10-21"`),
		kit.Check(c.Dimensions == nil || *c.Dimensions > 0, "Dimensions must be positive: leave it nil for the model's own"),
		kit.Check(c.BatchSize >= 0 && c.Concurrency >= 0, "BatchSize and Concurrency must not be negative"),
		kit.Check(c.EncodingFormat == "" || c.EncodingFormat == EncodingFormatFloat ||
			c.EncodingFormat == EncodingFormatBase64, "EncodingFormat is unknown: use one of its constants"),
	)
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "openai.Config{Model:%q}", c.Model) }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// An Embedder is an embedding.Embedder on OpenAI's API. It is safe for concurrent use and fires its own callbacks.
type Embedder struct{ *kit.Embedder }

// NewEmbedder makes an embedder. The error lists everything that is wrong with the configuration; no request is made,
// and the environment is not looked at.
func NewEmbedder(_ context.Context, config *Config) (*Embedder, error) {
	if config == nil {
		return nil, errors.New("openai: config is nil")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("openai: config: %w", err)
	}
	e := &engine{conf: *config, client: kit.NewClient(config.client())}
	return &Embedder{kit.NewEmbedder(e, config.batches())}, nil
}

type engine struct {
	conf   Config
	client *kit.Client
}

// Info implements [kit.EmbeddingEngine].
func (e *engine) Info() kit.Info {
	host, port := e.client.Endpoint()
	system := "openai"
	if strings.Contains(host, ".openai.azure.") || e.conf.ByAzure {
		system = "azure.ai.openai"
	}
	return kit.Info{
		Type: "OpenAI", Provider: "openai", System: system, Host: host, Port: port, Model: e.conf.Model,
		Redactor: e.client.Redactor(),
	}
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (e *engine) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "openai.engine{%q}", e.conf.Model) }

// Config implements [kit.EmbeddingEngine].
func (e *engine) Config(opts []embedding.Option) *embedding.Config {
	return &embedding.Config{Model: e.model(opts), EncodingFormat: string(e.format())}
}

func (e *engine) model(opts []embedding.Option) string {
	return *embedding.GetCommonOptions(&embedding.Options{Model: &e.conf.Model}, opts...).Model
}

func (e *engine) format() EncodingFormat {
	if e.conf.EncodingFormat == "" && e.conf.isOfficial() {
		return EncodingFormatBase64
	}
	return e.conf.EncodingFormat
}

// Embed implements [kit.EmbeddingEngine].
func (e *engine) Embed(
	ctx context.Context, texts []string, opts []embedding.Option,
) ([][]float64, *embedding.TokenUsage, error) {
	name := e.model(opts)
	req := kit.ObjectOf("model", name, "input", texts)
	kit.SetPtr(&req, e.conf.service().dimensions, e.conf.Dimensions)
	req.SetText("encoding_format", string(e.format()))
	req.SetText("user", e.conf.User)
	req.Merge(e.conf.ExtraFields)
	body, err := req.Encode()
	if err != nil {
		return nil, nil, fmt.Errorf("openai: encode the request: %w", err)
	}
	path := "embeddings"
	if e.conf.ByAzure {
		path = "openai/deployments/" + url.PathEscape(name) + "/embeddings"
	}
	var a answer
	if err := e.client.Exchange(ctx, kit.Request{Path: path, Body: body}, &a); err != nil {
		return nil, nil, err
	}
	vectors, err := a.vectors(len(texts))
	if err != nil {
		return nil, nil, e.client.Redactor().Failure("decode the response", err)
	}
	return vectors, a.usage(), nil
}

type answer struct {
	kit.InBand
	Data []struct {
		Index     int    `json:"index"`
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Usage *struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	} `json:"usage"`
}

// vectors returns the vectors by their indexes. Servers that give none, or the same to all, have them in order.
func (a *answer) vectors(n int) ([][]float64, error) {
	if len(a.Data) != n {
		return nil, fmt.Errorf("the server has given %d vectors for %d texts", len(a.Data), n)
	}
	vectors := make([][]float64, n)
	inOrder := true
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= n || vectors[d.Index] != nil {
			inOrder = false
			break
		}
		vectors[d.Index] = d.Embedding
	}
	if !inOrder {
		for i, d := range a.Data {
			if d.Index != 0 {
				return nil, fmt.Errorf("vector %d has index %d, which another one has, or none of the texts", i, d.Index)
			}
			vectors[i] = d.Embedding
		}
	}
	for i, v := range vectors {
		if len(v) == 0 {
			return nil, fmt.Errorf("vector %d is empty", i)
		}
	}
	return vectors, nil
}

func (a *answer) usage() *embedding.TokenUsage {
	if a.Usage == nil {
		return nil
	}
	return &embedding.TokenUsage{PromptTokens: a.Usage.PromptTokens, TotalTokens: a.Usage.TotalTokens}
}

// vector is a list of numbers, or the bytes of float32 numbers, little-endian, in base64.
type vector []float64

func (v *vector) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, (*[]float64)(v))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%4 != 0 {
		return errors.New("a vector is no base64 of 4-byte numbers")
	}
	*v = make(vector, len(raw)/4)
	for i := range *v {
		x := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("a vector has %v at %d, which is no number", x, i)
		}
		(*v)[i] = x
	}
	return nil
}
