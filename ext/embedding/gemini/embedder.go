// Package gemini has an embedder on Google's Gemini API, with an API key or on Vertex AI.
//
//	e, err := gemini.NewEmbedder(ctx, &gemini.Config{APIKey: key, Model: "gemini-embedding-001"})
package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/weftgo/weft/components/embedding"
	"github.com/weftgo/weft/ext/model/kit"
)

// DefaultBaseURL is the address of requests when a [Config] names no other.
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Config configures an [Embedder]. Printing it shows neither keys nor headers.
type Config struct {
	// APIKey authenticates the requests to the Gemini API.
	APIKey string
	// Project and Location choose Vertex AI, where TokenSource gives the access tokens (scope cloud-platform).
	Project, Location string
	// TokenSource returns the bearer token for an attempt, instead of APIKey. It is called by several goroutines.
	TokenSource func(ctx context.Context) (string, error)
	// BaseURL defaults to [DefaultBaseURL], or to Vertex AI's address for the Location.
	BaseURL string
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
	// TaskType says what the vectors are for: RETRIEVAL_DOCUMENT, RETRIEVAL_QUERY, SEMANTIC_SIMILARITY, CLASSIFICATION,
	// CLUSTERING, QUESTION_ANSWERING, FACT_VERIFICATION or CODE_RETRIEVAL_QUERY.
	TaskType string
	// Title is the title of the documents, with TaskType RETRIEVAL_DOCUMENT only.
	Title string
	// OutputDimensionality shortens the vectors, for models that can.
	OutputDimensionality *int32
	// Normalize scales vectors to the length 1. Default: those that were shortened, which the service does not scale.
	Normalize *bool
	// MIMEType is the type of the texts, such as "text/html". On Vertex AI only, and not for its newest models.
	MIMEType string
	// AutoTruncate cuts texts that are too long for the model; otherwise they are an error. On Vertex AI only.
	AutoTruncate bool
	// BatchSize is the number of texts that a request has at most. Default 100 on the Gemini API. On Vertex AI its newer
	// models take one, whatever is set here, and older ones 250 in us-central1 and 5 elsewhere.
	BatchSize int
	// Concurrency is the number of requests that are sent at once. Default 1.
	Concurrency int
	// ExtraFields are set in the request body in addition; nil removes a field.
	ExtraFields map[string]any
}

// EmbeddingConfig is [Config] by the name that users of Eino know.
type EmbeddingConfig = Config

func (c *Config) vertex() bool { return c.Project != "" || c.Location != "" }

func (c *Config) baseURL() string {
	switch {
	case c.BaseURL != "" || !c.vertex():
		return cmp.Or(c.BaseURL, DefaultBaseURL)
	case c.Location == "global":
		return "https://aiplatform.googleapis.com/v1"
	case c.Location == "us", c.Location == "eu":
		return "https://aiplatform." + c.Location + ".rep.googleapis.com/v1"
	}
	return "https://" + c.Location + "-aiplatform.googleapis.com/v1"
}

func (c *Config) client() kit.ClientConfig {
	conf := kit.ClientConfig{
		Provider: "gemini", BaseURL: c.baseURL(), HTTPClient: c.HTTPClient, Headers: c.Headers,
		QueryParams: c.QueryParams, Authorize: kit.KeyHeader("x-goog-api-key", "", c.APIKey, nil),
		Refreshes: c.TokenSource != nil, Secrets: []string{c.APIKey}, Timeout: c.Timeout, MaxRetries: c.MaxRetries,
		Lists: kit.Limits{{Name: "values", Max: 20_000_000}},
	}
	if c.TokenSource != nil {
		conf.Authorize = kit.Bearer("", c.TokenSource)
	}
	return conf
}

func (c *Config) validate() error {
	client := c.client()
	_, err := json.Marshal(c.ExtraFields)
	if err != nil {
		err = fmt.Errorf("the ExtraFields cannot be sent as JSON: %w", err)
	}
	return errors.Join(
		client.Validate(), err,
		kit.Check(c.Model != "", `Model is required: set it to a name such as "gemini-embedding-001"`),
		kit.Check(c.APIKey == "" || c.TokenSource == nil, "APIKey and TokenSource are both set: choose one"),
		kit.Check(c.APIKey != "" || c.TokenSource != nil || len(c.Headers) > 0 || c.BaseURL != "",
			"APIKey is required: set it, or Project, Location and TokenSource for Vertex AI"),
		kit.Check((c.Project == "") == (c.Location == ""), "Project and Location must be set together"),
		kit.Check(c.Title == "" || c.TaskType == "RETRIEVAL_DOCUMENT", "Title is for TaskType RETRIEVAL_DOCUMENT only"),
		kit.Check(c.OutputDimensionality == nil || *c.OutputDimensionality > 0,
			"OutputDimensionality must be positive: leave it nil for the model's own"),
		kit.Check(!c.AutoTruncate || c.vertex(), "AutoTruncate is known on Vertex AI only: shorten the texts"),
		kit.Check(c.MIMEType == "" || c.vertex(), "MIMEType is known on Vertex AI only: leave it out"),
		kit.Check(c.BatchSize >= 0 && c.Concurrency >= 0, "BatchSize and Concurrency must not be negative"),
	)
}

