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

	"github.com/weftgo/weft/ext/model/kit"
)

// DefaultBaseURL is the address that Ollama listens on.
const DefaultBaseURL = "http://localhost:11434"

// Config configures a [ChatModel]. Only Model is required; zero values leave a setting to the server and the model. A
// Config may be changed after [NewChatModel]; its maps, slices and pointers may not.
//
// Printing a Config shows neither keys nor headers.
type Config struct {
	// BaseURL is the server, without a path as a rule. Default [DefaultBaseURL].
	BaseURL string
	// APIKey and TokenSource are for servers behind a proxy that wants a bearer token, and for Ollama's cloud. At most
	// one may be set.
	APIKey      string
	TokenSource func(ctx context.Context) (string, error)
	// Headers are sent with every request, and QueryParams added to its URL.
	Headers, QueryParams map[string]string
	// HTTPClient sends the requests. Default: a client on http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout limits every attempt, from the connection to the last byte of the answer. Default: no limit.
	Timeout time.Duration
	// IdleTimeout limits how long the server may be silent within a streamed answer, which is also how long loading the
	// model may take. Default 5 minutes; point to 0 for no limit.
	IdleTimeout *time.Duration
	// RawHook is called for each document of an answer as the server sent it, to reach what a message has no field for.
	// See kit.RawHook for what it costs, and kit.WithRawHook for a single call.
	RawHook kit.RawHook
	// MaxRetries is the number of times that a request is sent again after a failed connection or a status that passes.
	// Default 2.
	MaxRetries *int

	// Model is the name of the model, such as "qwen3:8b". Required.
	Model string
	// Options are the parameters of the model. Set NumCtx: without it the context has 4,096 tokens or little more,
	// whatever the model can, and prompts that are longer are cut without a word.
	Options Options
	// Format makes the model answer in JSON: the text "json" in quotes, or a JSON schema.
	Format json.RawMessage
	// Thinking has the model think, or not; the server refuses it for models that cannot. The levels are for models that
	// know them, such as gpt-oss.
	Thinking Thinking
	// KeepAlive is the time for which the model stays loaded after the call. Nil leaves it to the server (5 minutes), a
	// negative one keeps it for ever.
	KeepAlive *time.Duration
	// ExtraFields are set in the request body in addition to what this package knows; nil removes a field.
	ExtraFields map[string]any
	// DropUnsupported leaves out a forced tool choice, which the API does not have, instead of an error. The answer's
	// Extra lists it under kit.DroppedSettingsKey.
	DropUnsupported bool
	// ForeignThinking says what to do with the thinking of other models. Default: it is not sent.
	ForeignThinking kit.ForeignThinking
}

// Thinking says whether, and how much, a model thinks.
type Thinking string

const (
	// ThinkingDefault leaves it to the model.
	ThinkingDefault Thinking = ""
	// ThinkingOn and ThinkingOff switch it.
	ThinkingOn  Thinking = "on"
	ThinkingOff Thinking = "off"
	// ThinkingLow, ThinkingMedium and ThinkingHigh are levels.
	ThinkingLow    Thinking = "low"
	ThinkingMedium Thinking = "medium"
	ThinkingHigh   Thinking = "high"
)

// wire returns the value of the field think, nil for none.
func (t Thinking) wire() any {
	switch t {
	case ThinkingDefault:
		return nil
	case ThinkingOn, ThinkingOff:
		return t == ThinkingOn
	}
	return string(t)
}

// Options are parameters of the model. Zero values are not sent.
// https://docs.ollama.com/modelfile#valid-parameters-and-values
type Options struct {
	// NumCtx is the size of the context in tokens.
	NumCtx int
	// NumPredict limits the answer, in tokens; model.WithMaxTokens replaces it.
	NumPredict int
	// Temperature, TopP, TopK and MinP control sampling.
	Temperature, TopP *float32
	TopK              int
	MinP              *float32
	// RepeatPenalty keeps the model from repeating itself.
	RepeatPenalty *float32
	// Seed asks for repeatable sampling.
	Seed *int
	// Stop ends the answer before any of these texts.
	Stop []string
	// More are other parameters by their names, such as "num_gpu".
	More map[string]any
}

func (c *Config) baseURL() string { return cmp.Or(c.BaseURL, DefaultBaseURL) }

func (c *Config) client() kit.ClientConfig {
	return kit.ClientConfig{
		Provider: provider, BaseURL: c.baseURL(), HTTPClient: c.HTTPClient, Headers: c.Headers,
		QueryParams: c.QueryParams, Authorize: kit.Bearer(c.APIKey, c.TokenSource), Refreshes: c.TokenSource != nil,
		Secrets: []string{c.APIKey}, Timeout: c.Timeout, IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries,
		Lists: kit.Limits{{Name: "tool_calls", Max: maxCalls}, {Name: "images", Max: 1024}},
	}
}

// validate returns everything that is wrong with the configuration.
func (c *Config) validate() error {
	client := c.client()
	return errors.Join(
		client.Validate(),
		checkPath(c.BaseURL),
		kit.Check(c.Model != "", `Model is required: set it to the name of a model such as "qwen3:8b"`),
		kit.Check(c.APIKey == "" || c.TokenSource == nil, "APIKey and TokenSource are both set: choose one"),
		c.validateRequest(),
		c.ForeignThinking.Validate(),
	)
}

// checkPath refuses addresses of the parts of the API, and of the API that package openai speaks.
func checkPath(url string) error {
	url = strings.TrimSuffix(url, "/")
	for _, path := range []string{"/v1", "/api", "/api/chat"} {
		if strings.HasSuffix(url, path) {
			return fmt.Errorf("BaseURL must not end in %s: leave that out, api/chat is added", path)
		}
	}
	return nil
}

// validateRequest checks what options of a call can change, too.
func (c *Config) validateRequest() error {
	var errs []error
	switch c.Thinking {
	case ThinkingDefault, ThinkingOn, ThinkingOff, ThinkingLow, ThinkingMedium, ThinkingHigh:
	default:
		errs = append(errs, fmt.Errorf("Thinking is %q: use one of its constants", c.Thinking))
	}
	if len(c.Format) > 0 && !json.Valid(c.Format) {
		errs = append(errs, errors.New("Format is no JSON: use \"json\" in quotes, or a JSON schema"))
	}
	if _, err := json.Marshal(c.ExtraFields); err != nil {
		errs = append(errs, fmt.Errorf("ExtraFields cannot be sent as JSON: %w", err))
	}
	if _, err := json.Marshal(c.Options.More); err != nil {
		errs = append(errs, fmt.Errorf("Options.More cannot be sent as JSON: %w", err))
	}
	return errors.Join(append(errs,
		kit.Check(c.Options.NumCtx >= 0, "Options.NumCtx must not be negative"),
	)...)
}

// keepAlive returns the value of the field keep_alive.
func keepAlive(d time.Duration) string {
	if d < 0 {
		return "-1s"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// String implements [fmt.Stringer] and shows no secrets.
func (c Config) String() string { return fmt.Sprintf("ollama.Config{Model:%q}", c.Model) }

// GoString implements [fmt.GoStringer].
func (c Config) GoString() string { return c.String() }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON keeps logs from writing the fields.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }
