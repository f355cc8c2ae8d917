package openai

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/weftgo/weft/ext/model/kit"
)

// DefaultBaseURL is the address of requests when a [Config] names no other.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config configures a [ChatModel]. Only Model is always required; zero values leave a setting to the server. A Config
// may be changed after [NewChatModel]; its maps, slices and pointers may not.
//
// Printing a Config shows neither keys nor headers.
type Config struct {
	// APIKey authenticates the requests. Required for OpenAI and Azure, unless TokenSource is set; local servers need
	// none.
	APIKey string
	// TokenSource returns the bearer token for a request, instead of APIKey: for Microsoft Entra ID, Google and other
	// providers whose tokens expire. It is called for every attempt, by several goroutines, and should cache. It is not
	// asked where Headers or WithExtraHeaders set Authorization.
	TokenSource func(ctx context.Context) (string, error)
	// BaseURL is the place below which the server has chat/completions, for example "http://localhost:11434/v1".
	// Default [DefaultBaseURL].
	BaseURL string
	// Profile is the dialect of the server. Default: the profile of BaseURL's host, see [ProfileFor]. A Profile that is
	// given must not change any more.
	Profile *Profile
	// Azure sends the requests to an Azure OpenAI deployment instead. BaseURL must be empty then.
	Azure *AzureConfig
	// Organization and Project bill the requests to one of several that the key belongs to.
	Organization, Project string
	// Headers are sent with every request, in addition to or instead of the usual ones.
	Headers map[string]string
	// QueryParams are added to the URL of every request.
	QueryParams map[string]string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport. Its Timeout counts, too.
	HTTPClient *http.Client
	// Timeout limits every attempt, from the connection to the last byte of the answer, streams included. Default: no
	// limit but the context's.
	Timeout time.Duration
	// IdleTimeout limits how long the server may be silent within a streamed answer; a comment that keeps the
	// connection alive counts as a sign of life. The error matches os.ErrDeadlineExceeded. Default 5 minutes; point to 0
	// for no limit.
	IdleTimeout *time.Duration
	// RawHook is called for each document of an answer as the server sent it, to reach what a message has no field for.
	// See kit.RawHook for what it costs, and kit.WithRawHook for a single call.
	RawHook kit.RawHook
	// MaxRetries is the number of times that a request is sent again after a failed connection or a status of 408, 409,
	// 425, 429 or 5xx, waiting as long as the server says in Retry-After (if that is not more than two minutes) and
	// otherwise up to 8 seconds. Default 2; point to 0 for none. A stream that has begun is not repeated.
	MaxRetries *int

	// Model is the name of the model. Required, except with Azure, where it defaults to the deployment.
	Model string
	// MaxTokens limits the length of the answer; MaxTokensField is the name under which that is sent.
	MaxTokens *int
	// MaxTokensField defaults to the profile's.
	MaxTokensField MaxTokensField
	// Temperature and TopP control sampling. OpenAI's models that think accept neither.
	Temperature, TopP *float32
	// Stop ends the answer before any of these texts.
	Stop []string
	// Seed asks for repeatable sampling.
	Seed *int
	// PresencePenalty and FrequencyPenalty, from -2 to 2, keep the model from repeating itself.
	PresencePenalty, FrequencyPenalty *float32
	// LogitBias maps token IDs to a bias from -100 to 100.
	LogitBias map[string]int
	// LogProbs asks for the log probabilities of the answer; TopLogProbs for the log probabilities of so many
	// alternatives, too.
	LogProbs    bool
	TopLogProbs int
	// Store keeps the completion with the provider.
	Store *bool
	// User says to the server's abuse detection who asks. Do not send names or addresses.
	User string
	// SafetyIdentifier is OpenAI's successor of User: a stable hash of the end user.
	SafetyIdentifier string
	// PromptCacheKey brings requests with the same beginning to the same prompt cache.
	PromptCacheKey string
	// PromptCache says how the prompt cache is used.
	PromptCache *PromptCacheOptions
	// Metadata is kept with stored completions.
	Metadata map[string]string
	// ServiceTier is "auto", "default", "flex", "priority", "fast" or another word that the server knows.
	ServiceTier string
	// ReasoningEffort is "none", "minimal", "low", "medium", "high", "xhigh", "max" or another word that the server knows.
	// It is sent as the profile says.
	ReasoningEffort string
	// Thinking has the model think or not, where the server can be asked. Nil leaves it to the server.
	Thinking *bool
	// Verbosity is "low", "medium" or "high".
	Verbosity string
	// ParallelToolCalls, pointing to false, has the model call one tool at a time.
	ParallelToolCalls *bool
	// ResponseFormat makes the model answer in JSON.
	ResponseFormat *ResponseFormat
	// Modalities lists the modalities of the answer, such as "text" and "audio"; Audio says how the latter sounds.
	Modalities []string
	Audio      *AudioOptions
	// Prediction is a text that the answer will repeat for the most part, which makes it faster.
	Prediction string
	// WebSearchOptions are for OpenAI's models that search, as the API has them.
	WebSearchOptions map[string]any
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
	// ForeignThinking says what to do with the thinking of other providers' models. Default: it is not sent.
	ForeignThinking kit.ForeignThinking
	// DropUnsupported leaves out settings that the server or the model is known to refuse, instead of an error. The
	// answer's Extra lists them under kit.DroppedSettingsKey.
	DropUnsupported bool
	// AllowMissingDone does nothing.
	//
	// Deprecated: a stream that ends after a finish reason is complete.
	AllowMissingDone bool

	// MaxCompletionTokens is MaxTokens by the name that users of Eino know. Set one of them.
	MaxCompletionTokens *int
}

