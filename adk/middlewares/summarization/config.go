package summarization

import (
	"context"
	"errors"
	"time"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/middlewares/internal/typednil"
	"github.com/weftgo/weft/components/model"
	"github.com/weftgo/weft/schema"
)

const (
	defaultContextTokens = 160000
	defaultMaxRetries    = 3
)

// TypedTokenCounterInput holds the messages and tools to count.
type TypedTokenCounterInput[M adk.MessageType] struct {
	Messages []M
	Tools    []*schema.ToolInfo
}

// The functions of a configuration.
type (
	// TypedTokenCounterFunc counts tokens.
	TypedTokenCounterFunc[M adk.MessageType] func(ctx context.Context, input *TypedTokenCounterInput[M]) (int, error)
	// TypedGenModelInputFunc makes what the summarizing model gets.
	TypedGenModelInputFunc[M adk.MessageType] func(
		ctx context.Context, sysInstruction, userInstruction M, originalMsgs []M,
	) ([]M, error)
	// TypedGetFailoverModelFunc chooses the model of a failover attempt, and what it gets.
	TypedGetFailoverModelFunc[M adk.MessageType] func(
		ctx context.Context, failoverCtx *TypedFailoverContext[M],
	) (failoverModel model.BaseModel[M], failoverModelInputMsgs []M, failoverErr error)
	// TypedFinalizeFunc makes the new history of the old one and what the model answered.
	TypedFinalizeFunc[M adk.MessageType] func(ctx context.Context, originalMessages []M, summary M) ([]M, error)
	// TypedCallbackFunc is called after a summarization. Both states are for reading.
	TypedCallbackFunc[M adk.MessageType] func(ctx context.Context, before, after adk.TypedChatModelAgentState[M]) error
)

// TypedConfig configures [NewTyped]. Only Model is required. Its functions may be called by several runs at once.
type TypedConfig[M adk.MessageType] struct {
	// Model writes the summary. Required.
	Model model.BaseModel[M]
	// ModelOptions are options of its calls.
	ModelOptions []model.Option

	// TokenCounter counts the tokens of the history. Default: what the provider reported with the last answer, and
	// estimates of what came after it.
	TokenCounter TypedTokenCounterFunc[M]
	// Trigger says when to summarize. Default: above 160000 tokens.
	Trigger *TriggerCondition
	// EmitInternalEvents sends an event before and after a summarization, and for each attempt. Their
	// Action.CustomizedAction is a *[TypedCustomizedAction].
	EmitInternalEvents bool

	// MaxInputTokens bounds what the model gets of the history, in estimated tokens, for a model whose window is smaller
	// than the history may become. What is older than fits is left out, but for earlier summaries; the newest message
	// always stays. It does not count with GenModelInput. Default: 0, the whole history.
	MaxInputTokens int
	// UserInstruction is the instruction to the model. Default: the text of this package.
	UserInstruction string
	// TranscriptFilePath is the place where the model can read the whole history later. The summary names it; writing
	// the file is up to the application.
	TranscriptFilePath string

	// GenModelInput makes what the model gets. Default: a system message, the history without its leading system
	// messages, and the instruction.
	GenModelInput TypedGenModelInputFunc[M]
	// Finalize makes the new history. Default: the leading system messages and the summary as a user message.
	Finalize TypedFinalizeFunc[M]
	// Callback is called after Finalize. Its error ends the run.
	Callback TypedCallbackFunc[M]

	// Retry says what happens when a call fails. nil: it is not tried again.
	Retry *TypedRetryConfig[M]
	// Failover says what happens when all calls have failed. nil: the run fails.
	Failover *TypedFailoverConfig[M]
}

// TriggerCondition says when to summarize: when one of the limits is exceeded. A limit of 0 is none; one must be set.
type TriggerCondition struct {
	// ContextTokens is the number of tokens above which the history is summarized.
	ContextTokens int
	// ContextMessages is the number of messages above which it is.
	ContextMessages int
}

// TypedRetryConfig says how failed calls of the model are tried again.
type TypedRetryConfig[M adk.MessageType] struct {
	// MaxRetries limits the number of retries. Default, for nil: 3.
	MaxRetries *int
	// ShouldRetry decides about an outcome. Default: errors are tried again.
	ShouldRetry func(ctx context.Context, resp M, err error) bool
	// BackoffFunc is the time to wait before retry number attempt, from 1. Default: a second, doubled each time up to
	// ten, and up to half of that more at random.
	BackoffFunc func(ctx context.Context, attempt int, resp M, err error) time.Duration
}

// TypedFailoverConfig says how other models are tried.
type TypedFailoverConfig[M adk.MessageType] struct {
	// MaxRetries is the number of attempts that there are. Default, for nil: 3.
	MaxRetries *int
	// ShouldFailover decides about an outcome, of the model or of an attempt. Default: on errors.
	ShouldFailover func(ctx context.Context, resp M, err error) bool
	// BackoffFunc is the time to wait after attempt number attempt, from 1. Default: as in [TypedRetryConfig].
	BackoffFunc func(ctx context.Context, attempt int, resp M, err error) time.Duration
	// GetFailoverModel chooses the model of an attempt. Its error fails the attempt. Default: the model again.
	GetFailoverModel TypedGetFailoverModelFunc[M]
}

