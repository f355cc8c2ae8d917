package anthropic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftgo/weft/ext/model/kit"
)

// DefaultBaseURL is the address of requests when a [Config] names no other.
const DefaultBaseURL = "https://api.anthropic.com"

// Config configures a model. Only Model is always required; zero values leave a setting to the server. A Config may be
// changed after it was used; its maps, slices and pointers may not. The environment is never read.
//
// Printing a Config shows neither keys nor headers.
type Config struct {
	// APIKey is sent as x-api-key. Anthropic requires it, or AuthToken, or TokenSource.
	APIKey string
	// AuthToken is sent as a bearer token, instead of APIKey.
	AuthToken string
	// TokenSource returns the bearer token for a request. It is called for every attempt, by several goroutines, and
	// should cache.
	TokenSource func(ctx context.Context) (string, error)
	// BaseURL is the place below which the server has v1/messages, for example "https://api.moonshot.ai/anthropic".
	// Default [DefaultBaseURL], or the URL of the Backend.
	BaseURL string
	// Backend is another service that runs Claude, with credentials of its own: one of package anthropic/bedrock or
	// anthropic/vertex.
	Backend Backend
	// Origin is the host whose key space the server shares, for a gateway in front of another server: what only that
	// one understands (signatures, encrypted results) is sent on. Default: the host of BaseURL.
	Origin string
	// Headers are sent with every request, in addition to or instead of the usual ones.
	Headers map[string]string
	// QueryParams are added to the URL of every request.
	QueryParams map[string]string
	// Betas are the names of features that are not open to all yet (anthropic-beta).
	Betas []string
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

	// Model is the name of the model. Required.
	Model string
	// MaxTokens limits the length of the answer, thinking included. Default: 32,000 for Claude 4 and later, 8,192 for
	// Claude 3.5, Claude 3.7 and other models, 4,096 for older Claudes. model.WithMaxTokens(0) fills the prompt cache
	// without an answer.
	MaxTokens int
	// Temperature, TopP and TopK control sampling. Newer models take only one of Temperature and TopP.
	Temperature, TopP *float32
	TopK              *int32
	// StopSequences end the answer.
	StopSequences []string
	// Thinking has the model think before it answers.
	Thinking *Thinking
	// OnMissingThinking says what to do when thinking with a budget is on, but the turn that waits for results of tools
	// has none that can be sent back, which the API refuses. Default [MissingThinkingDisable].
	OnMissingThinking MissingThinking
	// ReasoningEffort sets the effort of the model for the answer: "low", "medium", "high", … Newer models only.
	ReasoningEffort string
	// DisableParallelToolUse, pointing to true, has the model call one tool at a time.
	DisableParallelToolUse *bool
	// ResponseFormat makes the model answer in JSON.
	ResponseFormat *ResponseFormat
	// ServerTools are tools that Anthropic runs or defines.
	ServerTools []ServerTool
	// AutoCache marks what should go into the prompt cache. Default: only what the application marks.
	AutoCache AutoCache
	// CacheTTL is the time for which what AutoCache marks is kept. Default 5 minutes.
	CacheTTL CacheTTL
	// SystemInline says how system messages behind the first others are sent. Default [SystemInlineRole].
	SystemInline SystemInline
	// MaxPauses is the number of times that a turn that the server pauses (pause_turn) is continued within one call.
	// Default 6.
	MaxPauses *int
	// UserID says to the server's abuse detection who asks. Do not send names or addresses.
	UserID string
	// ServiceTier is "auto" or "standard_only".
	ServiceTier string
	// Speed is "standard" or "fast", InferenceGeo the region that computes. For few models only.
	Speed, InferenceGeo string
	// Container is the ID of a container to run code in. One that an answer asks to continue in is found by itself.
	Container string
	// ExtraFields are set in the request body, for what the server understands beyond this. They replace fields of the
	// same name; nil removes a field.
	ExtraFields map[string]any

	// DropUnsupported leaves out settings that the model is known to reject, and lists them in the Extra of the answer
	// (kit.DroppedSettingsKey), rather than to fail.
	DropUnsupported bool
	// ForeignThinking says what to do with thinking of another provider's model. Default: it is left out.
	ForeignThinking kit.ForeignThinking
}