// maxTokens is the limit by either of its names.
func (c *Config) maxTokens() *int {
	if c.MaxTokens != nil {
		return c.MaxTokens
	}
	return c.MaxCompletionTokens
}

// AzureConfig says which Azure OpenAI deployment to use, through the API with api-version. For the newer one (the
// address ends in /openai/v1) set Config.BaseURL instead.
type AzureConfig struct {
	// Endpoint is the resource, for example "https://example.openai.azure.com". Required.
	Endpoint string
	// APIVersion is for example "2024-10-21". Required.
	APIVersion string
	// Deployment is the name of the deployed model, which is part of the address. Required, unless DeploymentFor is set.
	Deployment string
	// DeploymentFor returns the deployment of a model, so that model.WithModel leads to another one. Without it every
	// request goes to Deployment. It is called by several goroutines.
	DeploymentFor func(model string) string
}

// deployment returns the deployment for a model.
func (a *AzureConfig) deployment(model string) string {
	if a.DeploymentFor != nil {
		return a.DeploymentFor(model)
	}
	return a.Deployment
}

// AudioOptions say what the audio of an answer is like.
type AudioOptions struct {
	// Format is "wav", "mp3", "flac", "opus" or "pcm16"; Voice the name of a voice.
	Format, Voice string
}

// PromptCacheOptions say how OpenAI's prompt cache is used.
type PromptCacheOptions struct {
	// Mode is "implicit" or "explicit"; TTL how long an entry is kept, such as "30m".
	Mode, TTL string
}

func (o *PromptCacheOptions) wire() kit.Object {
	var w kit.Object
	w.SetText("mode", o.Mode)
	w.SetText("ttl", o.TTL)
	return w
}

// MaxTokensField is the request field that limits the length of the answer.
type MaxTokensField string

const (
	// MaxTokensFieldMaxCompletionTokens is OpenAI's present field. It counts reasoning, too.
	MaxTokensFieldMaxCompletionTokens MaxTokensField = "max_completion_tokens"
	// MaxTokensFieldMaxTokens is the field of most compatible servers.
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