// TypedFailoverContext describes the failed attempt to a failover attempt.
type TypedFailoverContext[M adk.MessageType] struct {
	// Attempt counts from 1.
	Attempt int
	// SystemInstruction and UserInstruction stand in the default input.
	SystemInstruction, UserInstruction M
	// OriginalMessages is the history.
	OriginalMessages []M
	// LastModelResponse and LastErr are the outcome before.
	LastModelResponse M
	LastErr           error
}

// The names for ordinary messages.
type (
	// Config is [TypedConfig] for ordinary messages.
	//
	// Its fields, which are documented at [TypedConfig]:
	//
	//   - Model: writes the summary; required
	//   - ModelOptions: options of its calls
	//   - TokenCounter: counts the tokens of the history
	//   - Trigger: when to summarize; default: above 160000 tokens
	//   - EmitInternalEvents: emits events about summarizations
	//   - MaxInputTokens: bounds what the model gets of the history
	//   - UserInstruction: what the model is asked to do
	//   - TranscriptFilePath: where the model can read the whole history later
	//   - GenModelInput: makes what the model gets
	//   - Finalize: makes the new history
	//   - Callback: is called after that
	//   - Retry: what happens when a call fails; default: the run fails
	//   - Failover: what happens when all calls have failed
	Config = TypedConfig[*schema.Message]
	// TokenCounterInput is [TypedTokenCounterInput] for ordinary messages.
	//
	// Its fields, which are documented at [TypedTokenCounterInput]:
	//
	//   - Messages: the history
	//   - Tools: the tools that the model is offered
	TokenCounterInput = TypedTokenCounterInput[*schema.Message]
	// TokenCounterFunc is [TypedTokenCounterFunc] for ordinary messages.
	TokenCounterFunc = TypedTokenCounterFunc[*schema.Message]
	// GenModelInputFunc is [TypedGenModelInputFunc] for ordinary messages.
	GenModelInputFunc = TypedGenModelInputFunc[*schema.Message]
	// GetFailoverModelFunc is [TypedGetFailoverModelFunc] for ordinary messages.
	GetFailoverModelFunc = TypedGetFailoverModelFunc[*schema.Message]
	// FinalizeFunc is [TypedFinalizeFunc] for ordinary messages.
	FinalizeFunc = TypedFinalizeFunc[*schema.Message]
	// CallbackFunc is [TypedCallbackFunc] for ordinary messages.
	CallbackFunc = TypedCallbackFunc[*schema.Message]
	// RetryConfig is [TypedRetryConfig] for ordinary messages.
	//
	// Its fields, which are documented at [TypedRetryConfig]:
	//
	//   - MaxRetries: how often; default 3
	//   - ShouldRetry: decides about an outcome; default: errors are tried again
	//   - BackoffFunc: how long to wait
	RetryConfig = TypedRetryConfig[*schema.Message]
	// FailoverConfig is [TypedFailoverConfig] for ordinary messages.
	//
	// Its fields, which are documented at [TypedFailoverConfig]:
	//
	//   - MaxRetries: how many attempts there are; default 3
	//   - ShouldFailover: decides about an outcome; default: errors are tried again
	//   - BackoffFunc: how long to wait
	//   - GetFailoverModel: chooses the model of an attempt, and what it gets
	FailoverConfig = TypedFailoverConfig[*schema.Message]
	// FailoverContext is [TypedFailoverContext] for ordinary messages.
	//
	// Its fields, which are documented at [TypedFailoverContext]:
	//
	//   - Attempt: counts the attempts from 1
	//   - SystemInstruction, UserInstruction: stand in the default input
	//   - OriginalMessages: the history
	//   - LastModelResponse, LastErr: the outcome before
	FailoverContext = TypedFailoverContext[*schema.Message]
)

func (c *TypedConfig[M]) validate() error {
	switch {
	case c == nil:
		return errors.New("config is required")
	case typednil.Is(c.Model):
		return errors.New("model is required")
	}
	if t := c.Trigger; t != nil {
		switch {
		case t.ContextTokens < 0:
			return errors.New("contextTokens must be non-negative")
		case t.ContextMessages < 0:
			return errors.New("contextMessages must be non-negative")
		case t.ContextTokens == 0 && t.ContextMessages == 0:
			return errors.New("at least one of contextTokens or contextMessages must be non-negative")
		}
	}
	if c.MaxInputTokens < 0 {
		return errors.New("maxInputTokens must be non-negative")
	}
	if r := c.Retry; r != nil && r.MaxRetries != nil && *r.MaxRetries < 0 {
		return errors.New("retry.MaxRetries must be non-negative")
	}
	if f := c.Failover; f != nil && f.MaxRetries != nil && *f.MaxRetries < 0 {
		return errors.New("failover.MaxRetries must be non-negative")
	}
	return nil
}

// orElse is a number that may be left out.
func orElse(n *int, fallback int) int {
	if n == nil {
		return fallback
	}
	return *n
}
