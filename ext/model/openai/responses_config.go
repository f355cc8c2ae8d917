package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weftgo/weft/ext/model/kit"
)

// ResponsesConfig configures a [ResponsesModel] or a [ResponsesChatModel]. Only Model is always required; zero values
// leave a setting to the server, but for Store. The environment is not read. A ResponsesConfig may be changed after the
// model was made; its maps, slices and pointers may not.
//
// Printing a ResponsesConfig shows no secrets.
type ResponsesConfig struct {
	// APIKey authenticates the requests. Required for OpenAI and Azure, unless TokenSource is set.
	APIKey string
	// TokenSource returns the bearer token for a request, instead of APIKey: for Microsoft Entra ID and others whose
	// tokens expire. It is called for every attempt, by several goroutines, and should cache.
	TokenSource func(ctx context.Context) (string, error)
	// BaseURL is the place below which the server has responses. Default [DefaultBaseURL]. For Azure it is the resource
	// with /openai/v1 behind it, and Model the name of the deployment.
	BaseURL string
	// Azure is another way to name an Azure OpenAI resource: by its Endpoint. APIVersion is needed only for the older
	// API, and must be one of the preview versions there; Deployment is the default of Model.
	Azure *AzureConfig
	// Organization and Project bill the requests to one of several that the key belongs to.
	Organization, Project string
	// Headers are sent with every request, in addition to or instead of the usual ones.
	Headers map[string]string
	// QueryParams are added to the URL of every request.
	QueryParams map[string]string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout limits every attempt, from the connection to the last byte of the answer, streams included. Default: no
	// limit but the context's.
	Timeout time.Duration
	// IdleTimeout limits how long the server may be silent within a streamed answer. Default 5 minutes; 0 for no limit.
	IdleTimeout *time.Duration
	// RawHook is called for each document of an answer as the server sent it, to reach what a message has no field for.
	// See kit.RawHook for what it costs, and kit.WithRawHook for a single call.
	RawHook kit.RawHook
	// MaxRetries is the number of times that a request is sent again after a failed connection or a status that passes.
	// Default 2.
	MaxRetries *int

	// Model is the name of the model. Required, except with Azure, where it defaults to the deployment.
	Model string
	// ReasoningModel says whether the model thinks, where the name does not say it, as with Azure deployments. Models
	// that think get their encrypted thinking back, and system messages with the role developer.
	ReasoningModel *bool
	// MaxTokens limits the length of the answer, thinking included.
	MaxTokens *int
	// Temperature and TopP control sampling. Models that think accept neither, unless Reasoning.Effort is "none".
	Temperature, TopP *float32
	// TopLogProbs, up to 20, asks for the log probabilities of so many alternatives of each token. They are in the Extra
	// of text blocks under [ResponsesLogProbsKey].
	TopLogProbs int
	// Reasoning says how the model thinks.
	Reasoning *ResponsesReasoning
	// Text says what the answer looks like.
	Text *ResponsesText
	// SystemAsInstructions sends a leading system message as the instructions of the request, which a previous response
	// does not carry over, rather than as the first entry of the conversation.
	SystemAsInstructions bool

	// Store has the server keep responses. Default false, unless PreviousResponse, Conversation or Background need it.
	Store *bool
	// PreviousResponse has the server keep the conversation: a request names the response before it, and has only what
	// came after that. It implies Store. A conversation that was changed since, or that the server does not have any
	// more, is sent in full.
	PreviousResponse bool
	// Conversation is a conversation of the server that requests and answers are added to. What comes behind the latest
	// answer of that conversation is sent.
	Conversation string
	// Background has the server work on the answer without a connection. It implies Store. Generate asks for the answer
	// until it is there, streams continue after a lost connection, and a context that ends cancels the work.
	Background bool

	// Include lists what the server should add to the answer, in its words. Nil adds what the server tools have to say;
	// see the README. The encrypted thinking is asked for in either case when it is needed.
	Include []string
	// Truncation is "auto" or "disabled".
	Truncation string
	// ServiceTier is "auto", "default", "flex", "priority" or another word that the server knows.
	ServiceTier string
	// PromptCacheKey leads requests with the same beginning to the same cache.
	PromptCacheKey string
	// PromptCache says how prompts are cached.
	PromptCache *ResponsesPromptCache
	// PromptCacheRetention is "in_memory" or "24h". The API prefers PromptCache.TTL.
	PromptCacheRetention string
	// SafetyIdentifier says to the server's abuse detection who asks. Do not send names or addresses.
	SafetyIdentifier string
	// Metadata is kept with stored responses.
	Metadata map[string]string
	// MaxToolCalls limits the calls of server tools in an answer.
	MaxToolCalls *int
	// ParallelToolCalls, pointing to false, has the model call one tool at a time.
	ParallelToolCalls *bool
	// ServerTools are tools that OpenAI runs, or that it has trained its models for.
	ServerTools []ServerTool
	// CompactThreshold has the server shorten the conversation when it has so many tokens. 0 for never.
	CompactThreshold int
	// IncludeObfuscation, pointing to false, saves the padding that hides the sizes of chunks from eavesdroppers.
	IncludeObfuscation *bool
	// ExtraFields are set in the request body. They replace fields of the same name; nil removes a field.
	ExtraFields map[string]any

	// DropUnsupported leaves out settings that the model is known to reject, which are errors otherwise. The answer lists
	// them in its Extra under [kit.DroppedSettingsKey].
	DropUnsupported bool
	// ForeignThinking says what to do with the thinking of other providers' answers. Default: it is left out.
	ForeignThinking kit.ForeignThinking
}

