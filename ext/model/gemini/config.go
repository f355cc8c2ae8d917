package gemini

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/weftgo/weft/ext/model/kit"
)

// Config configures a model. Only Model is always required; zero values leave a setting to the server. A Config may be
// changed after it was used; its maps, slices and pointers may not. The environment is never read.
//
// Printing a Config shows neither keys nor headers.
type Config struct {
	// APIKey is sent as x-goog-api-key. Required for Google's own address, unless TokenSource, Project or Backend is set.
	APIKey string
	// TokenSource returns the bearer token for a request, instead of APIKey. It is called for every attempt, by several
	// goroutines, and should cache.
	TokenSource func(ctx context.Context) (string, error)
	// Project and Location choose Vertex AI, with the tokens of TokenSource or APIKey. Package gemini/vertex makes tokens
	// of Google's credentials.
	Project, Location string
	// Backend is a service with credentials of its own, instead of all the above.
	Backend Backend
	// BaseURL is the address with the version of the API, for a gateway: requests go to BaseURL/models/… or, on Vertex,
	// BaseURL/projects/…. Default [DefaultBaseURL], or the address of the location or the Backend.
	BaseURL string
	// Origin is the host whose answers the server understands, for a gateway in front of it: signatures of thinking and the
	// like are sent on. Default: the host of BaseURL.
	Origin string
	// Headers are sent with every request, in addition to or instead of the usual ones.
	Headers map[string]string
	// QueryParams are added to the URL of every request.
	QueryParams map[string]string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport. Its Timeout counts, too.
	HTTPClient *http.Client
	// Timeout limits every attempt, from the connection to the last byte of the answer. Default: no limit but the
	// context's.
	Timeout time.Duration
	// IdleTimeout limits how long the server may be silent within a streamed answer. Default 5 minutes; point to 0 for
	// no limit.
	IdleTimeout *time.Duration
	// RawHook is called for each document of an answer as the server sent it, to reach what a message has no field for.
	// See kit.RawHook for what it costs, and kit.WithRawHook for a single call.
	RawHook kit.RawHook
	// MaxRetries is the number of times that a request is sent again after a failed connection or a status that may pass.
	// Default 2; point to 0 for none. A stream that has begun is not repeated.
	MaxRetries *int

	// Model is the name of the model: "gemini-2.5-flash", "tunedModels/…", or a resource of Vertex. Required.
	Model string
	// MaxTokens limits the length of the answer, thinking included.
	MaxTokens *int
	// Temperature, TopP and TopK control sampling.
	Temperature, TopP *float32
	TopK              *int32
	// PresencePenalty and FrequencyPenalty keep the model from repeating itself.
	PresencePenalty, FrequencyPenalty *float32
	// Seed asks for repeatable sampling.
	Seed *int32
	// StopSequences end the answer.
	StopSequences []string
	// ThinkingConfig says how much the model thinks before it answers.
	ThinkingConfig *ThinkingConfig
	// ResponseJSONSchema makes the model answer in JSON that fits a JSON schema: a *jsonschema.Schema, a json.RawMessage,
	// or whatever encoding/json makes a schema of.
	ResponseJSONSchema any
	// ResponseMIMEType is the type of the answer. Default: application/json with a schema, and otherwise text.
	ResponseMIMEType string
	// SchemaMode says in which of two fields the schemas of tools and answers are sent. Default [SchemaModeJSON].
	SchemaMode SchemaMode
	// ResponseModalities lists the modalities that the answer may have: "TEXT", "IMAGE", "AUDIO".
	ResponseModalities []string
	// ImageConfig says what images the model makes.
	ImageConfig *ImageConfig
	// SpeechConfig says how the model speaks, as the API documents it.
	SpeechConfig map[string]any
	// MediaResolution sets the resolution at which the model sees media: "MEDIA_RESOLUTION_LOW", …
	MediaResolution string
	// ResponseLogprobs asks for the log probabilities of the answer; Logprobs for the log probabilities of so many
	// alternatives, too.
	ResponseLogprobs bool
	Logprobs         *int32
	// SafetySettings say what the service blocks.
	SafetySettings []*SafetySetting
	// CachedContent is the name of a prefix that the service keeps, as [ChatModel.CreatePrefixCache] makes it. The prefix
	// has the system instruction and the tools then, and they are not sent.
	CachedContent string
	// Cache says how long CreatePrefixCache keeps a prefix.
	Cache *CacheConfig
	// Labels are added to the bill. Vertex only.
	Labels map[string]string
	// ServiceTier is "standard", "flex", "priority" or another word that the server knows.
	ServiceTier string
	// MaxInline is the number of bytes of base64 that a request may have before it is refused here. Default 20 MiB, which
	// is what the service took when this was written; negative for no limit. Larger media go through [ChatModel.Upload].
	MaxInline int

	// ServerTools are tools that Google runs.
	ServerTools []ServerTool
	// The Enable fields add one to them.
	EnableCodeExecution, EnableGoogleSearch, EnableGoogleSearchRetrieval, EnableURLContext, EnableGoogleMaps bool
	EnableComputerUse                                                                                        *ComputerUse
	EnableFileSearch                                                                                         *FileSearch

	// ExtraFields are set in the request body, for what the server understands beyond this. They replace fields of the
	// same name, except for generationConfig and toolConfig, into which theirs are merged; nil removes a field.
	ExtraFields map[string]any
	// DropUnsupported leaves out settings that the model is known to reject, and lists them in the Extra of the answer
	// (kit.DroppedSettingsKey), rather than to fail.
	DropUnsupported bool
	// ForeignThinking says what to do with thinking of another provider's model. Default: it is left out.
	ForeignThinking kit.ForeignThinking
}

const defaultMaxInline = 20 << 20

func (c *Config) validate() error {
	if c == nil {
		return errors.New("gemini: the config is nil")
	}
	client := c.client()
	_, schemaErr := c.responseSchema()
	errs := []error{
		client.Validate(),
		c.checkCredentials(),
		kit.Check(c.Model != "", "Model is required: set it to the name of a model"),
		kit.Check(c.Model == "" || modelName.MatchString(c.Model), "Model has characters that no name of a model has"),
		kit.Check(c.MaxTokens == nil || *c.MaxTokens > 0, "MaxTokens must be positive"),
		kit.Check(c.SchemaMode == SchemaModeJSON || c.SchemaMode == SchemaModeOpenAPI,
			`SchemaMode must be empty or "openapi"`),
		kit.Check(c.Cache == nil || c.Cache.TTL == 0 || c.Cache.ExpireTime.IsZero(),
			"Cache has both TTL and ExpireTime: set one of them"),
		c.ThinkingConfig.validate(),
		c.ForeignThinking.Validate(),
		schemaErr,
	}
	for i, t := range c.ServerTools {
		if t.err != nil {
			errs = append(errs, fmt.Errorf("ServerTools[%d]: %w", i, t.err))
		}
	}
	for i, s := range c.SafetySettings {
		if s == nil || s.Category == "" || s.Threshold == "" {
			errs = append(errs, fmt.Errorf("SafetySettings[%d]: Category and Threshold are required", i))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("gemini: config: %w", err)
	}
	return nil
}

func (c *Config) checkCredentials() error {
	inHeaders := len(kit.Credentials(c.Headers))+len(kit.Credentials(c.QueryParams)) > 0
	onVertex := c.Project != "" || c.Location != ""
	switch {
	case c.Backend != nil && (c.APIKey != "" || c.TokenSource != nil || onVertex):
		return errors.New("APIKey, TokenSource, Project and Location are not for a Backend, which has its own")
	case c.Backend != nil:
		return nil
	case c.APIKey != "" && c.TokenSource != nil:
		return errors.New("set only one of APIKey and TokenSource")
	case onVertex && (c.Project == "" || c.Location == ""):
		return errors.New("on Vertex both Project and Location are required")
	case onVertex && c.APIKey == "" && c.TokenSource == nil && !inHeaders:
		return errors.New("on Vertex a TokenSource or an APIKey is required: see package gemini/vertex for Google's credentials")
	case c.APIKey == "" && c.TokenSource == nil && !inHeaders && c.BaseURL == "":
		return errors.New("APIKey is required: set it, or TokenSource, or Backend")
	}
	return nil
}

func (c *Config) backend() Backend {
	switch {
	case c.Backend != nil:
		return c.Backend
	case c.Project != "":
		return NewVertexBackend(c.Project, c.Location, c.APIKey, c.TokenSource)
	}
	return NewBackend(c.APIKey, c.TokenSource)
}

// client returns the settings of the HTTP client.
func (c *Config) client() kit.ClientConfig {
	backend := c.backend()
	base := c.BaseURL
	if base == "" {
		base = backend.BaseURL()
	}
	client := c.HTTPClient
	if b, ok := backend.(ClientBackend); ok && client == nil {
		client = b.HTTPClient()
	}
	return kit.ClientConfig{
		Provider: provider, BaseURL: strings.TrimSuffix(base, "/"), HTTPClient: client, Headers: c.Headers,
		QueryParams: c.QueryParams, Timeout: c.Timeout, IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries,
		Secrets: []string{c.APIKey}, Authorize: backend.Authorize, Refreshes: c.TokenSource != nil || c.Backend != nil,
		Lists: kit.Limits{{Name: "parts", Max: 100_000}, {Name: "candidates", Max: 1000}},
	}
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "gemini.Config{Model:%q}", c.Model) }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }
