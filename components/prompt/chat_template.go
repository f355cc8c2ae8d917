package prompt

import (
	"context"
	"fmt"

	"github.com/weftgo/weft/components"
	"github.com/weftgo/weft/internal/callbacks"
	"github.com/weftgo/weft/internal/safe"
	"github.com/weftgo/weft/schema"
)

// defaultType is the RunInfo.Type of the templates of this package.
const defaultType = "Default"

var (
	_ ChatTemplate        = (*DefaultChatTemplate)(nil)
	_ AgenticChatTemplate = (*DefaultAgenticChatTemplate)(nil)
)

// DefaultChatTemplate is a list of message templates in one template language. It is immutable and fires its own
// callbacks.
type DefaultChatTemplate struct {
	templates  []schema.MessagesTemplate
	formatType schema.FormatType
}

// FromMessages returns a template that puts together what the given templates make, in order.
func FromMessages(formatType schema.FormatType, templates ...schema.MessagesTemplate) *DefaultChatTemplate {
	return &DefaultChatTemplate{templates: templates, formatType: formatType}
}

// Format implements [ChatTemplate]. The error of the first template that fails is returned as it is. Options have no
// effect.
func (t *DefaultChatTemplate) Format(
	ctx context.Context, vs map[string]any, _ ...Option,
) (result []*schema.Message, err error) {
	ctx = callbacks.EnsureRunInfo(ctx, defaultType, components.ComponentOfPrompt)
	ctx = callbacks.OnStart(ctx, &CallbackInput{Variables: vs, Templates: t.templates})
	result, err = formatAll[*schema.Message](ctx, t.templates, vs, t.formatType)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &CallbackOutput{Result: result, Templates: t.templates})
	return result, nil
}

// GetType returns "Default".
func (t *DefaultChatTemplate) GetType() string { return defaultType }

// IsCallbacksEnabled returns true.
func (t *DefaultChatTemplate) IsCallbacksEnabled() bool { return true }

// DefaultAgenticChatTemplate is [DefaultChatTemplate] for agentic messages.
type DefaultAgenticChatTemplate struct {
	templates  []schema.AgenticMessagesTemplate
	formatType schema.FormatType
}

// FromAgenticMessages is [FromMessages] for agentic messages.
func FromAgenticMessages(
	formatType schema.FormatType, templates ...schema.AgenticMessagesTemplate,
) *DefaultAgenticChatTemplate {
	return &DefaultAgenticChatTemplate{templates: templates, formatType: formatType}
}

// Format implements [AgenticChatTemplate]; see [DefaultChatTemplate.Format].
func (t *DefaultAgenticChatTemplate) Format(
	ctx context.Context, vs map[string]any, opts ...Option,
) (result []*schema.AgenticMessage, err error) {
	ctx = callbacks.EnsureRunInfo(ctx, defaultType, components.ComponentOfAgenticPrompt)
	ctx = callbacks.OnStart(ctx, &AgenticCallbackInput{Variables: vs, Templates: t.templates})
	result, err = formatAll[*schema.AgenticMessage](ctx, t.templates, vs, t.formatType)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &AgenticCallbackOutput{Result: result, Templates: t.templates})
	return result, nil
}

// GetType returns "Default".
func (t *DefaultAgenticChatTemplate) GetType() string { return defaultType }

// IsCallbacksEnabled returns true.
func (t *DefaultAgenticChatTemplate) IsCallbacksEnabled() bool { return true }

// template has the methods that both kinds of message templates share.
type template[M any] interface {
	Format(ctx context.Context, vs map[string]any, formatType schema.FormatType) ([]M, error)
}

// formatAll puts together what the templates make; without templates that is an empty list. A panic of a template
// becomes an error.
func formatAll[M any, T template[M]](
	ctx context.Context, templates []T, vs map[string]any, formatType schema.FormatType,
) (result []M, err error) {
	defer safe.Recover(&err)
	result = make([]M, 0, len(templates))
	for i, t := range templates {
		if any(t) == nil {
			return nil, fmt.Errorf("template %d is nil", i)
		}
		messages, err := t.Format(ctx, vs, formatType)
		if err != nil {
			return nil, err
		}
		result = append(result, messages...)
	}
	return result, nil
}
