package openai

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// DefaultBaseURL is where requests go when a [Config] names no other place.
const DefaultBaseURL = "https://api.openai.com/v1"

// defaultStreamIdleTimeout is the default of Config.StreamIdleTimeout.
const defaultStreamIdleTimeout = 10 * time.Minute

// Config configures a [ChatModel]. Only Model is always required; zero values leave a setting to the server. A Config
// may be changed after [NewChatModel]; its maps, slices and pointers may not.
//
// Printing a Config shows neither keys nor headers.
type Config struct {
	// APIKey authenticates the requests. Required for OpenAI and Azure, unless TokenSource is set; local servers need
	// none.
	APIKey string
	// TokenSource returns the bearer token for a request, in place of APIKey: for Microsoft Entra ID, Google and other
	// providers whose tokens expire. It is called for every attempt, by several goroutines, and should cache. It is not
	// asked where Headers or WithExtraHeaders set Authorization.
	TokenSource func(ctx context.Context) (string, error)
	// BaseURL is the place below which the server has chat/completions, for example "http://localhost:11434/v1".
	// Default [DefaultBaseURL].
	BaseURL string
	// Azure sends the requests to an Azure OpenAI deployment instead. BaseURL must be empty then.
	Azure *AzureConfig
	// Organization and Project bill the requests to one of several that the key belongs to.
	Organization, Project string
	// Headers are sent with every request, in addition to or in place of the usual ones.
	Headers map[string]string
	// QueryParams are added to the URL of every request.
	QueryParams map[string]string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport. Its Timeout counts, too.
	HTTPClient *http.Client
	// Timeout limits every attempt, from the connection to the last byte of the answer, streams included. Default: no
	// limit but that of the context.
	Timeout time.Duration
	// StreamIdleTimeout limits how long the server may be silent within a streamed answer; a comment that keeps the
	// connection alive counts as a sign of life. The error matches os.ErrDeadlineExceeded. Default 10 minutes, as
	// models that think may be silent for long; point to 0 for no limit.
	StreamIdleTimeout *time.Duration
	// MaxRetries is how often a request is sent again after a failed connection or a status of 408, 409, 429 or 5xx,
	// waiting as long as the server says in Retry-After (if that is not more than two minutes) and otherwise up to 8
	// seconds. Default 2; point to 0 for none. A stream that has begun is not repeated.
	MaxRetries *int

	// Model is the name of the model. Required, except with Azure, where it defaults to the deployment.
	Model string
	// MaxTokens limits the length of the answer; MaxTokensField is the name under which that is sent.
	MaxTokens *int
	// MaxTokensField defaults to max_completion_tokens for OpenAI and Azure, and to max_tokens for other servers.
	MaxTokensField MaxTokensField
	// Temperature and TopP control sampling. Models that think accept neither.
	Temperature, TopP *float32
	// Stop ends the answer before any of these texts.
	Stop []string
	// Seed asks for repeatable sampling.
	Seed *int
	// PresencePenalty and FrequencyPenalty, from -2 to 2, keep the model from repeating itself.
	PresencePenalty, FrequencyPenalty *float32
	// LogitBias maps token IDs to a bias from -100 to 100.
	LogitBias map[string]int
	// LogProbs asks for the log probabilities of the answer; TopLogProbs for those of so many alternatives, too.
	LogProbs    bool
	TopLogProbs int
	// User says to the server's abuse detection who asks. Do not send names or addresses.
	User string
	// Metadata is kept with stored completions.
	Metadata map[string]string
	// ServiceTier is "auto", "default", "flex", "priority" or another word that the server knows.
	ServiceTier string
	// ReasoningEffort is "none", "minimal", "low", "medium", "high", "xhigh" or another word that the server knows.
	ReasoningEffort string
	// Verbosity is "low", "medium" or "high".
	Verbosity string
	// ParallelToolCalls, pointing to false, has the model call one tool at a time.
	ParallelToolCalls *bool
	// ResponseFormat makes the model answer in JSON.
	ResponseFormat *ResponseFormat
	// StreamOptions are sent with streaming requests. Default: ask for the token usage.
	StreamOptions *StreamOptions
	// ExtraFields are set in the request body, for what servers understand beyond the API. They replace fields of the
	// same name; nil removes a field.
	ExtraFields map[string]any

	// ReasoningReplay says how the thinking of earlier answers is sent back. Default [ReasoningReplayAuto].
	ReasoningReplay ReasoningReplay
	// ToolResultMedia says how images, audio, video and files of tool results are sent. Default
	// [ToolResultMediaInUserMessage].
	ToolResultMedia ToolResultMedia
	// AllowMissingDone accepts streams that end after a finish reason without the closing "[DONE]", for servers that
	// never send one. Otherwise such a stream counts as cut off.
	AllowMissingDone bool
}

// streamIdleTimeout is StreamIdleTimeout or its default.
func (c *Config) streamIdleTimeout() time.Duration {
	if c.StreamIdleTimeout == nil {
		return defaultStreamIdleTimeout
	}
	return *c.StreamIdleTimeout
}

// AzureConfig says which Azure OpenAI deployment to use, through the API with api-version. For the newer one (the
// address ends in /openai/v1) set Config.BaseURL instead.
type AzureConfig struct {
	// Endpoint is the resource, for example "https://example.openai.azure.com". Required.
	Endpoint string
	// APIVersion is for example "2024-10-21". Required.
	APIVersion string
	// Deployment is the name of the deployed model. Required. It is part of the address, so model.WithModel does not
	// lead to another one.
	Deployment string
}

// MaxTokensField is the request field that limits the length of the answer.
type MaxTokensField string

const (
	// MaxTokensFieldMaxCompletionTokens is what OpenAI has now. It counts reasoning, too.
	MaxTokensFieldMaxCompletionTokens MaxTokensField = "max_completion_tokens"
	// MaxTokensFieldMaxTokens is what most compatible servers know.
	MaxTokensFieldMaxTokens MaxTokensField = "max_tokens"
)

// StreamOptions are the options of a streaming request.
type StreamOptions struct {
	// IncludeUsage asks for the token usage at the end of the stream.
	IncludeUsage bool
	// IncludeObfuscation, pointing to false, saves the padding that hides the sizes of chunks from eavesdroppers.
	IncludeObfuscation *bool
}

// ToolResultMedia says how the media of tool results are sent. The API itself takes only text from tools.
type ToolResultMedia string

const (
	// ToolResultMediaInUserMessage moves them to a user message behind the tool messages, in their order, each behind
	// a line that names its tool call. Every server that accepts images understands that.
	ToolResultMediaInUserMessage ToolResultMedia = ""
	// ToolResultMediaInline leaves them in the tool message, for servers that accept it.
	ToolResultMediaInline ToolResultMedia = "inline"
)

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c Config) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "openai.Config{Model:%q}", c.Model)
}

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }
