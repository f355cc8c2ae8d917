// Package prompt makes messages of templates and variables.
//
// A template in most cases is a message whose text has places for variables, or a placeholder for a list of messages:
//
//	template := prompt.FromMessages(schema.FString,
//		schema.SystemMessage("You are a {role}."),
//		schema.MessagesPlaceholder("history", true),
//		schema.UserMessage("{question}"))
//	messages, err := template.Format(ctx, map[string]any{"role": "cook", "question": "How long does rice take?"})
package prompt

import (
	"context"

	"github.com/weftgo/weft/schema"
)

// ChatTemplate makes messages of variables. Implementations must be safe for concurrent use.
type ChatTemplate interface {
	Format(ctx context.Context, vs map[string]any, opts ...Option) ([]*schema.Message, error)
}

// AgenticChatTemplate is [ChatTemplate] for agentic messages.
type AgenticChatTemplate interface {
	Format(ctx context.Context, vs map[string]any, opts ...Option) ([]*schema.AgenticMessage, error)
}
