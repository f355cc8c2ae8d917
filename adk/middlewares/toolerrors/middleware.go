package toolerrors

import (
	"context"
	"errors"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/components/tool/utils"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/internal/language"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/internal/secrets"
	"github.com/weftgo/weft/schema"
)

const (
	failed        = "The call of the tool failed: "
	failedChinese = "工具调用失败："
)

// Config configures [New]. Its zero value reports every error to the model.
type Config struct {
	// Tell decides about an error: what the model reads in its place, or, with ok false, that the error ends the run. It
	// is called while the call runs, by several calls at once. Default: every error is reported, with its text, which may
	// say more of the machine than a model should know.
	Tell func(ctx context.Context, call *adk.ToolContext, err error) (text string, ok bool)
	// Hide leaves out of the text of an error, of Tell, too, what neither the model nor a client that watches the run may
	// read. Default: [HideSecrets].
	Hide func(text string) string
}

// HideSecrets returns a text with *** instead of what has the shape of a secret: passwords in URLs, headers that
// authenticate, values with names such as token and api_key, keys of well-known services, signed tokens, private keys. It
// does not find all there are.
func HideSecrets(text string) string { return secrets.Hide(text) }

type middleware[M adk.MessageType] struct {
	adk.TypedToolCallHooks[M]
	textFor func(ctx context.Context, call *adk.ToolContext, err error) (string, bool)
	hide    func(text string) string
}

// New makes the middleware for agents on ordinary messages. A nil config is one of zero values.
func New(ctx context.Context, config *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, config)
}

// NewTyped makes the middleware. The error is always nil. One middleware may serve any number of agents and runs at
// once.
func NewTyped[M adk.MessageType](_ context.Context, config *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	m := &middleware[M]{textFor: errorText, hide: HideSecrets}
	if config != nil && config.Tell != nil {
		m.textFor = config.Tell
	}
	if config != nil && config.Hide != nil {
		m.hide = config.Hide
	}
	m.Wrap = m.reportErrors
	return m, nil
}

func errorText(_ context.Context, _ *adk.ToolContext, err error) (string, bool) {
	text := err.Error()
	if mistake, ok := err.(*adk.ModelMistake); ok { // err itself, not a mistake inside an agent tool
		text = mistake.Text
	}
	var wrapped *utils.ToolError
	if errors.As(err, &wrapped) && wrapped.Error() == text { // the model knows which tool it has called
		if cause := errors.Unwrap(wrapped.Err); cause != nil {
			text = cause.Error()
		}
	}
	return language.Select(failed, failedChinese) + text, true
}

// textOf returns what the model reads instead of an error. ok is false if the error stays one.
func (m *middleware[M]) textOf(ctx context.Context, call *adk.ToolContext, err error) (text string, ok bool) {
	if err == nil || stopsTheRun(ctx, err) {
		return "", false
	}
	if text, ok = m.textFor(ctx, call, err); ok {
		text = m.hide(text)
	}
	return text, ok
}

// stopsTheRun reports whether an error is the way in which a run stops, or a panic, which is for programmers to read. A
// tool that has run out of a time of its own has failed; one whose context has ended was stopped.
func stopsTheRun(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, adk.ErrStreamCanceled) || errors.As(err, new(*safe.PanicError)) {
		return true
	}
	// These come from an agent inside the tool.
	return errors.As(err, new(*adk.CancelError)) || core.IsInterrupt(err) || core.EndsRun(err)
}