// SystemInline says how system messages in the middle of a conversation are sent.
type SystemInline string

const (
	// SystemInlineRole sends them as messages of the role system, which newer models take.
	SystemInlineRole SystemInline = ""
	// SystemInlineUser sends them as text of the user's turn, for models that refuse the role.
	SystemInlineUser SystemInline = "user"
)

// defaultMaxPauses is the default of Config.MaxPauses.
const defaultMaxPauses = 6

func (c *Config) validate() error {
	if c == nil {
		return errors.New("anthropic: the config is nil")
	}
	client := c.client()
	errs := []error{
		client.Validate(),
		c.checkCredentials(),
		kit.Check(c.Model != "", "Model is required: set it to the name of a model"),
		kit.Check(c.MaxTokens >= 0, "MaxTokens must not be negative"),
		kit.Check(c.MaxPauses == nil || *c.MaxPauses >= 0, "MaxPauses must not be negative"),
		kit.Check(c.AutoCache == "" || c.AutoCache == AutoCacheServer || c.AutoCache == AutoCacheExplicit,
			`AutoCache must be empty, "server" or "explicit"`),
		kit.Check(c.CacheTTL.valid(), `CacheTTL must be empty, "5m" or "1h"`),
		kit.Check(c.SystemInline == "" || c.SystemInline == SystemInlineUser, `SystemInline must be empty or "user"`),
		kit.Check(c.OnMissingThinking == "" || c.OnMissingThinking == MissingThinkingError,
			`OnMissingThinking must be empty or "error"`),
		kit.Check(!slices.ContainsFunc(c.StopSequences, isBlank), "StopSequences must not be blank"),
		c.Thinking.validate(),
		c.ResponseFormat.validate(),
		c.ForeignThinking.Validate(),
	}
	for i, t := range c.ServerTools {
		if t.err != nil {
			errs = append(errs, fmt.Errorf("ServerTools[%d]: %w", i, t.err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("anthropic: config: %w", err)
	}
	return nil
}

func (c *Config) checkCredentials() error {
	given := 0
	for _, set := range []bool{c.APIKey != "", c.AuthToken != "", c.TokenSource != nil} {
		if set {
			given++
		}
	}
	inHeaders := len(kit.Credentials(c.Headers)) > 0
	switch {
	case given > 1:
		return errors.New("set only one of APIKey, AuthToken and TokenSource")
	case c.Backend != nil && given > 0:
		return errors.New("APIKey, AuthToken and TokenSource are not for a Backend, which has credentials of its own")
	case c.Backend == nil && given == 0 && !inHeaders && c.baseURL() == DefaultBaseURL:
		return errors.New("APIKey is required: set it, or AuthToken, or TokenSource")
	}
	return nil
}

func (c *Config) baseURL() string {
	switch {
	case c.BaseURL != "":
		return strings.TrimSuffix(c.BaseURL, "/")
	case c.Backend != nil:
		return strings.TrimSuffix(c.Backend.BaseURL(), "/")
	}
	return DefaultBaseURL
}

// client returns the settings of the HTTP client.
func (c *Config) client() kit.ClientConfig {
	return kit.ClientConfig{
		Provider: provider, BaseURL: c.baseURL(), HTTPClient: c.HTTPClient, Headers: c.Headers, QueryParams: c.QueryParams,
		Timeout: c.Timeout, IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries,
		Secrets:   []string{c.APIKey, c.AuthToken},
		Authorize: c.backend().Authorize, Refreshes: c.TokenSource != nil || c.Backend != nil,
		Lists: kit.Limits{{Name: "content", Max: 100_000}, {Name: "citations", Max: 100_000}},
	}
}

func (c *Config) backend() Backend {
	if c.Backend != nil {
		return c.Backend
	}
	return &direct{key: c.APIKey, token: c.AuthToken, source: c.TokenSource}
}

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "anthropic.Config{Model:%q}", c.Model) }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