func (c *Config) batches() kit.Batches {
	b := kit.Batches{Texts: 100, Concurrency: c.Concurrency}
	if c.vertex() {
		b.Texts, b.Bytes = c.vertexBatch()
	}
	b.Texts = cmp.Or(c.BatchSize, b.Texts)
	return b
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "gemini.Config{Model:%q}", c.Model) }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// An Embedder is an embedding.Embedder on Google's API. It is safe for concurrent use and fires its own callbacks.
type Embedder struct{ *kit.Embedder }

// NewEmbedder makes an embedder. The error lists everything that is wrong with the configuration; no request is made,
// and the environment is not looked at.
func NewEmbedder(_ context.Context, config *Config) (*Embedder, error) {
	if config == nil {
		return nil, errors.New("gemini: config is nil")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("gemini: config: %w", err)
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
	system := "gcp.gemini"
	if e.conf.vertex() {
		system = "gcp.vertex_ai"
	}
	return kit.Info{
		Type: "Gemini", Provider: "gemini", System: system, Host: host, Port: port, Model: e.conf.Model,
		Redactor: e.client.Redactor(),
	}
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (e *engine) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "gemini.engine{%q}", e.conf.Model) }

// Config implements [kit.EmbeddingEngine].
func (e *engine) Config(opts []embedding.Option) *embedding.Config {
	return &embedding.Config{Model: *embedding.GetCommonOptions(&embedding.Options{Model: &e.conf.Model}, opts...).Model}
}

// Embed implements [kit.EmbeddingEngine].
func (e *engine) Embed(
	ctx context.Context, texts []string, opts []embedding.Option,
) ([][]float64, *embedding.TokenUsage, error) {
	c := e.newCall(opts)
	if !e.conf.vertex() {
		return c.send(ctx, "models/"+c.model+":batchEmbedContents", c.batch(texts))
	}
	return c.vertex(ctx, texts)
}

// A call is one call of the embedder: the settings of the Config and of the options, put together.
type call struct {
	engine *engine
	conf   *callOptions
	model  string
}

func (e *engine) newCall(opts []embedding.Option) *call {
	return &call{
		engine: e, conf: embedding.GetImplSpecificOptions(&callOptions{e.conf}, opts...),
		model: strings.TrimPrefix(e.Config(opts).Model, "models/"),
	}
}

// title returns the title of the texts, which documents have and nothing else.
func (c *call) title() string {
	if c.conf.TaskType != "RETRIEVAL_DOCUMENT" {
		return ""
	}
	return c.conf.Title
}

// batch returns the request to the Gemini API.
func (c *call) batch(texts []string) kit.Object {
	requests := make([]kit.Object, len(texts))
	for i, text := range texts {
		requests[i] = kit.ObjectOf("model", "models/"+c.model,
			"content", kit.ObjectOf("parts", []kit.Object{kit.ObjectOf("text", text)}))
		requests[i].SetText("taskType", c.conf.TaskType)
		requests[i].SetText("title", c.title())
		kit.SetPtr(&requests[i], "outputDimensionality", c.conf.OutputDimensionality)
	}
	return kit.ObjectOf("requests", requests)
}

// send sends one request.
func (c *call) send(
	ctx context.Context, path string, req kit.Object,
) ([][]float64, *embedding.TokenUsage, error) {
	req.Merge(c.conf.ExtraFields)
	body, err := req.Encode()
	if err != nil {
		return nil, nil, fmt.Errorf("gemini: encode the request: %w", err)
	}
	var a answer
	if err := c.engine.client.Exchange(ctx, kit.Request{Path: path, Body: body}, &a); err != nil {
		return nil, nil, err
	}
	vectors, usage := a.vectors(), a.usage()
	if c.normalizes() {
		for _, v := range vectors {
			normalize(v)
		}
	}
	return vectors, usage, nil
}

func (c *call) normalizes() bool {
	if c.conf.Normalize != nil {
		return *c.conf.Normalize
	}
	return c.conf.OutputDimensionality != nil
}

// normalize scales a vector to the length 1. One of zeros stays as it is.
func normalize(v []float64) {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	if sum == 0 {
		return
	}
	length := math.Sqrt(sum)
	for i := range v {
		v[i] /= length
	}
}