// ResponsesReasoning says how a model thinks. Each field may be empty.
type ResponsesReasoning struct {
	// Effort is "none", "minimal", "low", "medium", "high", "xhigh", "max" or another word that the server knows.
	Effort string
	// Summary asks for a summary of the thinking: "auto", "concise" or "detailed".
	Summary string
	// Context says which thinking the model sees again: "auto", "current_turn" or "all_turns".
	Context string
	// Mode is a word that the server knows.
	Mode string
}

// ResponsesText says what an answer looks like.
type ResponsesText struct {
	// Format makes the model answer in JSON; see [JSONSchema].
	Format *ResponseFormat
	// Verbosity is "low", "medium" or "high".
	Verbosity string
}

// ResponsesPromptCache says how prompts are cached.
type ResponsesPromptCache struct {
	// Mode is "implicit" or "explicit".
	Mode string
	// TTL is the time for which prompts are kept at least, such as "30m".
	TTL string
	// Breakpoints, up to 4, says how many parts of the conversation mark the end of what is to be cached: the first
	// system message, and the latest messages of the user.
	Breakpoints int
}

const maxResponsesBreakpoints = 4

// Format implements [fmt.Formatter]: no verb prints secrets.
func (c ResponsesConfig) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "openai.ResponsesConfig{Model:%q}", c.Model)
}

// GoString implements [fmt.GoStringer] without secrets.
func (c ResponsesConfig) GoString() string { return fmt.Sprint(c) }

// LogValue implements [slog.LogValuer] without secrets.
func (c ResponsesConfig) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// baseURL returns the place that paths are appended to.
func (c *ResponsesConfig) baseURL() string {
	switch {
	case c.Azure != nil && c.Azure.APIVersion != "":
		return strings.TrimSuffix(c.Azure.Endpoint, "/") + "/openai"
	case c.Azure != nil:
		return strings.TrimSuffix(c.Azure.Endpoint, "/") + "/openai/v1"
	}
	return cmp.Or(c.BaseURL, DefaultBaseURL)
}

// isAzure reports whether the server is one of Azure, which takes keys in another header.
func (c *ResponsesConfig) isAzure() bool {
	if c.Azure != nil {
		return true
	}
	host := c.host()
	return strings.Contains(host, ".openai.azure.") || strings.HasSuffix(host, ".services.ai.azure.com") ||
		strings.HasSuffix(host, ".cognitiveservices.azure.com")
}

func (c *ResponsesConfig) host() string {
	u, err := url.Parse(c.baseURL())
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// needsKey reports whether the server is known to want a key.
func (c *ResponsesConfig) needsKey() bool {
	return c.isAzure() || strings.HasSuffix("."+c.host(), ".api.openai.com")
}

func (c *ResponsesConfig) hasKey() bool {
	for name := range c.Headers {
		if strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "api-key") {
			return true
		}
	}
	return c.APIKey != "" || c.TokenSource != nil
}

// validate returns everything that is wrong.
func (c *ResponsesConfig) validate(client *kit.ClientConfig) error {
	errs := []error{
		kit.Check(c.Model != "", "Model is required: set it to the name of a model"),
		kit.Check(c.hasKey() || !c.needsKey(), "APIKey is required: set it, or TokenSource"),
		kit.Check(c.APIKey == "" || c.TokenSource == nil, "APIKey and TokenSource exclude each other: set one of them"),
		kit.Check(c.Azure == nil || c.BaseURL == "", "BaseURL and Azure exclude each other: set one of them"),
		kit.Check(c.Azure == nil || c.Azure.Endpoint != "", "Azure.Endpoint is required: the address of the resource"),
		c.validateSettings(),
		c.validateState(),
		c.ForeignThinking.Validate(),
	}
	if c.Azure == nil || c.Azure.Endpoint != "" {
		errs = append(errs, client.Validate())
	}
	for i, tool := range c.ServerTools {
		if err := tool.validate(); err != nil {
			errs = append(errs, fmt.Errorf("ServerTools[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (c *ResponsesConfig) validateSettings() error {
	var format error
	if c.Text != nil {
		format = validateResponsesFormat(c.Text.Format)
	}
	return errors.Join(format,
		kit.Check(c.MaxTokens == nil || *c.MaxTokens > 0, "MaxTokens must be positive: leave it nil for the server's limit"),
		kit.Check(c.Temperature == nil || *c.Temperature >= 0 && *c.Temperature <= 2, "Temperature must be from 0 to 2"),
		kit.Check(c.TopP == nil || *c.TopP >= 0 && *c.TopP <= 1, "TopP must be from 0 to 1"),
		kit.Check(c.TopLogProbs >= 0 && c.TopLogProbs <= 20, "TopLogProbs must be from 0 to 20"),
		kit.Check(c.MaxToolCalls == nil || *c.MaxToolCalls > 0, "MaxToolCalls must be positive: leave it nil for no limit"),
		kit.Check(c.CompactThreshold >= 0, "CompactThreshold must not be negative: use 0 for never"),
		kit.Check(c.PromptCache == nil || c.PromptCache.Breakpoints >= 0 &&
			c.PromptCache.Breakpoints <= maxResponsesBreakpoints, "PromptCache.Breakpoints must be from 0 to 4"),
	)
}

// validateState checks what the server is to keep.
func (c *ResponsesConfig) validateState() error {
	unstored := c.Store != nil && !*c.Store
	return errors.Join(
		kit.Check(!unstored || !c.PreviousResponse, "PreviousResponse needs stored responses: leave Store nil"),
		kit.Check(!unstored || !c.Background, "Background needs stored responses: leave Store nil"),
		kit.Check(c.Conversation == "" || !c.PreviousResponse,
			"Conversation and PreviousResponse exclude each other: set one of them"),
	)
}

func validateResponsesFormat(f *ResponseFormat) error {
	switch {
	case f == nil || f.Type == "text" || f.Type == "json_object":
		return nil
	case f.Type != "json_schema":
		return fmt.Errorf("Text.Format.Type is %q: use text, json_object or json_schema", f.Type)
	case f.JSONSchema == nil || f.JSONSchema.Schema == nil:
		return errors.New("Text.Format of type json_schema needs a JSONSchema with a Schema")
	case !responsesName.MatchString(f.JSONSchema.Name):
		return fmt.Errorf("Text.Format: the name of the schema is %q: use %s", f.JSONSchema.Name, responsesNameInWords)
	}
	return nil
}
